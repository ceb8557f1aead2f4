"""Lists of the large values: what they hold, and draws from lists in two parts."""

import numpy as np
import pytest
from numba import njit
from scipy import stats

from pgbn.samplers.first_layer.loadings import (
    EXTRA_TERM,
    blank_loadings,
    draw_loadings,
    draw_topic,
    empty_loadings,
    given_values,
    list_large,
    sum_top,
    sum_weights,
    weights_in,
    weights_room,
)
from pgbn.samplers.lanes import pointer
from pgbn.samplers.random import restart


def test_lists_forget_what_was_there_before() -> None:
    many, few = np.full((1, 20, 30), 3, np.int32), np.zeros((1, 20, 30), np.int32)
    room = empty_loadings(many.sum(axis=2), 30, 0.05)
    for key, counts in enumerate((many, few)):
        loadings = draw_loadings(key, counts, 0.05, room)
    for start, length in zip(loadings.start, loadings.length, strict=False):
        assert not loadings.large[start + length : start + length + -length % 8].any()


@njit
def draw_many(loadings, weight, beyond, draws, out):
    """``draws`` of word 0, counted; the last place is what lies beyond."""
    room = weights_room(weight.size)
    room[: weight.size] = weight
    weights, values, rng = weights_in(room), given_values(loadings), np.empty(2, np.uint64)
    restart(rng, np.uint64(7), 0)
    total, top = sum_weights(weights), sum_top(values, np.uint64(0), weights)
    for _ in range(draws):
        k = draw_topic(pointer(rng), values, np.uint64(0), weights, total, beyond, top)
        out[weight.size if k == EXTRA_TERM else np.int64(k)] += 1


@pytest.mark.parametrize("high", [0.0, 0.05, 0.4, 3.0])
@pytest.mark.parametrize("beyond", [0.0, 0.7])
def test_a_list_in_two_parts_has_the_law_of_the_products(high, beyond):
    """Large values, others at the end of the list, and small ones that are not listed."""
    rng = np.random.default_rng(3)
    value = np.exp(rng.uniform(np.log(1e-3), 0.7, 45))
    weight = rng.gamma(0.3, size=45) + 0.01
    weight[value < high] *= 20.0  # most of the mass may lie below the top
    loadings = blank_loadings(value.reshape(1, 1, 45), 64)
    list_large(value, 0.02, high, 0, loadings, np.empty(46, np.uint64))
    if high == 0.4:
        assert 0 < loadings.top[0] < loadings.length[0] - 8 < 40
    found = np.zeros(46, np.int64)
    draw_many(loadings, weight, beyond, 200_000, found)
    law = np.append(value * weight, beyond)
    law *= found.sum() / law.sum()
    assert stats.chisquare(found[law > 0], law[law > 0]).pvalue > 1e-3
