"""Splits of sparse cells and labels with Φ and θ held. Covers `samplers.sparse` as well."""

import numpy as np
import pytest

from pgbn.samplers.executor import Threads
from pgbn.samplers.first_layer.blocked import draw_labels, split_all_cells
from pgbn.samplers.first_layer.loadings import draw_loadings
from pgbn.samplers.first_layer.value_lists import empty_loadings, loadings_of
from pgbn.samplers.thinning import SparseCounts
from tests.helpers.label_corpus import Corpus, check_first_labels, wide_case, wide_phi


@pytest.mark.parametrize("threads", [1, 2])
def test_blocked_splits_have_multinomial_moments(threads):
    rng = np.random.default_rng(2)
    replicates, vocabulary, topics = 20_000, 3, 11
    phi = rng.dirichlet(np.full(vocabulary, 0.1), size=topics).T
    theta = np.tile(rng.gamma(0.5, size=topics), (replicates, 1))
    loadings = loadings_of(np.tile(phi, (replicates, 1, 1)))
    counts = np.array([0, 3, 70])  # the last by binomials, beyond four a topic
    indices, data = np.tile([1, 2], replicates), np.tile(counts[1:], replicates)
    cells = SparseCounts(np.arange(replicates + 1) * 2, indices, data)
    n_wk = np.empty((replicates, vocabulary, topics), np.int32)
    m = np.empty((replicates, topics), np.int64)
    split_all_cells(7, cells, loadings, theta, n_wk, m, Threads(threads))
    np.testing.assert_array_equal(n_wk.sum(axis=2), np.tile(counts, (replicates, 1)))
    np.testing.assert_array_equal(n_wk.sum(axis=1), m)
    for w in (1, 2):
        probability = phi[w] * theta[0] / (phi[w] * theta[0]).sum()
        mean = counts[w] * probability
        deviation = np.sqrt(mean * (1 - probability) / replicates) + 1e-12
        assert (np.abs(n_wk[:, w].mean(axis=0) - mean) < 4.5 * deviation + 2e-4).all()
        variance = n_wk[:, w].var(axis=0)
        assert np.allclose(variance, mean * (1 - probability), rtol=0.1, atol=2e-3)


def test_first_label_of_a_wide_case():
    """Twenty-one topics, lists of several blocks: the law of the first label drawn."""
    word, row, z, prior = wide_case()
    replicates, topics = 20_000, prior.shape[1]
    phi = wide_phi(topics)
    corpus = Corpus(word, row, 3, 6, topics, np.tile(z, replicates), replicates)
    loadings = loadings_of(np.tile(phi, (replicates, 1, 1)))
    rows = np.tile(prior, (replicates, 1))
    draw_labels(np.uint64(13), 0, corpus.rows, corpus.tokens, loadings, rows, corpus.z)
    expected = phi[word[0]] * prior[0] / (phi[word[0]] * prior[0]).sum()
    check_first_labels(corpus.z.reshape(replicates, -1), expected)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_no_bit(threads):
    word, row, z, prior = wide_case()
    replicates, results = 30, []
    corpus = Corpus(word, row, 3, 6, prior.shape[1], np.tile(z, replicates), replicates)
    words = np.tile(np.bincount(word, minlength=6), (replicates, 1))
    loadings = empty_loadings(words, prior.shape[1], 0.05)
    draw_loadings(30, corpus.n_wk, 0.05, loadings)
    cells = SparseCounts(*corpus.tokens, np.ones(corpus.z.size, np.int64))
    for number in (1, threads):
        n_wk, m = np.empty_like(corpus.n_wk), np.empty_like(corpus.m)
        split_all_cells(
            34, cells, loadings, np.tile(prior, (replicates, 1)) + 0.1, n_wk, m, Threads(number)
        )
        results.append((n_wk, m))
    for one, many in zip(*results, strict=True):
        np.testing.assert_array_equal(one, many)
