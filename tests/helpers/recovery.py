"""Simulated data, fitted from a strange beginning: do intervals cover the rates that made them?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn import Chain, Network
from pgbn.engine.run.sampling import Deterministic
from pgbn.nodes.rules import find_link

__all__ = ["covered"]


def covered(
    network: Network, sizes: Mapping[str, int], burn_in: int = 200, draws: int = 400, seed: int = 0
) -> float:
    """In how many of 100 simulations the 90 % interval covers the true rates of the data, on average
    over the cells with a rate. Every chain begins at the truth of another simulation."""
    chain = Chain._replicated(network, sizes, 100, seed)
    rates = [Deterministic(network, f"rate_of_{name}", _rate(network, name)).reader(chain._program)
             for name in network.observed]  # fmt: skip
    values = chain._program.values

    def rate() -> NDArray[Any]:
        return np.concatenate([read().reshape(100, -1) for read in rates], axis=1)

    truth = rate()
    for name in network.latent:
        values[name] = np.roll(values[name], 1, axis=0)
    chain.sweep(burn_in)
    kept = []
    for _ in range(draws):
        chain.sweep()
        chain._refresh()  # what samplers of the first layer keep in a form of their own
        kept.append(rate())
    low, high = np.quantile(kept, [0.05, 0.95], axis=0)
    inside = (low <= truth) & (truth <= high)
    known = (truth == 0).all(axis=0)  # where the rate is 0 by construction
    return float(100 * inside[:, ~known].mean())


def _rate(network: Network, name: str) -> Any:
    """What a data node has in the slot of its counts: its rate, or probabilities."""
    node = network[name]
    link = find_link(node)
    return getattr(node, link.slot if link else "rate")
