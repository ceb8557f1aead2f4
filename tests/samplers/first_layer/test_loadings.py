"""Φ given counts: the laws of its entries, threads, gammas of one shape, and lists of values."""

import itertools

import numpy as np
import pytest
from numba import njit
from scipy import stats

from pgbn.samplers.first_layer.loadings import (
    EQUAL_SHAPES,
    EXTRA_TERM,
    TopicLists,
    blank_loadings,
    draw_loadings,
    draw_phi,
    draw_topic,
    empty_loadings,
    equal_room,
    fill_equal,
    given_values,
    list_large,
    padded,
    pick_in_list,
    pick_weight,
    sum_list,
    sum_top,
    sum_weights,
    weights_in,
    weights_room,
)
from pgbn.samplers.lanes import pointer
from pgbn.samplers.random import restart, stream_key


@pytest.mark.parametrize("eta", [0.002, 0.05, 0.5, 1.0, 3.0])
def test_phi_has_beta_margins(eta):
    """φ_wk ~ Beta(η + n_wk, Σ_v≠w (η + n_vk)), and columns that sum to 1."""
    replicates = 4000
    counts = np.array([[0, 0, 2], [0, 5, 0], [0, 1, 40], [0, 0, 0]], np.int32)
    n_wk = np.tile(counts, (replicates, 1, 1))
    phi = draw_phi(stream_key(50, int(1000 * eta)), n_wk, eta, np.empty(n_wk.shape))
    np.testing.assert_allclose(phi.sum(axis=1), 1.0, rtol=1e-12)
    loadings = empty_loadings(n_wk.sum(axis=2), 3, eta)
    draw_loadings(51, n_wk, eta, loadings)
    drawn = loadings.value * loadings.scale[:, None, :]
    np.testing.assert_allclose(drawn.sum(axis=1), 1.0, rtol=1e-12)
    p_values = []
    for draw in (phi, drawn):
        for w, k in itertools.product(range(4), range(3)):
            a = eta + counts[w, k]
            b = 4 * eta + counts[:, k].sum() - a
            # By the distribution function, which a draw of 0 or 1 does not upset; ties at
            # these two are spread out.
            u = stats.beta.cdf(draw[:, w, k], a, b)
            random = np.random.default_rng(w + 10 * k).uniform(size=replicates)
            tiny = draw[:, w, k] < 1e-290
            u[tiny] = random[tiny] * stats.beta.cdf(1e-290, a, b)
            near = draw[:, w, k] > 1 - 1e-13
            low = stats.beta.cdf(1 - 1e-13, a, b)
            u[near] = low + random[near] * (1 - low)
            p_values.append(stats.kstest(u, "uniform").pvalue)
    assert min(p_values) > 1e-3 / len(p_values), p_values


# ---- gammas of one shape ----------------------------------------------------------------


@njit
def _fill(key, shape, rows, columns, out):
    rng = np.empty(2, np.uint64)
    restart(rng, key, 0)
    fill_equal(rng, equal_room(columns), shape, rows, 3, out)


def gammas(shape, rows, columns, key=5):
    out = np.full(rows * columns + 6, -1.0)
    _fill(np.uint64(key), shape, rows, columns, out)
    assert (out[[0, 1, 2, -3, -2, -1]] == -1.0).all()  # nothing beside the rows
    return out[3:-3].reshape(rows, columns)


@pytest.mark.parametrize("shape", [EQUAL_SHAPES[0], 0.05, 0.5, EQUAL_SHAPES[1]])
def test_they_have_the_law_of_their_shape(shape):
    """By ln g, whose law has no atom and no end."""
    sample = gammas(shape, 2500, 40).ravel()
    law = stats.gamma(shape)
    assert (sample > 0.0).all()
    assert stats.kstest(law.cdf(sample), "uniform").pvalue > 1e-3
    large = sample[sample > 0.5]  # where proposals are refused
    tail = law.sf(0.5)
    assert stats.binomtest(large.size, sample.size, tail).pvalue > 1e-3
    assert stats.kstest(1.0 - law.sf(large) / tail, "uniform").pvalue > 1e-3


def test_what_single_precision_cannot_hold_has_the_law_of_small_gammas():
    """P(g < y | g < 2^-120) = (y / 2^-120)^a."""
    shape, small = 0.03, 2.0**-120
    sample = gammas(shape, 2500, 40, key=6).ravel()
    below = sample[sample < small]
    assert stats.binomtest(below.size, sample.size, stats.gamma(shape).cdf(small)).pvalue > 1e-3
    assert stats.kstest((below / small) ** shape, "uniform").pvalue > 1e-3


def test_neighbours_are_independent():
    """The two halves of a row come from the same words of the stream."""
    uniforms = stats.gamma(0.2).cdf(gammas(0.2, 20_000, 16, key=7))
    correlation = np.corrcoef(uniforms.T)[np.triu_indices(16, 1)]
    assert np.abs(correlation).max() < 5.0 / np.sqrt(20_000)


# ---- lists of the large values --------------------------------------------------------------


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


# ---- lists of topics ------------------------------------------------------------------------


@njit
def _list(topic, value, begin, length, room, targets, places):
    lists, weights = TopicLists(pointer(topic), pointer(value)), weights_in(room)
    total = sum_list(lists, np.uint64(begin), np.uint64(length), weights)
    for i in range(targets.size):
        places[i] = pick_in_list(lists, np.uint64(begin), np.uint64(length), weights, targets[i])
    return total


@njit
def _weights(room, target):
    weights = weights_in(room)
    return sum_weights(weights), pick_weight(weights, target)


def room_of(weight):
    """The weights, in the room that the kernels need."""
    room = weights_room(len(weight))
    room[: len(weight)] = weight
    return room


def test_a_place_of_value_0_is_never_picked():
    """Nor by a target at the end of the list, where rounding may lead."""
    topic = np.arange(8, dtype=np.uint16)
    value = np.array([2, 0, 1, 0, 0, 0, 0, 0], np.int32)
    places = np.empty(2, np.uint64)
    _list(topic, value, 0, 3, room_of(np.ones(8)), np.array([2.0, 3.0]), places)
    np.testing.assert_array_equal(places, [2, 2])


@pytest.mark.parametrize("topics", [1, 8, 21])
def test_a_weight_is_picked(topics):
    weight = np.random.default_rng(topics).random(topics) + 0.1
    ends = np.cumsum(weight)
    for k in range(topics):
        total, picked = _weights(room_of(weight), ends[k] - weight[k] / 2)
        assert total == pytest.approx(ends[-1])
        assert picked == k
    assert _weights(room_of(weight), 2.0 * ends[-1])[1] == topics - 1  # as by rounding
    assert _weights(room_of(np.zeros(topics)), 0.0)[1] == padded(topics)
