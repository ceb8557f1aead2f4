"""Poisson variates, plain and zero-truncated, against exact probabilities and moments."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import special, stats

from pgbn.samplers.variates.poisson import (
    draw_poisson,
    draw_small_truncated,
    draw_truncated_poisson,
)
from tests.helpers.laws import assert_counts_follow, assert_follows, assert_moments, sampler_of

sample_poisson = sampler_of(draw_poisson, np.int64)
sample_truncated_poisson = sampler_of(draw_truncated_poisson, np.int64)
sample_small_truncated = sampler_of(draw_small_truncated, np.int64)


@pytest.mark.parametrize("rate", [1e-12, 0.01, 1.0, 5.0, 11.9, 12.1, 14.0, 30.0, 300.0, 4e4])
def test_poisson(rate: float) -> None:
    counts = np.arange(int(rate + 12.0 * math.sqrt(rate) + 20.0))
    assert_counts_follow(sample_poisson(rate), stats.poisson.pmf(counts, rate))


@pytest.mark.parametrize("rate", [1e6, 1e9, 1e12])
def test_poisson_moments(rate: float) -> None:
    draws = sample_poisson(rate) - rate
    assert_moments(draws, 0.0, rate)
    assert_follows(draws / math.sqrt(rate), stats.norm.cdf)


@pytest.mark.parametrize("rate", [1e-310, 1e-12, 0.01, 0.5, 3.0, 11.0, 25.0, 700.0, 1e4])
@pytest.mark.parametrize("sample", [sample_truncated_poisson, sample_small_truncated])
def test_truncated_poisson(rate: float, sample: Callable[..., np.ndarray]) -> None:
    counts = np.arange(int(rate + 12.0 * math.sqrt(rate) + 20.0))
    probability = np.zeros(counts.size)
    # rate^(n-1) / n! over its sum, in logs: safe as rate -> 0
    log_weight = (counts[1:] - 1) * math.log(rate) - special.gammaln(counts[1:] + 1.0)
    probability[1:] = special.softmax(log_weight)
    assert_counts_follow(sample(rate), probability)


def test_poisson_edges() -> None:
    assert (sample_poisson(0.0, size=10) == 0).all()
    assert (sample_truncated_poisson(0.0, size=10) == 1).all()
    assert (sample_small_truncated(0.0, size=10) == 1).all()
    assert (sample_poisson(np.nan, size=2) <= 1).all()
    assert (sample_truncated_poisson(np.nan, size=2) <= 1).all()
    assert (sample_small_truncated(np.nan, size=2) <= 1).all()
