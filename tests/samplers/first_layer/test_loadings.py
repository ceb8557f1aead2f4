"""Φ given counts: the laws of its entries, its lists of large values, threads."""

import itertools

import numpy as np
import pytest
from scipy import stats

from pgbn.samplers.executor import Threads
from pgbn.samplers.first_layer.loadings import draw_loadings, draw_phi
from pgbn.samplers.first_layer.value_lists import empty_loadings
from pgbn.samplers.random import stream_key


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
