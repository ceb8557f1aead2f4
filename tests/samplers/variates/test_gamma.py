"""Gamma variates and their logarithms against the distribution function, at any shape."""

import math

import numpy as np
import pytest
from scipy import special, stats

from pgbn.samplers.variates.gamma import draw_gamma, draw_gamma_rate, draw_log_gamma
from tests.helpers.laws import assert_follows, assert_moments, sampler_of

sample_gamma = sampler_of(draw_gamma, np.float64)
sample_gamma_rate = sampler_of(draw_gamma_rate, np.float64)
sample_log_gamma = sampler_of(draw_log_gamma, np.float64)


@pytest.mark.parametrize("shape", [0.05, 0.3, 0.999, 1.0, 1.5, 7.0, 150.0, 1e6])
def test_gamma(shape: float) -> None:
    distribution = stats.gamma(shape)
    assert_follows(sample_gamma(shape), distribution.cdf)
    assert_follows(np.exp(sample_log_gamma(shape)), distribution.cdf)
    assert_follows(sample_gamma_rate(shape, 4.0), stats.gamma(shape, scale=0.25).cdf)


@pytest.mark.parametrize("shape", [1e6, 1e9, 1e12])
def test_gamma_of_large_shape_is_normal(shape: float) -> None:
    for draws in (sample_gamma(shape), np.exp(sample_log_gamma(shape))):
        # The skewness, 2 / sqrt(shape), is far below what 20,000 draws show.
        assert_follows((draws - shape) / math.sqrt(shape), stats.norm.cdf)


@pytest.mark.parametrize("shape", [1e-3, 1e-5, 1e-20, 1e-100, 1e-300])
def test_log_gamma_of_tiny_shape(shape: float) -> None:
    # P(ln x < t) = gammainc(shape, e^t) = e^(shape t) / Gamma(1 + shape) far below 0.
    assert_follows(-shape * sample_log_gamma(shape) - special.gammaln(1.0 + shape), stats.expon.cdf)


def test_gamma_is_zero_only_where_it_underflows() -> None:
    shape = 0.01
    draws = sample_gamma(shape, size=200_000)
    underflow = math.exp(shape * math.log(5e-324)) / math.gamma(1.0 + shape)
    assert_moments((draws == 0.0).astype(float), underflow, underflow, kurtosis=1.0 / underflow)
    # A small rate brings back what would have underflown.
    assert (sample_gamma_rate(shape, 1e-300) > 0.0).all()
    assert_follows(sample_gamma_rate(shape, 1e-300) * 1e-300, stats.gamma(shape).cdf)


def test_gamma_edges() -> None:
    assert (sample_gamma(0.0, size=10) == 0.0).all()
    assert (sample_log_gamma(0.0, size=10) == -np.inf).all()
    assert (sample_gamma_rate(2.0, np.inf, size=10) == 0.0).all()
    assert (sample_gamma_rate(0.5, np.inf, size=10) == 0.0).all()
    assert (sample_gamma_rate(2.0, 0.0, size=10) == np.inf).all()
    assert not np.isnan(sample_log_gamma(5e-324, size=100)).any()


def test_nan_does_not_hang() -> None:
    assert np.isnan(sample_gamma(np.nan, size=2)).all()
    assert np.isnan(sample_log_gamma(np.nan, size=2)).all()
