"""Simulated data, fitted from a strange beginning: do intervals cover the rates that made them?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pgbn import Chain, Network
from pgbn.engine.compile.expressions import Deterministic

__all__ = ["covered"]


def covered(
    network: Network, sizes: Mapping[str, int], burn_in: int = 200, draws: int = 400, seed: int = 0
) -> float:
    """In how many of 100 simulations the 90 % interval covers the true rate of the data, on average
    over the cells with a rate. Every chain begins at the truth of another simulation."""
    chain = Chain.replicated(network, sizes, 100, seed)
    (data,) = network.observed
    rate = Deterministic(network, "rate_of_data", network[data].rate).reader(chain.program)
    truth, values = rate(), chain.program.values
    for name in network.latent:
        values[name] = np.roll(values[name], 1, axis=0)
    chain.sweep(burn_in)
    kept = []
    for _ in range(draws):
        chain.sweep()
        chain.refresh()  # what samplers of the first layer keep in a form of their own
        kept.append(rate())
    low, high = np.quantile(kept, [0.05, 0.95], axis=0)
    inside = (low <= truth) & (truth <= high)
    known = (truth == 0).all(axis=0)  # where the rate is 0 by construction
    return float(100 * inside[:, ~known].mean())
