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
from tests.helpers.refusals import Case, check_refused
from tests.helpers.small_networks import gamma, odds, phi, poisson, theta

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
