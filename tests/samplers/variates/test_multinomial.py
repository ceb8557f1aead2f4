"""Multinomial splits against the binomials of their parts; lines of them in test_vectorised."""

import numpy as np
import pytest
from numba import njit
from scipy import stats

from pgbn.samplers.variates.multinomial import draw_multinomial
from tests.helpers.laws import DRAWS, assert_counts_follow, new_stream


@njit
def _splits(rng, size, count, weights):
    out = np.zeros((size, weights.size), np.int64)
    for i in range(size):
        draw_multinomial(rng, count, weights, out[i])
    return out


WEIGHTS = np.array([0.0, 3.0, 0.5, 0.0, 1e-3, 2.0, 1e-200, 1.0, 0.0])


@pytest.mark.parametrize(
    "count", [1, 2, 9, 10, 200]
)  # both methods: up to and beyond the 9 entries
@pytest.mark.parametrize("scale", [1.0, 1e-100, 1e100])
def test_multinomial(count: int, scale: float) -> None:
    splits = _splits(new_stream(), DRAWS, count, WEIGHTS * scale)
    assert (splits.sum(1) == count).all()
    assert (splits[:, WEIGHTS == 0.0] == 0).all()
    p = WEIGHTS / WEIGHTS.sum()
    for k in range(p.size):
        assert_counts_follow(splits[:, k], stats.binom.pmf(np.arange(count + 1), count, p[k]))
    # Sums of entries are binomial as well: this sees their dependence.
    pair = splits[:, 1] + splits[:, 7]
    assert_counts_follow(pair, stats.binom.pmf(np.arange(count + 1), count, p[1] + p[7]))


@pytest.mark.parametrize("count", [3, 500])
def test_multinomial_of_zero_weights_is_uniform(count: int) -> None:
    splits = _splits(new_stream(), DRAWS, count, np.zeros(4))
    for k in range(4):
        assert_counts_follow(splits[:, k], stats.binom.pmf(np.arange(count + 1), count, 0.25))


def test_multinomial_adds_and_keeps_small_last_weights() -> None:
    out = np.array([5, 7])
    draw_multinomial(new_stream(), 0, np.array([1.0, 1.0]), out)
    assert out.tolist() == [5, 7]
    draw_multinomial(new_stream(), 4, np.array([0.0, 1.0]), out)
    assert out.tolist() == [5, 11]
    splits = _splits(new_stream(), 200, 10**9, np.array([1.0, 1e-20, 3e-20]))
    assert (splits[:, 0] == 10**9).all()
