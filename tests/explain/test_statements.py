"""The lemmas: each has a proof, and those with numbers in them hold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from pgbn.explain.lemmas import LEMMAS


@pytest.mark.parametrize("key", LEMMAS)
def test_a_lemma_is_stated_and_proved(key: str) -> None:
    lemma = LEMMAS[key]
    assert lemma.title
    assert lemma.statement
    assert lemma.equations
    assert len(lemma.proof) > 40
    assert all(line.count("&") == 1 for line in lemma.equations)


def test_tables_below_a_dirichlet_are_not_poisson() -> None:
    """What the lemma says of them is ∝, since one customer has one table."""
    assert r"\propto" in LEMMAS["dirichlet"].equations[1]
    assert "of one customer" in LEMMAS["dirichlet"].proof


def test_the_sum_of_gammas_is_independent_of_the_proportions() -> None:
    a, m, rate = np.array([0.7, 1.2, 2.0]), np.array([1, 0, 3]), 1.7
    s, u = 2.3, np.array([0.2, 0.5, 0.3])
    left = stats.gamma.logpdf(s * u, a + m, scale=1 / rate).sum() + 2 * np.log(s)
    right = stats.gamma.logpdf(s, (a + m).sum(), scale=1 / rate)
    right += stats.dirichlet.logpdf(u, a + m)
    assert np.isclose(left, right)


def test_tables_of_a_negative_binomial_are_poisson() -> None:
    """Σ_m NB(m; a, p) CRT(ℓ; m, a) = Pois(ℓ; −a ln(1 − p)), for ℓ = 1."""
    a, p, m = 0.8, 0.3, np.arange(1, 200)
    one_table = special.gammaln(m) + np.log(a) + special.gammaln(a) - special.gammaln(a + m)
    total = np.exp(stats.nbinom.logpmf(m, a, 1 - p) + one_table).sum()
    assert np.isclose(total, stats.poisson.pmf(1, -a * np.log1p(-p)))
