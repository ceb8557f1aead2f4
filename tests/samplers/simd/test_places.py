"""Places where something holds, for rows of any length."""

import numpy as np
import pytest
from numba import njit

from pgbn.samplers.lanes import find_above, find_nonzero, find_outside

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
