"""Gammas with a hidden Poisson count in their shape."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pgbn import Gamma, Network, NetworkError, Poisson, PoissonGamma, RandomisedGamma
from pgbn.nodes.base import Array
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream
from pgbn.testing import check_conjugacy, geweke

SIZES = {"i": 2, "k": 2}


def network(offset: float) -> Network:
    rate = Gamma("r", 2, 1, dims="k") + Gamma("s", 3, 3, dims="i")
    theta = RandomisedGamma("theta", rate, 2.0, offset=offset, dims=("i", "k"))
    return Network(Poisson("x", theta, dims=("i", "k")))


def test_density() -> None:
    """With offset 0 it is that of the data of the same name; with another it sums to one."""
    y = np.array([0.0, 0.3, 2.0])
    slots = {"rate": 1.7, "noise": 2.0}
    ours = RandomisedGamma("t", 1, 1).log_density(y, offset=0.0, **slots)
    assert np.allclose(ours, PoissonGamma("y", 1, 1).log_density(y, **slots))
    grid = np.linspace(1e-9, 30.0, 300_001)
    density = np.exp(RandomisedGamma("t", 1, 1).log_density(grid, offset=1.4, **slots))
    assert np.isclose(density.sum() * (grid[1] - grid[0]), 1.0, atol=1e-4)


@pytest.mark.parametrize("offset", [0.0, 0.7])
def test_steps(offset: float) -> None:
    assert network(offset).schedule.names == ["counts(x)", "counts(theta)", "r", "s", "theta"]


def test_conjugacy() -> None:
    result = check_conjugacy(network(0.7), SIZES)
    assert not result.failures
    assert set(result.errors) == {"r", "s"}


def test_a_zero_is_left_again() -> None:
    """Had the count been held, a θ of 0 would keep h at 0, and so itself."""
    chain = network(0.0).chain({"x": np.zeros((2, 2), int)}, seed=1)
    zero = np.array([(chain.sweep().values["theta"] == 0).ravel() for _ in range(60)])
    assert zero.any(axis=0).all()
    assert (~zero).any(axis=0).all()


def without_the_gamma_below(
    stream: Stream, count: Array, exposure: Array, rate: Array, noise: Any, offset: Any
) -> Array:
    h = vectorised.poisson(stream.child("count"), rate)  # not what its children say of it
    return vectorised.gamma(stream, offset + h + count, noise + exposure)


def test_a_count_from_its_prior_fails() -> None:
    net = network(0.7)
    rule = net.wiring.draws["theta"]
    net.wiring.draws["theta"] = replace(rule, posterior=without_the_gamma_below)
    assert geweke(net, SIZES, 2000, 6).worst > 4


def test_refusals() -> None:
    with pytest.raises(NetworkError, match="must be a number of at least 0"):
        RandomisedGamma("t", 1, 1, offset=-1)
