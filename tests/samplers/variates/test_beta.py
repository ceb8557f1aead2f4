"""Beta variates, as odds and logarithms, against the distribution function."""

import numpy as np
import pytest
from scipy import special, stats

from pgbn.samplers.variates.dirichlet import draw_log_beta_odds, draw_neg_log_beta
from tests.helpers.laws import assert_follows, assert_moments, sampler_of

sample_log_beta_odds = sampler_of(draw_log_beta_odds, np.float64)
sample_neg_log_beta = sampler_of(draw_neg_log_beta, np.float64)


@pytest.mark.parametrize("a", [0.02, 0.7, 3.0, 1e4])
@pytest.mark.parametrize("b", [0.3, 1.0, 250.0])
def test_log_beta_odds(a: float, b: float) -> None:
    # odds (1 - p) / p <= z  <=>  p >= 1 / (1 + z)
    draws = sample_log_beta_odds(a, b)
    assert_follows(draws, lambda z: stats.beta.sf(special.expit(-z), a, b))


@pytest.mark.parametrize("a", [0.02, 0.7, 3.0, 1e4])
@pytest.mark.parametrize("n", [1, 3, 1000])
def test_neg_log_beta(a: float, n: int) -> None:
    assert_follows(sample_neg_log_beta(a, n), lambda q: stats.beta.sf(np.exp(-q), a, n))


def test_neg_log_beta_of_one_is_exponential() -> None:
    for a in (1e-300, 1e-10, 1e-3, 1.0, 1e3, 1e12):
        assert_follows(a * sample_neg_log_beta(a, 1), stats.expon.cdf)


def test_beta_edges() -> None:
    assert (sample_neg_log_beta(3.0, 0, size=10) == 0.0).all()
    assert (sample_neg_log_beta(0.0, 0, size=10) == 0.0).all()
    assert (sample_neg_log_beta(0.0, 2, size=10) == np.inf).all()
    ends = sample_log_beta_odds(3e-310, 1e-310)
    assert not np.isnan(ends).any()
    assert_moments((ends < 0.0).astype(float), 0.75, 0.1875, kurtosis=7 / 3)
    assert not np.isnan(sample_log_beta_odds(0.0, 0.0)).any()


def test_nan_does_not_hang() -> None:
    assert np.isnan(sample_neg_log_beta(np.nan, 3, size=2)).all()
