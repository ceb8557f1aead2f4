"""Constants that are 0 in different places leave a sum positive."""

from __future__ import annotations

import pytest

from pgbn import Constant, Dirichlet, Gamma, Network, NetworkError, Poisson
from pgbn.testing import geweke

A, B = Gamma("a", 2.0, 2.0), Gamma("b", 2.0, 2.0)
ODD, EVEN = ([0.0, 1.0, 0.0], [1.0, 0.0, 2.0])


def shape(first: list[float], second: list[float]) -> Gamma:
    parts = [Constant(each, dims="doc") * node for each, node in ((first, A), (second, B))]
    return Gamma("theta", parts[0] + parts[1], 1.0, dims=("doc", "term"))


def test_a_network_with_complementary_zeros_is_sampled_rightly() -> None:
    x = Poisson("x", shape(ODD, EVEN), dims=("doc", "term"))
    assert geweke(Network(x, sizes={"term": 2}), replicates=1500, sweeps=4).worst < 4


def test_a_gap_is_refused() -> None:
    def network(first: list[float], second: list[float]) -> Network:
        mass = Constant(first, dims="term") * A + Constant(second, dims="term") * B
        phi = Dirichlet("phi", mass, over="term", dims="k")
        return Network(Poisson("x", phi @ Gamma("g", 1.0, 1.0, dims="k"), dims="term"))

    network(ODD, EVEN)
    with pytest.raises(NetworkError, match="can be 0"):
        network(ODD, ODD)
