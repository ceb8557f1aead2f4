"""Deep Poisson–gamma dynamical systems: the networks."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn import NetworkError, zoo


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
