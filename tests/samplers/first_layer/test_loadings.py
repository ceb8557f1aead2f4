"""Φ given counts: the laws of its entries, its lists of large values, threads."""

import itertools

import numpy as np
import pytest
from scipy import stats

from pgbn.samplers.executor import Threads
from pgbn.samplers.first_layer.loadings import (
    draw_loadings,
    draw_phi,
    empty_loadings,
    rebuild_loadings,
)
from pgbn.samplers.random import stream_key

LANES = 8  # lists are read in whole lanes


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


def test_lists_hold_exactly_the_values_above_the_bound():
    rng = np.random.default_rng(6)
    n_wk = rng.poisson(0.5, size=(2, 50, 30)).astype(np.int32)
    small = n_wk.sum(axis=2)
    small[:, ::2] = 0  # less room than the words need: the bound must rise
    for room in (n_wk.sum(axis=2), small):
        loadings = draw_loadings(60, n_wk, 0.9, empty_loadings(room, 30, 0.05))
        for slot in range(100):
            row = loadings.value.reshape(100, 30)[slot]
            places = slice(loadings.start[slot], loadings.start[slot] + loadings.length[slot])
            large = np.flatnonzero(row > loadings.bound[slot])
            np.testing.assert_array_equal(loadings.topic[places], large)
            np.testing.assert_allclose(loadings.large[places], row[large], rtol=1e-6)
            level = loadings.level[slot].astype(float)
            np.testing.assert_array_equal(np.flatnonzero(level == 0.0), large)
            others = level > 0.0
            assert (row[others] < 2.0 ** (level[others] - 126.0)).all()
            end = loadings.start[slot] + (loadings.length[slot] + 7) // 8 * 8
            assert not loadings.large[places.stop : end].any()


def test_lists_forget_what_was_there_before() -> None:
    many, few = np.full((1, 20, 30), 3, np.int32), np.zeros((1, 20, 30), np.int32)
    room = empty_loadings(many.sum(axis=2), 30, 0.05)
    for key, counts in enumerate((many, few)):
        loadings = draw_loadings(key, counts, 0.05, room)
    for start, length in zip(loadings.start, loadings.length, strict=False):
        rest = loadings.large[start + length : start + length + -length % LANES]
        assert not rest.any()


def test_lists_follow_from_values_and_bounds():
    n_wk = np.random.default_rng(7).poisson(0.5, size=(2, 50, 30)).astype(np.int32)
    drawn = draw_loadings(61, n_wk, 0.9, empty_loadings(n_wk.sum(axis=2), 30, 0.9))
    again = rebuild_loadings(drawn.value, drawn.scale, drawn.bound)
    for slot in range(100):
        rooms = [loadings.start[slot] for loadings in (drawn, again)]
        length = drawn.length[slot]
        assert again.length[slot] == length
        np.testing.assert_array_equal(again.level[slot], drawn.level[slot])
        for name in ("topic", "large"):
            here, there = (
                getattr(loadings, name)[start : start + length]
                for loadings, start in zip((drawn, again), rooms, strict=True)
            )
            np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_no_bit(threads):
    n_wk = np.random.default_rng(8).poisson(0.3, size=(30, 6, 21)).astype(np.int32)
    results = []
    for number in (1, threads):
        loadings = empty_loadings(n_wk.sum(axis=2), 21, 0.05)
        draw_loadings(30, n_wk, 0.05, loadings, Threads(number))
        phi = draw_phi(31, n_wk, 0.05, np.empty(n_wk.shape), Threads(number))
        results.append((*loadings, phi))
    for one, many in zip(*results, strict=True):
        np.testing.assert_array_equal(one, many)


def test_threads_change_no_bit_in_one_large_draw():
    """One replicate of more words than a block of sums, so that threads share its columns."""
    n_wk = np.random.default_rng(3).poisson(0.1, size=(1, 700, 9)).astype(np.int32)
    one = draw_phi(40, n_wk, 0.05, np.empty(n_wk.shape), Threads(1))
    two = draw_phi(40, n_wk, 0.05, np.empty(n_wk.shape), Threads(2))
    np.testing.assert_array_equal(one, two)
