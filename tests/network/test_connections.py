"""Which rule joins each slot to what stands in it."""

from __future__ import annotations

from typing import Any

import pytest

import pgbn as pg
from pgbn import (
    BetaOdds,
    Dirichlet,
    MissingRuleError,
    Multinomial,
    Network,
    NetworkError,
    Poisson,
    Self,
    Shift,
)
from pgbn.network.connections import Connections
from tests.helpers.refusals import Case, check_refused
from tests.helpers.small_networks import chain, deep, gamma, odds, phi, poisson, theta

REFUSED: dict[str, Case] = {
    "observed parent": (
        lambda: Network(Poisson("y", Poisson("x", gamma(), dims="doc") * gamma("h"), dims="doc")),
        NetworkError,
        ["y: rate", "x is observed", "only latent nodes"],
    ),
    "shift of data": (
        lambda: Network(Poisson("x", Shift(Self(), along="doc", initial=1.0), dims="doc")),
        NetworkError,
        ["x: rate", "x is observed", "latent Gamma"],
    ),
    "mixed kinds": (
        lambda: poisson(gamma("t", 1, gamma("a") * BetaOdds("b", 1, 1), dims="doc")),
        MissingRuleError,
        ["t: rate mixes a, b", "different kinds"],
    ),
    "odds in a product": (
        lambda: poisson(gamma("t", 1, 2 * odds(), dims="doc"), "doc"),
        MissingRuleError,
        ["t: rate", "p must stand alone"],
    ),
    "multinomial of a gamma": (
        lambda: Network(Multinomial("x", phi() @ theta(), over="term", dims="doc")),
        NetworkError,
        ["x: probability = phi @ theta", "does not sum to one over 'term'", "Dirichlet factors"],
    ),
    "multinomial of a sum": (
        lambda: Network(
            Multinomial(
                "x",
                Dirichlet("a", 1, over="term") + Dirichlet("b", 1, over="term"),
                over="term",
                dims="doc",
            )
        ),
        NetworkError,
        ["x: probability = a + b", "does not sum to one"],
    ),
    "sum in a rate": (
        lambda: poisson(gamma("t", 1, gamma("a") + gamma("b"), dims="doc")),
        MissingRuleError,
        ["t: rate is a sum (a + b)", "single node or product"],
    ),
    "mix in a rate": (
        lambda: poisson(gamma("t", 1, gamma("a", dims="k") @ gamma("b", dims="k"), dims="doc")),
        MissingRuleError,
        ["t: rate is a sum (a @ b)", "single node or product"],
    ),
    "shift in a rate": (
        lambda: poisson(gamma("g", 1, Shift(Self(), along="doc", initial=1.0), dims="doc")),
        MissingRuleError,
        ["g: rate holds a Shift", "shape of a Gamma"],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    check_refused(*REFUSED[name])


def along(rate: Any) -> Network:
    """Poisson data with one dim."""
    return poisson(rate, "d")


def test_a_probability_is_not_a_rate_and_a_rate_not_a_probability() -> None:
    with pytest.raises(pg.MissingRuleError, match="Beta"):
        along(pg.Gamma("t", 2.0, pg.Beta("p", 4, 4), dims="d"))
    gate = pg.Bernoulli("h", pg.BetaOdds("p", 4, 4), dims="d")
    with pytest.raises(pg.MissingRuleError, match="BetaOdds"):
        along(pg.Gamma("t", 2.0 * gate, 2.0, dims="d"))


@pytest.mark.parametrize("name", ["zero_with", "positive_slots", "real_slots"])
def test_slots_that_a_type_names_must_exist(name: str) -> None:
    kind = type("Misspelt", (pg.Gamma,), {"tag": f"test_connections.{name}", name: ("shap",)})
    with pytest.raises(pg.NetworkError, match=f"Misspelt.{name}.*'shap'.*shape"):
        pg.Network(Poisson("x", kind("g", 1, 1)))


# ---- who hears of whom ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "sources"),
    [
        ("phi1", [("x", "rate", True)]),
        ("theta1", [("x", "rate", True)]),
        ("theta2", [("theta1", "shape", True)]),
        ("p2", [("theta1", "rate", False)]),
        ("c3", [("theta2", "rate", False)]),
        ("r", [("theta2", "shape", True)]),
        ("gamma0", [("r", "shape", True)]),
        ("c0", [("r", "rate", False)]),
    ],
)
def test_sources_of_a_belief_network(name: str, sources: list[tuple[str, str, bool]]) -> None:
    """Which child tells each node, by which slot, and whether the counts come by a step."""
    found = Connections(dict(pg.zoo.pgbn([3, 2]).nodes)).sources[name]
    assert [(s.child.name, s.slot, s.is_delivered) for s in found] == sources


def test_a_node_in_two_terms_hears_twice() -> None:
    a = gamma("a", dims="doc")
    network = poisson(a + a * gamma("b", dims="term"))
    sources = network.wiring.connections.sources["a"]
    assert [len(source.term.factors) for source in sources] == [1, 2]


def test_rules_stand_for_slots_with_something_latent() -> None:
    connections = deep().wiring.connections
    assert set(connections.rules) == {("theta", "shape"), ("theta", "rate"), ("x", "rate")}
    assert set(connections.rules_of(connections.nodes["theta"])) == {"shape", "rate"}
    assert {name: rule.kind for name, rule in connections.draws.items()} == {
        "r": "poisson",
        "c": "poisson",
        "theta": "poisson",
    }


def test_own_names_of_renamed_dims() -> None:
    theta = gamma("theta", dims="k")
    (source,) = poisson(theta.rename(k="doc")).wiring.connections.sources["theta"]
    assert source.own == {"doc": "k"}


def test_the_dim_of_a_recursion() -> None:
    connections = chain(Shift(Self(), along="doc", initial=1.0)).wiring.connections
    assert connections.time_dim("g") == "doc"
    assert deep().wiring.connections.time_dim("theta") is None
