"""The units of a layer of a document: their draws, and sums over those that are listed."""

import math

import numpy as np
import pytest
from numba import njit
from scipy import special

from pgbn.samplers.documents.units import active_units, draw_units
from pgbn.samplers.lanes import aligned

DRAWS = 200_000
SHAPES = (1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0, 1.7, 5.0)


def stream(seed=1):
    return np.array([seed, 0x9E3779B97F4A7C15], np.uint64)


def single(values):
    """The values as float32, filled with zeros to a multiple of 32."""
    out = aligned(-(-len(values) // 32) * 32)
    out[: len(values)] = values
    return out


@njit
def _draw(rng, a, m, rate, parts, sums, active):
    for i in range(sums.size):
        sums[i] = draw_units(rng, a, m, rate, parts[i], active)


def draw(shapes, counts=(), rate=2.0, draws=DRAWS):
    """Parts and sums of many draws of a layer."""
    a, m = np.zeros(32), np.zeros(32)
    a[: len(shapes)] = shapes
    m[: len(counts)] = counts
    parts, sums = np.zeros((draws, 32), np.float32), np.zeros(draws)
    _draw(stream(), a, m, rate, parts, sums, active_units(a.size))
    return parts[:, : len(shapes)].astype(np.float64), sums


def test_units_are_gamma_variates():
    counts = np.zeros(len(SHAPES))
    counts[[2, 12]] = 1, 3
    parts, sums = draw(SHAPES, counts)
    x = 2.0 * parts * sums[:, None]
    for k, shape in enumerate(np.add(SHAPES, counts)):
        assert abs(x[:, k].mean() - shape) < 4.5 * math.sqrt(shape / DRAWS)
        for bound in (1e-12, 1e-6, 1e-3, 0.1, 0.5, 1.0, 2.0):
            p = special.gammainc(shape, bound)
            error = math.sqrt(p * (1 - p) / DRAWS) + 5 / DRAWS
            assert abs((x[:, k] <= bound).mean() - p) < 4.5 * error
    correlation = np.corrcoef(x.T) - np.eye(len(SHAPES))
    assert np.abs(correlation).max() < 5 / math.sqrt(DRAWS)


def test_what_is_left_out_is_negligible():
    """P(x < t) → t^a / Γ(1 + a) for small t: parts down to 2^-53 are there, smaller ones not."""
    parts, _ = draw([0.02] * 20, [10.0])
    small = parts[:, 1:].ravel()
    assert 0 < small[small > 0].min() < 3e-16
    assert small[small > 0].min() > 1e-16
    expected = (10 * 2.0**-53) ** 0.02 / math.gamma(1.02)  # the sum is about 10
    assert (small == 0).mean() == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("scale", [1e-3, 1e-6])
def test_shares_of_a_layer_without_counts_are_right(scale):
    """θ/θ_· ~ Dir(a), also where the sum is below 1e-3, or below the smallest double."""
    a = scale * np.array([1.0, 2.0, 5.0])
    parts, sums = draw(a)
    np.testing.assert_allclose(parts.sum(axis=1), 1.0, rtol=1e-6)
    assert (sums > 0).all()
    np.testing.assert_allclose(parts.mean(axis=0), a / a.sum(), atol=0.006)
    second = a * (a + 1) / (a.sum() * (a.sum() + 1))
    np.testing.assert_allclose((parts**2).mean(axis=0), second, atol=0.006)


def test_a_layer_with_a_tiny_sum_is_drawn_to_the_end():
    """θ/θ_· is independent of θ_·: layers with tiny sums have as many units that matter."""
    parts, sums = draw(0.005 * np.array([1.0, 2.0, 5.0]))
    several = (parts > 1e-6).sum(axis=1) > 1
    tiny = sums < 1e-20
    assert 0.1 < tiny.mean() < 0.3
    error = math.sqrt(several.var() / tiny.sum())
    assert abs(several[tiny].mean() - several[~tiny].mean()) < 5 * error


def test_no_layer_is_infinite():
    active, theta = active_units(16), single(np.zeros(16))
    shapes, counts = np.zeros(16), np.zeros(16)
    shapes[:2] = 1e280, 3e280
    total = draw_units(stream(), shapes, counts, 1e-100, theta, active)
    assert total == 1e300
    np.testing.assert_allclose(theta[:2], [0.25, 0.75], rtol=1e-6)
