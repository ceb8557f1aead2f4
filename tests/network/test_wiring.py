"""What every latent node hears, checked when the network is built."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import (
    Bernoulli,
    Gamma,
    MissingRuleError,
    Network,
    NetworkError,
    PgbnError,
    Poisson,
    Self,
    Shift,
)
from pgbn.testing import geweke
from tests.helpers.refusals import Case, check_refused
from tests.helpers.small_networks import gamma, odds, phi, poisson, theta, two_modalities

REFUSED: dict[str, Case] = {
    "exposure varies over the simplex": (
        lambda: poisson(
            pgbn.Dirichlet("phi", gamma("eta"), over="term", dims="topic")
            @ theta()
            * gamma("w", dims="term")
        ),
        MissingRuleError,
        [
            "phi sums to one over 'term'",
            "w",
            "varies over 'term'",
            "eta in its concentration",
            "make concentration of phi a number",
            "make phi a Gamma",
        ],
    ),
    "odds and two modalities": (
        two_modalities,
        MissingRuleError,
        ["p is the rate of theta", "exposure is 1 + 1 instead of 1", "pgbn.Gamma('p', 1, 1"],
    ),
    "odds and a scaled rate": (
        lambda: poisson(phi() @ theta(rate=odds()) * 2.0),
        MissingRuleError,
        ["p is the rate of theta", "exposure is 2 instead of 1", "make p a Gamma"],
    ),
    "real counts into tables": (
        lambda: poisson(gamma("t", 1, gamma("c", gamma("a")), dims="doc")),
        MissingRuleError,
        ["a stands in the shape of c", "real-valued count from the rate of t", "a number"],
    ),
    "a chain of rates": (
        lambda: poisson(
            Gamma(
                "t", 1, Gamma("c", Shift(Self(), along="doc", initial=2), 1, dims="doc"), dims="doc"
            )
        ),
        MissingRuleError,
        ["the row before of c stands in the shape of c", "from the rate of t", "a number"],
    ),
    "weight of a chain": (
        lambda: Network(
            Poisson(
                "x",
                Gamma("t", Shift(Self() * Gamma("w", 1, 1), along="d", initial=1), 1, dims="d"),
                dims="d",
            )
        ),
        PgbnError,
        ["w has no conjugate update", "integrate out; make w a number"],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    check_refused(*REFUSED[name])


def along(rate: Any) -> Network:
    """Poisson data with one dim."""
    return poisson(rate, "d")


def shape_and_rate():
    r = pgbn.Gamma("r", 4, 4)
    return along(pgbn.Gamma("t", r, r, dims="d"))


def factor_of_the_previous_row():
    w = pgbn.Gamma("w", 4, 4)
    chain = pgbn.Shift(w * pgbn.Self(), along="d", initial=2.0)
    return along(pgbn.Gamma("t", chain, 2.0, dims="d"))


def latent_scale_of_a_dynamical_system():
    tau = pgbn.Gamma("tau", 4, 4)
    pi = pgbn.Dirichlet("pi", 1.0, over="k", dims="before")
    chain = pgbn.Shift(pi @ pgbn.Self(k="before"), along="d", initial=1.0)
    theta = pgbn.Gamma("theta", tau * chain, tau, dims=("d", "k"))
    phi = pgbn.Dirichlet("phi", 1.0, over="v", dims="k")
    return pgbn.Network(Poisson("x", phi @ theta, dims=("d", "v")), sizes={"k": 2, "before": 2})


def gate_above_and_beside():
    h = pgbn.Bernoulli("h", 0.5)
    t = pgbn.Gamma("t", 2.0 * h + 0.5, 2.0, dims="d")
    return along((h + 0.3) * t)


def odds_as_the_rate_of_a_chain():
    p = pgbn.BetaOdds("p", 4, 4, dims="d")
    return along(pgbn.Gamma("t", pgbn.Shift(pgbn.Self(), along="d", initial=1.0), p, dims="d"))


def two_slots_of_one_node():
    s = pgbn.Gamma("s", 4, 4)
    t = pgbn.Gamma("t", 2, 1, dims="d")
    return pgbn.Network(pgbn.PoissonGamma("x", s * t, s, dims="d"))


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (shape_and_rate, "r"),
        (factor_of_the_previous_row, "w"),
        (latent_scale_of_a_dynamical_system, "tau"),
        (gate_above_and_beside, "h"),
        (odds_as_the_rate_of_a_chain, "p"),
        (two_slots_of_one_node, "s"),
    ],
)
def test_what_depends_on_its_own_update_is_refused(build, name) -> None:
    with pytest.raises(pgbn.MissingRuleError, match=rf"\b{name}\b"):
        build()


@pytest.mark.parametrize(
    "build",
    [
        lambda h: pgbn.Gamma("t", 2.0, h, dims="d"),
        lambda h: pgbn.Gamma(
            "t", 2.0, pgbn.Gamma("c", 1, 1) * pgbn.Constant([0.0, 1.0], dims="d"), dims="d"
        ),
    ],
    ids=["gate", "constant"],
)
def test_a_rate_that_can_be_zero_is_refused(build) -> None:
    with pytest.raises(pgbn.NetworkError, match="t: rate"):
        along(build(pgbn.Bernoulli("h", 0.5, dims="d")))


def test_a_type_says_with_which_slot_it_is_zero() -> None:
    class SwitchedGamma(pgbn.Gamma):
        tag = "test_switched_gamma"

    class NeverZero(pgbn.Gamma):
        tag = "test_never_zero"
        zero_with = ()

    def build(kind: type[pgbn.Gamma]) -> pgbn.Network:
        gate = pgbn.Bernoulli("h", 0.5, dims="k")
        parts = pgbn.Dirichlet("p", kind("g", 2 * gate, 1, dims="k"), over="k")
        return pgbn.Network(pgbn.Multinomial("x", parts, over="k"))

    with pytest.raises(pgbn.NetworkError, match=r"p: concentration.*number to the shape of g$"):
        build(SwitchedGamma)
    assert "g" in build(NeverZero).nodes


def gate() -> Bernoulli:
    return Bernoulli("h", 0.5)


def test_a_gate_gets_a_remedy_that_works() -> None:
    """A number may be added where counts are integers, and only there."""
    with pytest.raises(NetworkError, match="can be 0") as caught:
        Network(Poisson("x", Gamma("t", 1, gate() * Gamma("b", 1, 1))))
    assert "0.1" not in str(caught.value)
    assert "into the shape of a Gamma" in str(caught.value)
    with pytest.raises(NetworkError, match=r"concentration=... \+ 0.1"):
        Network(Poisson("x", pgbn.Dirichlet("p", gate(), over="k"), dims="k"))
    Network(Poisson("x", pgbn.Dirichlet("p", gate() + 0.1, over="k"), dims="k"))


def test_a_constant_of_zero_has_a_remedy() -> None:
    rate = pgbn.Gamma("c", 2, 2) * pgbn.Constant([0.0, 1.0], dims="d")
    with pytest.raises(NetworkError, match=r"t: rate .* positive; make its constants positive"):
        Network(pgbn.Poisson("x", pgbn.Gamma("t", 2, rate, dims="d"), dims="d"))


def test_constant_loadings_that_sum_to_one_are_an_exposure_of_one() -> None:
    """Also where their sums are 1 but for rounding."""
    loadings = pgbn.Constant(np.array([[0.1, 0.5], [0.2, 0.25], [0.7, 0.25]]), dims=("term", "k"))
    scores = Gamma("theta", 2.0, pgbn.BetaOdds("p", 6, 4, dims="doc"), dims=("doc", "k"))
    network = poisson(loadings @ scores)
    assert network.wiring.exposures.received("theta")[0].is_one
    result = geweke(network, {"doc": 2}, 4000, 6, seed=2)
    assert result.worst < 4, result
