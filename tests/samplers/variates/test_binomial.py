"""Binomial variates against exact probabilities and moments."""

import numpy as np
import pytest
from scipy import stats

from pgbn.samplers.variates.multinomial import draw_binomial
from tests.helpers.laws import assert_counts_follow, assert_moments, sampler_of

sample_binomial = sampler_of(draw_binomial, np.int64)


@pytest.mark.parametrize("n", [1, 2, 10, 45, 300, 5_000])
@pytest.mark.parametrize("p", [1e-9, 0.003, 0.2, 0.5, 0.77, 0.9999])
def test_binomial(n: int, p: float) -> None:
    assert_counts_follow(sample_binomial(n, p), stats.binom.pmf(np.arange(n + 1), n, p))


@pytest.mark.parametrize("n", [10**6, 10**9, 10**12])
@pytest.mark.parametrize("p", [1e-3, 0.5, 0.9])
def test_binomial_moments(n: int, p: float) -> None:
    draws = sample_binomial(n, p)
    assert ((draws >= 0) & (draws <= n)).all()
    assert_moments(draws - n * p, 0.0, n * p * (1.0 - p))


def test_binomial_edges() -> None:
    assert (sample_binomial(0, 0.5, size=10) == 0).all()
    assert (sample_binomial(7, 0.0, size=10) == 0).all()
    assert (sample_binomial(7, 1.0, size=10) == 7).all()
    assert (sample_binomial(10**12, 1e-300, size=10) == 0).all()
    assert (sample_binomial(100, np.nan, size=2) == 0).all()
