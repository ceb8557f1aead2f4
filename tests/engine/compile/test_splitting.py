"""Counts shared out among the terms of a slot and the factors of each term."""

from __future__ import annotations

from typing import Any

import pytest

import pgbn
from pgbn import Gamma, Network, Poisson, Self, Shift
from pgbn.engine.plan import splitter_of
from pgbn.testing import geweke


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


@pytest.mark.parametrize("make", [single, column, chain, layers])
def test_sums_over_a_single_entry(make: Any) -> None:
    net = make()
    sizes = {dim: 3 if dim == "i" else 1 for dim in net["x"].axes}
    assert geweke(net, sizes, 5_000, 5, seed=1).worst < 4


# ---- one draw -------------------------------------------------------------------------------


def test_no_count_goes_to_a_term_of_rate_0() -> None:
    gate = pgbn.Bernoulli("h", 0.5, dims="i")
    network = Network(Poisson("x", gate + Gamma("b", 1, 1, dims="i"), dims="i"))
    program = network.chain({"x": [5, 5]}, start={"h": [0.0, 1.0], "b": [1.0, 1e-300]})._program
    (h,), (b,) = splitter_of(program, network["x"], "rate").cells(
        1, program.cells["x"], program.cells["x"].values
    )
    assert h.tolist() == [[0, 5]]
    assert b.tolist() == [[5, 0]]
