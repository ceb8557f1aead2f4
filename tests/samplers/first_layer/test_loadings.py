"""Φ given counts: the laws of its entries, threads, and gammas of one shape."""

import itertools

import numpy as np
import pytest
from numba import njit
from scipy import stats

from pgbn.samplers.first_layer.loadings import (
    EQUAL_SHAPES,
    draw_loadings,
    draw_phi,
    empty_loadings,
    equal_room,
    fill_equal,
)
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
