"""The probabilities of drawn counts: they sum to one, and are those of scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import factorial, gamma, i1

from pgbn.nodes import log_pmf


@pytest.mark.parametrize("shape", [0.01, 0.7, 30.0])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 30])
def test_table_probabilities_sum_to_one(count, shape):
    tables = np.arange(count + 1)
    total = np.exp(log_pmf.crt(tables, np.full(count + 1, count), shape)).sum()
    assert total == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("rate", [0.01, 1.0, 8.0])
def test_truncated_poisson_against_scipy(rate: float) -> None:
    counts, law = np.arange(1, 20), stats.poisson(rate)
    expected = law.logpmf(counts) - law.logsf(0)
    assert log_pmf.truncated_poisson(counts, rate) == pytest.approx(expected)


@pytest.mark.parametrize(("a", "n"), [(0.5, 1), (2.0, 3), (7.5, 40)])
def test_neg_log_beta_against_scipy(a: float, n: int) -> None:
    s = np.array([0.05, 0.5, 0.95])
    found = log_pmf.neg_log_beta(-np.log(s), a, n)
    assert found == pytest.approx(stats.beta(a, n).logpdf(s))
    assert log_pmf.neg_log_beta(0.0, a, 0) == 0.0


def test_bessel_against_scipy() -> None:
    """(α/2)^{2n−1} / (n! Γ(n) I₁(α))."""
    n, alpha = np.arange(1, 8), 3.0
    expected = (alpha / 2) ** (2 * n - 1) / (factorial(n) * gamma(n) * i1(alpha))
    assert np.exp(log_pmf.bessel(n, alpha)) == pytest.approx(expected)


def test_no_customers_sit_at_no_table() -> None:
    assert log_pmf.crt([0, 0], [0, 0], [0.0, 3.0]).tolist() == [0.0, 0.0]
