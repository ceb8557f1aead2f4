"""Draws: `Network.sample`, `Network.generate` and the arrays of `pgbn.samplers.vectorised`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pgbn as pg
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream

from .networks import LARGE_SIZES, data_for, large_zoo, topical
from .registry import case

__all__: list[str] = []

SHAPE = (2, 3, 100, 50)  # more elements than one thread is given


def _sample(network: pg.Network, data: dict[str, Any], threads: int, **options: Any) -> object:
    events: list[object] = []
    draws = network.sample(
        data, burn_in=2, draws=3, thin=2, chains=2, seed=4, progress=False, threads=threads,
        callback=lambda e: events.append([e.phase, e.sweep, e.sweeps, e.done, e.total, e.widths]),
        **options,
    )  # fmt: skip
    means = {name: draws.mean(name) for name in draws}
    attributes = {{"sampler": "layer1"}.get(n, n): value for n, value in draws.attributes.items()}
    return [draws.arrays, draws.dims, attributes, means, events]  # by its former name


def _add_samples() -> None:
    network = large_zoo()["pgbn poisson"]
    data = data_for(network, LARGE_SIZES)
    case("sample/pgbn poisson", lambda threads: _sample(network, data, threads))

    def imputed(threads: int) -> object:
        x = topical(20, 30)
        masked = np.ma.masked_array(x, mask=(np.arange(x.size) % 5 == 1).reshape(x.shape))
        return _sample(pg.zoo.pfa(4), {"x": masked}, threads, keep=["x", "phi1"])

    case("sample/imputed cells", imputed)


def _add_generated() -> None:
    def given(threads: int) -> object:
        network = pg.zoo.pgbn([8, 5])
        values = network.chain({"x": topical(30, 40)}, seed=1, threads=threads).sweep(2).values
        return network.generate(seed=7, given=values)

    case("generate/given values", given)


def _add_vectorised() -> None:
    rng = np.random.default_rng(0)
    # products only: gammas of numpy's have other last bits with another C library
    u, v = rng.uniform(0.01, 1.0, (2, *SHAPE))
    small, large = 1.2 * u * u * u, 600.0 * v * v
    counts = np.floor(large).astype(np.int64)
    share = rng.uniform(0.01, 0.99, SHAPE)
    lines = counts.max(axis=3, keepdims=True)
    functions: dict[str, Callable[[Stream], Any]] = {
        "gamma": lambda s: vectorised.gamma(s, small, 0.7),
        "gamma large": lambda s: vectorised.gamma(s, large, 2.0),
        "log_gamma": lambda s: vectorised.log_gamma(s, 0.01 * small),
        "beta": lambda s: vectorised.beta(s, small, large),
        "beta_odds": lambda s: vectorised.beta_odds(s, small, large),
        "neg_log_beta": lambda s: vectorised.neg_log_beta(s, small, counts),
        "bernoulli": lambda s: vectorised.bernoulli(s, share),
        "binomial": lambda s: vectorised.binomial(s, counts, share),
        "poisson": lambda s: vectorised.poisson(s, small),
        "poisson large": lambda s: vectorised.poisson(s, large),
        "truncated_poisson": lambda s: vectorised.truncated_poisson(s, small),
        "bessel": lambda s: vectorised.bessel(s, large / 90.0),
        "crt": lambda s: vectorised.crt(s, counts, small),
        "dirichlet": lambda s: vectorised.dirichlet(s, small + 0.5, 3),
        "dirichlet sparse": lambda s: vectorised.dirichlet(s, 1e-4 * small, 2),
        "multinomial": lambda s: vectorised.multinomial(s, lines, share, 3),
    }
    for name, draw in functions.items():
        case(f"vectorised/{name}",
             lambda threads, draw=draw: draw(Stream(12345, SHAPE, threads)))  # fmt: skip


_add_samples()
_add_generated()
_add_vectorised()
