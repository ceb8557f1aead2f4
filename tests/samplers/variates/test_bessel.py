"""Bessel variates against exact probabilities and moments."""

import math

import numpy as np
import pytest
from scipy import special

from pgbn.samplers.variates.gig import draw_bessel
from tests.helpers.laws import assert_counts_follow, assert_moments, sampler_of

sample_bessel = sampler_of(draw_bessel, np.int64)


@pytest.mark.parametrize("alpha", [1e-200, 1e-8, 0.1, 1.0, 5.0, 39.0, 41.0, 300.0, 5000.0])
def test_bessel(alpha: float) -> None:
    counts = np.arange(1, int(0.5 * alpha + 8.0 * math.sqrt(alpha) + 30.0))
    log_weight = 2.0 * (counts - 1) * math.log(alpha / 2.0)
    log_weight -= special.gammaln(counts + 1.0) + special.gammaln(counts)
    probability = np.append(0.0, special.softmax(log_weight))
    assert_counts_follow(sample_bessel(math.log(alpha)), probability)


def test_bessel_of_large_alpha() -> None:
    alpha = 1e6
    mean = 0.5 * alpha * special.ive(0, alpha) / special.ive(1, alpha)
    second = 0.25 * alpha * alpha + mean  # E n (n - 1) = alpha^2 / 4
    draws = sample_bessel(math.log(alpha), size=4000)
    assert_moments(draws, mean, second - mean * mean)


def test_bessel_edges() -> None:
    assert (sample_bessel(-np.inf, size=10) == 1).all()
    assert (sample_bessel(np.nan, size=2) <= 1).all()
