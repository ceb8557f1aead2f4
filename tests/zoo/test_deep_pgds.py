"""Deep Poisson–gamma dynamical systems: their law, and orders that are refused."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn import NetworkError, StaleReadError, zoo
from pgbn.testing import geweke

MILD = (4.0, 4.0)
NETWORK = zoo.deep_pgds([2, 2], 0.5, 0.5, 1.5, 4.0, MILD, MILD)
SIZES = {"time": 3, "term": 3}
COUNTS = ["counts(x)", "counts(theta1)", "counts(theta2)"]
STALE = [*COUNTS, "delta", "phi1", "theta2", "theta1", "phi2", "pi1", "pi2", "beta", "nu"]


def test_the_network() -> None:
    network = zoo.deep_pgds([5, 4, 3])
    assert network["pi2"].axes == ("previous2", "topic2")
    assert network["theta3"].axes == ("time", "topic3")
    assert "shift(pi1 @ self, along time)" in str(network["theta1"].shape)
    with pytest.raises(NetworkError, match="epsilon=0"):
        zoo.deep_pgds([2], epsilon=0)


def test_one_layer_is_pgds() -> None:
    counts = np.random.default_rng(0).poisson(1.0, (5, 4))
    deep, flat = (n.chain({"x": counts}, seed=1) for n in (zoo.deep_pgds([2]), zoo.pgds(2)))
    names = {"phi1": "phi", "theta1": "theta", "pi1": "pi", "nu": "nu", "delta": "delta"}
    assert {n: deep.values[n].shape for n in names} == {
        n: flat.values[names[n]].shape for n in names
    }
    assert [s.marginalises.keys() for s in deep.schedule if s.node == "nu"] == [{"theta1"}]


def test_joint_distribution() -> None:
    result = geweke(NETWORK, SIZES, 1500, 8, seed=3)
    assert result.worst < 4, result


def test_theta_before_what_integrates_it_out() -> None:
    with pytest.raises(StaleReadError, match="theta1 is stale"):
        NETWORK.with_order(STALE)
    wrong = geweke(NETWORK, SIZES, 6000, 8, seed=1, order=STALE, unchecked=True)
    assert wrong.worst > 6, wrong


@pytest.mark.long
def test_joint_distribution_at_length() -> None:
    result = geweke(NETWORK, SIZES, 30_000, 8, seed=3)
    assert result.worst < 4, result
