"""Labels of tokens by the collapsed and the partial kernels: exact laws, counts, threads, edges."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from pgbn.samplers.executor import Threads
from pgbn.samplers.first_layer.loadings import draw_loadings, draw_phi, empty_loadings, loadings_of
from pgbn.samplers.first_layer.tokens import PseudoTopics, count_words
from pgbn.samplers.random import stream_key
from tests.helpers.label_corpus import (
    ETA,
    ROW,
    WORD,
    Corpus,
    check_first_labels,
    chi_square,
    dense_conditional,
    one_sweep_law,
    wide_case,
    wide_phi,
)

KERNELS = ["collapsed", "lists", "shared"]  # "shared": rows share the prior, and there are no lists
PRIORS = {
    "own": np.array([[0.2, 1.5], [0.7, 0.1]]),
    "zeros": np.array([[0.0, 0.8], [1.2, 0.0]]),
    "equal": np.array([[0.2, 1.5], [0.2, 1.5]]),
}


def sweep(corpus, kernel, key, prior, phi=None, threads=1, pseudo=None, eta=ETA):
    """One sweep; ``prior`` has a line for each document, and ``phi`` is that of all replicates."""
    if kernel == "shared":
        assert (prior == prior[0]).all()
        prior, share = prior[:1], corpus.rows
    else:
        prior, share = np.tile(prior, (corpus.replicates, 1)), 1
    if kernel == "collapsed":
        corpus.collapsed(key, prior, share, threads=threads, pseudo=pseudo, eta=eta)
        return
    if phi is None:
        phi = draw_phi(key, corpus.n_wk, ETA, np.empty(corpus.n_wk.shape))
    phi = np.tile(phi, (corpus.replicates, 1, 1)) if phi.ndim == 2 else phi
    loadings = loadings_of(phi, listed=kernel == "lists")
    corpus.partial(key, loadings, prior, share, threads, pseudo)


@pytest.mark.parametrize(
    ("kernel", "prior"),
    [*itertools.product(KERNELS[:2], ["own", "zeros"]), ("shared", "equal")],
)
def test_one_sweep_has_the_exact_law(kernel, prior):
    """From every state of a four-token corpus, many replicates."""
    phi, prior = np.array([[0.9, 0.02], [0.1, 0.98]]), PRIORS[prior]
    replicates, p_values = 20_000, []
    for index, state in enumerate(itertools.product(range(2), repeat=4)):
        if not all(prior[ROW[i], k] > 0 for i, k in enumerate(state)):
            continue
        law = one_sweep_law(kernel, state, WORD, ROW, prior, phi, 2, 2)
        corpus = Corpus(WORD, ROW, 2, 2, 2, np.tile(state, replicates), replicates)
        sweep(corpus, kernel, stream_key(1, index), prior, phi)
        corpus.check(kernel == "collapsed")
        p_values.append(chi_square(corpus.z.reshape(replicates, 4), law, 2))
    assert min(p_values) > 1e-3 / len(p_values), p_values


@pytest.mark.parametrize("kernel", KERNELS[:2])
def test_first_label_of_a_wide_case(kernel):
    """Twenty-one topics, lists of several blocks: the law of the first label drawn."""
    word, row, z, prior = wide_case()
    replicates, topics = 20_000, prior.shape[1]
    phi = wide_phi(topics)
    assert loadings_of(phi[None].copy()).length.max() < topics
    corpus = Corpus(word, row, 3, 6, topics, np.tile(z, replicates), replicates)
    sweep(corpus, kernel, 12, prior, phi)
    expected = dense_conditional(kernel, 0, z, word, row, prior, phi, topics, 6)
    check_first_labels(corpus.z.reshape(replicates, -1), expected)


@pytest.mark.parametrize("scale", [1e-40, 1.0, 1e38], ids=["underflow", "singles", "overflow"])
@pytest.mark.parametrize("spread", [1.0, 8.0, 30.0])
def test_first_label_where_rows_share_the_prior(spread, scale):
    """Also where sums of singles fail. Small values have large weights: they are drawn too."""
    word, row, z, prior = wide_case(topics=37)  # two groups of prior sums
    replicates = 20_000
    phi = np.exp(np.random.default_rng(2).normal(0.0, spread, (6, 37)))
    prior = np.tile(prior[:1] / phi[word[0]] ** 0.7, (3, 1))
    corpus = Corpus(word, row, 3, 6, 37, np.tile(z, replicates), replicates)
    loadings = loadings_of(np.tile(phi, (replicates, 1, 1)), listed=False)
    loadings.scale[...] = scale
    corpus.partial(12, loadings, prior[:1], 3 * replicates)
    corpus.check(False)
    expected = dense_conditional("shared", 0, z, word, row, prior, phi, 37, 6)
    check_first_labels(corpus.z.reshape(replicates, -1), expected)


@pytest.mark.parametrize("kernel", KERNELS)
def test_counts_follow_the_labels_sweep_after_sweep(kernel):
    word, row, z, prior = wide_case()
    prior = prior[[1, 1, 1]] if kernel == "shared" else prior
    corpus = Corpus(word, row, 3, 6, prior.shape[1], z)
    for number in range(50):
        count_words(0, 0, 6, *corpus.order, corpus.z, corpus.n_wk)
        sweep(corpus, kernel, stream_key(22, number), prior)
        corpus.check(kernel == "collapsed")


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("topics", [1, 2, 9])
def test_rows_and_words_may_be_empty(topics, kernel):
    corpus = Corpus([4, 4, 1], np.array([1, 1, 1]), 3, 5, topics, [0, 0, 0])
    sweep(corpus, kernel, 3, np.full((3, topics), 0.1))
    corpus.check(kernel == "collapsed")


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_token_stays_where_no_other_topic_is_possible(kernel):
    corpus = Corpus([0], np.array([0]), 1, 1, 3, [2])
    sweep(corpus, kernel, 1, np.zeros((1, 3)), np.ones((1, 3)))
    assert corpus.z[0] == 2
    if kernel == "collapsed":  # it moves to the only topic that it can have
        sweep(corpus, kernel, 2, np.array([[0.0, 1e-300, 0.0]]))
        assert corpus.z[0] == 1
    else:  # Φ is 0 where the prior is not: the label stays
        sweep(corpus, kernel, 3, np.array([[0.0, 1e-300, 0.0]]), np.array([[1.0, 0.0, 1.0]]))
        assert corpus.z[0] == 2
    corpus.check(kernel == "collapsed")


@pytest.mark.parametrize("kernel", KERNELS)
def test_tiny_priors_are_not_lost_to_rounding(kernel):
    """With m = 0 left, weights of 1e-30 decide, although 1 + 1e-30 = 1. So they do for a topic that
    is not listed: φ a = 2e-30 against 1e-30."""
    cases = [([1.0, 1.0], [1e-30, 3e-30], 3 / 4), ([1.0, 1e-3], [1e-30, 2e-27], 2 / 3)]
    for phi, prior, expected in cases[: 1 if kernel == "collapsed" else 2]:
        corpus = Corpus([0], np.array([0]), 1, 1, 2, np.zeros(4000), 4000)
        sweep(corpus, kernel, 6, np.array([prior]), np.array([phi]))
        assert stats.binomtest(int(corpus.z.sum()), 4000, expected).pvalue > 1e-3


# ---- further terms of the rate ----------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_first_label_beside_further_terms(kernel):
    """Terms e of the weights row_je word_we have the labels K + e, and are left out of the counts.
    Every word has an η of its own."""
    word, row, z, prior = wide_case()
    prior = prior[[1, 1, 1]] if kernel == "shared" else prior
    replicates, topics, phi = 20_000, prior.shape[1], wide_phi(prior.shape[1])
    z[1] = topics + 1
    corpus = Corpus(word, row, 3, 6, topics, np.tile(z, replicates), replicates)
    terms = np.array([[0.5, 0.2], [1.0, 0.3], [1.0, 1.0]]), np.tile([[0.4, 1.0]], (6, 1))
    weights = terms[0][0] * terms[1][word[0]]
    pseudo = PseudoTopics(*(np.tile(each, (replicates, 1)) for each in terms))
    eta = np.linspace(0.2, 0.9, 6)
    sweep(corpus, kernel, 9, prior, phi, pseudo=pseudo, eta=eta[None])
    corpus.check(kernel == "collapsed")
    topical = dense_conditional(kernel, 0, z, word, row, prior, phi, topics, 6, eta)
    check_first_labels(corpus.z.reshape(replicates, -1), np.append(topical, weights))


@pytest.mark.parametrize("kernel", KERNELS[1:])
@pytest.mark.parametrize("beyond", [None, 0.3])
def test_a_word_that_no_topic_has(kernel, beyond):
    """It belongs to the further terms; where there are none, its labels stay."""
    z = np.arange(48) % 24
    corpus = Corpus(np.arange(48) % 2, np.zeros(48, np.int64), 1, 2, 24, z)
    pseudo = None if beyond is None else PseudoTopics(np.ones((1, 1)), np.array([[0.0], [beyond]]))
    phi = np.array([np.ones(24), np.zeros(24)])
    sweep(corpus, kernel, 5, np.full((1, 24), 0.1), phi, pseudo=pseudo)
    np.testing.assert_array_equal(corpus.z[1::2], z[1::2] if beyond is None else np.full(24, 24))
    assert (corpus.z[::2] < 24).all()
    corpus.check(False)


def test_loadings_are_drawn_alike_with_and_without_lists():
    n_wk = np.random.default_rng(7).poisson(0.5, size=(2, 50, 30)).astype(np.int32)
    for eta, quick in ((0.05, True), (0.9, False), (1e-4, True)):  # the last in logarithms
        drawn = [draw_loadings(61, n_wk, eta, empty_loadings(n_wk.sum(axis=2), 30, eta, quick, listed),
                               Threads(1), quick) for listed in (True, False)]  # fmt: skip
        for name in ("value", "scale"):
            np.testing.assert_array_equal(*(getattr(each, name) for each in drawn))
        assert drawn[0].topic.size > drawn[1].topic.size == 0
