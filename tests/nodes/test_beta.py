"""Probabilities p ~ Beta(a, b), and the rates (1 − p)/p."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pgbn import Bernoulli, Beta, BetaOdds, Gamma, Network, Poisson
from tests.helpers.node_laws import density, draws

A, B = 2.0, 3.0


def test_density() -> None:
    found = density(Beta("p", 2, 3), 0.3, a=A, b=B)
    assert found == pytest.approx(stats.beta(2, 3).logpdf(0.3), rel=1e-10)


@pytest.mark.parametrize("value", [1e-9, 0.4, 7.0])
def test_density_of_odds(value: float) -> None:
    """(1 − p)/p is beta prime, with the parameters exchanged."""
    found = density(BetaOdds("p", 2, 3), value, a=A, b=B)
    assert found == pytest.approx(stats.betaprime(B, A).logpdf(value), rel=1e-10)


def test_draws() -> None:
    assert stats.kstest(draws(Beta("p", 2, 3), a=A, b=B), stats.beta(A, B).cdf).pvalue > 1e-4
    odds = draws(BetaOdds("p", 2, 3), a=A, b=B)
    assert stats.kstest(1 / (1 + odds), stats.beta(A, B).cdf).pvalue > 1e-4


def test_values_that_are_no_probability() -> None:
    assert Beta("p", 1, 1).refuses(np.array([0.0, 0.3, 1.0])) is None
    assert "has the value 1.5; a probability" in str(Beta("p", 1, 1).refuses(np.array([0.3, 1.5])))
    assert BetaOdds("p", 1, 1).refuses(np.array([1.5])) is None


def test_chains_begin_at_odds_of_some_size() -> None:
    assert BetaOdds("p", 1, 1).begin(np.array([1e-9, 1.0, 1e9])).tolist() == [0.01, 1.0, 100.0]


def test_a_probability_that_was_rounded_is_not_impossible() -> None:
    """A draw may round to 0 or 1; its density there is that beside it, not infinite."""
    for a, b in ((0.01, 0.01), (2.0, 3.0)):
        found = Beta("p", a, b).log_density(np.array([0.0, 1.0, 0.5]), a=a, b=b)
        assert np.isfinite(found).all()
    h = Bernoulli("h", Beta("p", 1e-3, 1e-3, dims="i"), dims="i")
    net = Network(Poisson("x", Gamma("g", h * 1.0, 1.0, dims="i"), dims="i"))
    chain = net.chain({"x": np.zeros(4, int)}, seed=1)
    chain.program.values["p"] = np.round(chain.program.values["h"])  # as rounding leaves them
    assert np.isfinite(chain.log_joint())
