"""Constants that are 0 in different places leave a sum positive."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn import Constant, Dirichlet, Gamma, Network, NetworkError, Poisson
from pgbn.network.lowering import lower
from pgbn.network.wiring import leave_no_gap
from pgbn.testing import geweke

A, B = Gamma("a", 2.0, 2.0), Gamma("b", 2.0, 2.0)
ODD, EVEN = ([0.0, 1.0, 0.0], [1.0, 0.0, 2.0])


def shape(first: list[float], second: list[float]) -> Gamma:
    parts = [Constant(each, dims="doc") * node for each, node in ((first, A), (second, B))]
    return Gamma("theta", parts[0] + parts[1], 1.0, dims=("doc", "term"))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [(ODD, EVEN, True), (ODD, ODD, False), (ODD, [1.0, 0.0, 0.0], False), (EVEN, ODD, True)],
)
def test_where_one_is_zero_the_other_must_not_be(
    first: list[float], second: list[float], expected: bool
) -> None:
    assert leave_no_gap(lower(shape(first, second), "shape").terms) is expected


def test_a_sum_over_a_dim_is_positive_if_one_summand_is() -> None:
    loadings = Constant(np.array([[0.0, 1.0], [1.0, 0.0]]), dims=("doc", "k"))
    weights = Gamma("w", 1.0, 1.0, dims="k")
    x = Poisson("x", loadings @ weights, dims="doc")
    assert leave_no_gap(lower(x, "rate").terms)
    holes = Constant(np.array([[0.0, 1.0], [0.0, 0.0]]), dims=("doc", "k"))
    assert not leave_no_gap(lower(Poisson("x", holes @ weights, dims="doc"), "rate").terms)


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
