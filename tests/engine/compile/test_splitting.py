"""Counts shared out among the terms of a slot and the factors of each term."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.special import logsumexp

import pgbn
from pgbn import Gamma, Network, Poisson, Self, Shift

COUNTS = [2, 4, 1]


def single() -> Network:
    """A node without dims."""
    total = Gamma("a", 2, 1) + Gamma("b", 1, 2)
    return Network(Poisson("x", Gamma("t", total, 1), dims="i"))


def column() -> Network:
    """A last dim of the size 1."""
    total = Gamma("a", 2, 1, dims=("i", "k")) + Gamma("b", 1, 2)
    node = Gamma("t", total, 1, dims=("i", "k"))
    return Network(Poisson("x", node @ Gamma("c", 3, 3, dims="k"), dims="i"), sizes={"k": 1})


def chain() -> Network:
    """A Markov chain with its time dim only."""
    shape = Shift(Self(), along="i", initial=1.0) + Gamma("b", 1, 2)
    return Network(Poisson("x", Gamma("t", shape, 1, dims="i"), dims="i"))


def layers() -> Network:
    """φ2·θ2 plus a base, with one topic in the first layer."""
    theta2 = Gamma("b", 1, 1, dims=("i", "topic2"))
    phi2 = pgbn.Dirichlet("a", 1, over="topic1", dims="topic2")
    theta1 = Gamma("t", phi2 @ theta2 + Gamma("base", 2, 2), 1, dims=("i", "topic1"))
    phi1 = pgbn.Dirichlet("c", 1, over="term", dims="topic1")
    x = Poisson("x", phi1 @ theta1, dims=("i", "term"))
    return Network(x, sizes={"topic1": 1, "topic2": 2})


def by_weights(net: Network, draws: int = 100_000) -> dict[str, Any]:
    """Posterior means of all latent nodes from draws of the prior, weighted by the likelihood."""
    sizes = {dim: len(COUNTS) if dim == "i" else 1 for dim in net["x"].axes}
    prior = pgbn.Chain.replicated(net, sizes, draws, seed=3, threads=1).program
    rate: NDArray[Any] = prior.slot("x", "rate").get().reshape(draws, -1)
    log_weight = stats.poisson.logpmf(COUNTS, rate).sum(axis=1)
    weight = np.exp(log_weight - logsumexp(log_weight))
    return {name: np.tensordot(weight, prior.values[name], 1) for name in net.latent}


@pytest.mark.parametrize("make", [single, column, chain, layers])
def test_sums_over_a_single_entry(make: Any) -> None:
    net = make()
    data = np.reshape(COUNTS, (-1, 1)[: len(net["x"].axes)])
    draws = net.sample({"x": data}, burn_in=100, draws=4000, seed=1, threads=1, progress=False)
    for name, mean in by_weights(net).items():
        kept = draws[name][0].reshape(40, -1, *mean.shape).mean(axis=1)
        error = np.sqrt(kept.var(axis=0, ddof=1) / 40 + (0.01 * np.maximum(mean, 0.1)) ** 2)
        stored = kept.mean(axis=0)
        assert np.all(np.abs(stored - mean.reshape(stored.shape)) < 4.5 * error), name
