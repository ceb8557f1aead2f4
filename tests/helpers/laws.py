"""Draws of scalar kernels, and what they are compared with: laws, probabilities, moments."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray
from scipy import stats

from pgbn.samplers.random import restart

THRESHOLD = 1e-4  # per case, with fixed seeds: a sound sampler passes for good or is looked at
DRAWS = 20_000


def new_stream(row: int = 0) -> NDArray[np.uint64]:
    rng = np.empty(2, np.uint64)
    restart(rng, np.uint64(20_240_229), row)
    return rng


def sampler_of(primitive: Callable, dtype: type) -> Callable:
    """Many draws of a scalar kernel: a function of its parameters, ``size`` and ``row``.

    A closure over the kernel compiles once for each of them.
    """

    @njit
    def zero(rng, size):
        out = np.empty(size, dtype)
        for i in range(size):
            out[i] = primitive(rng)
        return out

    @njit
    def one(rng, size, a):
        out = np.empty(size, dtype)
        for i in range(size):
            out[i] = primitive(rng, a)
        return out

    @njit
    def two(rng, size, a, b):
        out = np.empty(size, dtype)
        for i in range(size):
            out[i] = primitive(rng, a, b)
        return out

    @njit
    def three(rng, size, a, b, c):
        out = np.empty(size, dtype)
        for i in range(size):
            out[i] = primitive(rng, a, b, c)
        return out

    def draw(*parameters: float, size: int = DRAWS, row: int = 0) -> NDArray:
        return (zero, one, two, three)[len(parameters)](new_stream(row), size, *parameters)

    return draw


def assert_follows(draws: NDArray, cdf: Callable) -> None:
    """Kolmogorov-Smirnov."""
    assert not np.isnan(draws).any()
    assert stats.kstest(draws, cdf).pvalue > THRESHOLD


def assert_counts_follow(draws: NDArray[np.int64], probability: NDArray) -> None:
    """Chi-square of integers 0, 1, ... against their probabilities; rare values are pooled."""
    assert draws.min() >= 0
    assert draws.max() < probability.size
    assert probability.sum() == pytest.approx(1.0, abs=1e-6)
    assert (probability[np.unique(draws)] > 0.0).all()
    observed = np.bincount(draws, minlength=probability.size)
    expected = probability * draws.size
    rare = expected < 10.0
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 10.0 and expected.size > 1:  # too few even together: pool with a common one
        observed[-2] += observed[-1]
        expected[-2] += expected[-1]
        observed, expected = observed[:-1], expected[:-1]
    if expected.size > 1:
        assert stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > (
            THRESHOLD
        )


def assert_moments(draws: NDArray, mean: float, variance: float, kurtosis: float = 3.0) -> None:
    """The sample's mean and variance lie within 4 standard errors."""
    size = draws.size
    assert abs(draws.mean() - mean) < 4.0 * math.sqrt(variance / size)
    error = variance * math.sqrt((kurtosis - 1.0) / size)
    assert abs(np.mean((draws - mean) ** 2) - variance) < 4.5 * error
