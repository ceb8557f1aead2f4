"""Sixteen numbers at a time: places, sums, logarithms and picks, for rows of any length."""

import numpy as np
import pytest
from numba import njit
from scipy import stats

from pgbn.samplers.lanes import (
    ROOM,
    exp2,
    exp2_single,
    find_above,
    find_nonzero,
    find_outside,
    log2,
    log2_single,
    pick,
    weigh,
)
from tests.helpers.laws import new_stream

SIZES = [0, 1, 15, 16, 17, 63, 64, 65, 150]


@njit
def _nonzero(m, begin, size, places):
    return find_nonzero(m, np.uint64(begin), np.uint64(size), places)


@njit
def _above(a, begin, b, first, step, size, places, at):
    return find_above(
        a, np.uint64(begin), b, np.uint64(first), np.uint64(step), np.uint64(size), places,
        np.uint64(at),
    )  # fmt: skip


@njit
def _outside(a, bounds, size, places):
    return find_outside(a, bounds, np.uint64(size), places)


@pytest.mark.parametrize("size", SIZES)
def test_numbers_outside_two_bounds(size):
    a = np.random.default_rng(size).random(size).astype(np.float32)
    a[::5], a[1::7] = 0.25, 0.75  # equal is not outside
    places = np.full(size + 1, 999, np.uint64)
    bounds = np.repeat(np.array([0.25, 0.75], np.float32), 16)
    found = _outside(a, bounds, size, places)
    np.testing.assert_array_equal(places[:found], np.flatnonzero((a < 0.25) | (a > 0.75)))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_counts_that_are_not_0(size, kind):
    m = np.random.default_rng(size).poisson(0.5, size + 5).astype(kind)
    places = np.full(size + 1, 999, np.uint64)
    found = _nonzero(m, 5, size, places)
    np.testing.assert_array_equal(places[:found], np.flatnonzero(m[5:]))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_numbers_above_others_or_above_a_bound(size, kind):
    rng = np.random.default_rng(size)
    a, b = rng.random(size + 3).astype(kind), rng.random(size + 7).astype(kind)
    a[3:][::5] = b[7:][::5]  # equal is not above
    places = np.full(size + 3, 999, np.uint64)
    found = _above(a, 3, b, 7, 1, size, places, 2)
    np.testing.assert_array_equal(places[2 : 2 + found], np.flatnonzero(a[3:] > b[7:]))
    assert (places[:2] == 999).all()
    bound = np.full(16, 0.7, kind)
    found = _above(a, 3, bound, 0, 0, size, places, 0)
    np.testing.assert_array_equal(places[:found], np.flatnonzero(a[3:] > kind(0.7)))


def test_logarithms_are_exact_to_rounding():
    x = np.exp(np.random.default_rng(0).uniform(-700, 700, 2000))
    np.testing.assert_allclose([log2(v) for v in x], np.log2(x), rtol=2e-15)
    y = np.random.default_rng(1).uniform(-1000, 900, 2000)
    np.testing.assert_allclose([exp2(v) for v in y], np.exp2(y), rtol=1e-15)
    assert exp2(-1e9) == exp2(-np.inf) == 0.0
    single = np.exp(np.random.default_rng(2).uniform(-80, 80, 2000)).astype(np.float32)
    np.testing.assert_allclose([log2_single(v) for v in single], np.log2(single), rtol=3e-7)
    single = np.random.default_rng(3).uniform(-126, 120, 2000).astype(np.float32)
    np.testing.assert_allclose([exp2_single(v) for v in single], np.exp2(single), rtol=3e-7)
    assert exp2_single(np.float32(-1e9)) == 0.0


def test_single_logarithms_near_one_keep_their_digits():
    x = np.float32(1.0) - np.arange(1, 500, dtype=np.float32) * np.float32(2.0**-22)
    np.testing.assert_allclose([log2_single(v) for v in x], np.log2(x.astype(float)), rtol=3e-7)


@njit
def _pick(rng, phi, theta, draws, counts):
    cells, size = phi.shape[0], np.uint64(theta.size)
    reached, lanes = np.empty(cells * theta.size, np.float32), np.zeros(cells * ROOM, np.float32)
    weight = np.empty(cells)
    for c in range(np.uint64(cells)):
        weight[c] = weigh(
            phi.reshape(-1), c * size, theta, size, reached, c * size, lanes, c * np.uint64(ROOM)
        )
    for _ in range(draws):
        for c in range(np.uint64(cells)):
            unit = pick(rng, size, reached, c * size, lanes, c * np.uint64(ROOM), weight[c])
            counts[c, unit] += 1
    return weight


def test_every_cell_has_the_probabilities_of_its_products():
    rng = np.random.default_rng(0)
    phi, theta = np.zeros((3, 48), np.float32), np.zeros(48, np.float32)
    phi[:, :40], theta[:40] = rng.random((3, 40)), rng.gamma(0.5, size=40)
    phi[1, 5:30] = 0.0
    counts = np.zeros((3, 48), np.int64)
    weight = _pick(new_stream(), phi, theta, 50_000, counts)
    product = (phi * theta).astype(float)
    np.testing.assert_allclose(weight, product.sum(axis=1), rtol=1e-5)
    for seen, expected in zip(counts, product, strict=True):
        assert not seen[expected == 0.0].any()
        common = expected > 1e-3 * expected.sum()
        law = expected[common] / expected[common].sum() * seen[common].sum()
        assert stats.chisquare(seen[common], law).pvalue > 1e-4
