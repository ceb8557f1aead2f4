"""Draws and data of every model of the zoo, and integrals over rows by brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from pgbn import Draws, Network
from pgbn.engine.compile.density import log_density
from tests.helpers.models import sizes_of

__all__ = ["latent_only", "row_density_by_brute_force", "sampled"]


def latent_only(draws: Draws) -> Draws:
    """The same without the data that were drawn with the parameters."""
    assert draws.network is not None
    values = {name: draws[name] for name in draws.network.latent}
    return Draws(values, {n: draws.dims[n] for n in values}, network=draws.network)


COUNTS = np.array([[2, 0, 1], [0, 0, 0], [1, 3, 1]])
AS_DATA = {"BernoulliPoisson": lambda x: (x > 0).astype(int), "PoissonGamma": lambda x: x * 0.5}


def sampled(network: Network, draws: int = 2, seed: int = 3) -> Draws:
    """A few draws given tiny data, as the nodes take them."""
    sizes = {**sizes_of(network), **network.sizes}
    data = {}
    for name in network.observed:
        counts = COUNTS[:, : sizes[network[name].axes[1]]]
        data[name] = AS_DATA.get(type(network[name]).__name__, lambda x: x)(counts)
    return network.sample(data, burn_in=2, draws=draws, progress=False, seed=seed)


def row_density_by_brute_force(
    draws: Draws, plate: str, row: int, many: int, seed: int = 0
) -> tuple[float, float]:
    """log of the mean of p(row | h) over h ~ p(h | what no row has), and its standard error."""
    network = draws.network
    assert network is not None
    held: dict[str, Any] = {
        name: draws[name][0, 0] for name in network.latent if plate not in network[name].axes
    }
    values = network.generate(seed=seed, sizes={**draws.sizes, plate: many}, given=held)
    data: dict[str, NDArray[Any]] = {}
    for name in network.observed:
        own = draws.data[name].dense()[0]
        at = network[name].axes.index(plate) if plate in network[name].axes else None
        data[name] = own if at is None else np.repeat(np.take(own, [row], at), many, at)
    chain = network.chain(data, start={n: values.get(n, held.get(n)) for n in network.latent
                                      if n in values or n in held}, sampler="composed")  # fmt: skip
    chosen = [name for name in network.observed if plate in network[name].axes]
    logs = sum(log_density(chain._program, name, plate)[0] for name in chosen)
    weights = np.exp(logs - logsumexp(logs))
    return float(logsumexp(logs) - np.log(many)), float(np.sqrt((weights**2).sum() - 1 / many))
