"""Nodes that stand several times in a product: what is drawn in turn, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from pgbn import (
    Dirichlet,
    Gamma,
    MissingRuleError,
    Network,
    NetworkError,
    Poisson,
    Self,
    Shift,
    StaleReadError,
    distinct,
    same,
    zoo,
)
from pgbn.network.sequential_updates import InTurn
from tests.helpers.refusals import Case, check_refused


def graph(phi: Gamma, **options: Any) -> Network:
    """x_ij ~ Pois(φ_i φ_j) for i < j."""
    pairs = phi.rename(vertex="i") * phi.rename(vertex="j")
    return Network(Poisson("x", distinct(pairs, "i", "j", **options), dims=("i", "j")))


def vertices(shape: Any = 1.0, rate: Any = 1.0, dims: Any = "vertex") -> Gamma:
    return Gamma("phi", shape, rate, dims=dims)


def test_what_is_drawn_together() -> None:
    deep = Gamma("a", Gamma("e", 1, 1, dims="vertex"), 1.0, dims="vertex")
    found = graph(vertices(deep, Gamma("c", 1, 1))).wiring.connections.sequential
    assert found == {
        "phi": InTurn("phi", "vertex", {"e": "vertex", "a": "vertex", "phi": "vertex"})
    }
    assert list(found["phi"].members) == ["e", "a", "phi"]


def test_the_step() -> None:
    network = zoo.epm(2)
    step = next(step for step in network.schedule if step.name == "phi")
    assert step.draws == ("a", "phi")
    assert "a" not in network.schedule.names
    assert step.heading == "phi with a [in turn along vertex]"
    assert not step.on_demand
    assert not step.plates
    assert not step.marginalises
    assert {read.name for read in step.reads} == {"c", "r", "counts(x)", "counts(phi)"}


def scalar_square() -> Network:
    g = Gamma("g", 1, 1)
    return Network(Poisson("x", g * g, dims="doc"))


def self_loops() -> Network:
    phi = vertices()
    pairs = phi.rename(vertex="i") * phi.rename(vertex="j")
    return Network(Poisson("x", pairs, dims=("i", "j")))


def only_the_diagonal() -> Network:
    phi = vertices()
    pairs = phi.rename(vertex="i") * phi.rename(vertex="j")
    return Network(Poisson("x", same(pairs, "i", "j"), dims=("i", "j")))


def two_dims() -> Network:
    phi = Gamma("phi", 1, 1, dims=("vertex", "side"))
    one = distinct(phi.rename(vertex="i") * phi.rename(vertex="j"), "i", "j")
    other = distinct(phi.rename(side="s") * phi.rename(side="t"), "s", "t")
    return Network(
        Poisson("x", one, dims=("i", "j", "side")), Poisson("y", other, dims=("vertex", "s", "t"))
    )


def in_time() -> Network:
    phi = Gamma("phi", Shift(Self(), along="vertex", initial=1.0), 1.0, dims="vertex")
    return graph(phi)


def over_the_simplex() -> Network:
    phi = Dirichlet("phi", 1.0, over="vertex")
    pairs = phi.rename(vertex="i") * phi.rename(vertex="j")
    return Network(Poisson("x", distinct(pairs, "i", "j"), dims=("i", "j")))


REFUSED: dict[str, Case] = {
    "a number": (scalar_square, NetworkError, ["'g' stands twice", "self loop", "use two nodes"]),
    "self loops": (
        self_loops,
        NetworkError,
        ["'phi' stands twice", "self loop",
         "pgbn.distinct(phi.rename(vertex='i') * phi.rename(vertex='j'), 'i', 'j')"],
    ),
    "the diagonal": (only_the_diagonal, NetworkError, ["'phi' stands twice", "self loop"]),
    "two dims": (two_dims, MissingRuleError, ["phi", "'side'", "'vertex'", "one dim only"]),
    "one shape for all": (
        lambda: graph(vertices(Gamma("a", 1, 1))),
        MissingRuleError,
        ["a has no conjugate update", "phi integrated out", "Give a the dim 'vertex'", "a number"],
    ),
    "one shape above all": (
        lambda: graph(vertices(Gamma("a", Gamma("e", 1, 1), 1, dims="vertex"))),
        MissingRuleError,
        ["e has no conjugate update", "(through a)", "Give e the dim 'vertex'"],
    ),
    "in time": (in_time, MissingRuleError, ["phi depends on its own row before"]),
    "a simplex": (over_the_simplex, MissingRuleError, ["phi sums to one over 'vertex'"]),
    "no such dim": (
        lambda: Network(Poisson("x", distinct(vertices(), "i", "j"), dims=("i", "j"))),
        NetworkError,
        ["['i', 'j']", "has ['vertex']", ".rename(vertex='i')"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    check_refused(*REFUSED[name])


def order_with(network: Network, *moved: str) -> list[str]:
    """The order of a network with some of its steps at the end."""
    return [name for name in network.schedule.names if name not in moved] + list(moved)


RELEASED = {
    "GP_EPM.m: all shapes, then all weights": (
        zoo.epm(2), ["a", "phi"], "'all of a, then all of phi' is wrong",
    ),
    "GP_EPM.m: r before gamma0": (zoo.epm(2), ["r", "gamma0"], "r is stale"),
    "HGP_EPM.m, its other branch": (zoo.hgp_epm(2), ["a", "phi"], "'all of a, then all of phi'"),
    "HGP-EPM: links before r": (zoo.hgp_epm(2), ["within", "between", "r"], "is stale: r was drawn"),
    "pgds.pyx: Θ, Π, ν": (
        zoo.pgds(2, shrinkage=True), ["theta", "pi", "nu", "xi"], "theta is stale: xi was drawn",
    ),
    "pgds.py of PyDPM: Π, Θ, ξ, ν": (
        zoo.pgds(2, shrinkage=True), ["pi", "theta", "xi", "nu"], "is stale: (xi|nu) was drawn",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RELEASED)
def test_released_orders_are_refused(name: str) -> None:
    network, moved, words = RELEASED[name]
    with pytest.raises(StaleReadError, match=words):
        network.with_order(order_with(network, *moved))


def test_positive_on_and_off_the_diagonal() -> None:
    """Dir(ν_k ν_l, ξ ν_k at l = k) has positive entries, by one term or the other."""
    network = zoo.pgds(2, shrinkage=True)
    assert network.wiring.is_positive(network["pi"], "concentration")
    nu = Gamma("nu", 1, 1, dims="topic")
    pairs = distinct(nu * nu.rename(topic="previous"), "topic", "previous", ordered=True)
    pi = Dirichlet("pi", pairs, over="topic", dims="previous")
    with pytest.raises(NetworkError, match=r"concentration = .* can be 0"):
        Network(Poisson("x", pi, dims=("previous", "topic")))
