"""Labels with Φ held and θ marginalised: exact laws, counts that follow the labels, threads, edges."""

import numpy as np
import pytest
from scipy import stats

from pgbn.samplers.executor import Threads
from pgbn.samplers.first_layer.extra_terms import PseudoTopics
from pgbn.samplers.first_layer.loadings import draw_loadings, draw_phi
from pgbn.samplers.first_layer.one_layer import allocate_shared, weigh_words, word_weights
from pgbn.samplers.first_layer.tokens import RowPriors, count_words
from pgbn.samplers.first_layer.value_lists import empty_loadings, loadings_of
from pgbn.samplers.random import stream_key
from tests.helpers.label_corpus import (
    ETA,
    PRIORS,
    ROW,
    WORD,
    Corpus,
    check_first_labels,
    check_one_sweep,
    chi_square,
    dense_conditional,
    exact_posterior,
    wide_case,
    wide_phi,
)


@pytest.mark.parametrize("prior", PRIORS)
def test_one_sweep_has_the_exact_law(prior):
    check_one_sweep("partial", PRIORS[prior])


@pytest.mark.parametrize("listed", [pytest.param(True, marks=pytest.mark.long), False])
def test_long_chain_reaches_the_exact_posterior(listed):
    """Φ given the labels and the labels given Φ, in turn."""
    prior = np.array([[0.4, 0.9]])
    corpus = Corpus(WORD, ROW, 2, 2, 2, [0, 1, 0, 1])
    loadings = empty_loadings(np.array([[3, 1]]), 2, ETA, listed=listed)
    samples = []
    for sweep in range(24_000):
        count_words(0, 0, 2, *corpus.order, corpus.z, corpus.n_wk)
        draw_loadings(stream_key(4, sweep), corpus.n_wk, ETA, loadings)
        corpus.partial(stream_key(5, sweep), loadings, prior, 2)
        if sweep % 6 == 5:
            samples.append(corpus.z.copy())
    corpus.check(False)
    assert chi_square(np.array(samples), exact_posterior(prior), 2) > 1e-3


def test_first_label_of_a_wide_case():
    """Twenty-one topics, lists of several blocks: the law of the first label drawn."""
    word, row, z, prior = wide_case()
    replicates, topics = 20_000, prior.shape[1]
    phi = wide_phi(topics)
    corpus = Corpus(word, row, 3, 6, topics, np.tile(z, replicates), replicates)
    loadings = loadings_of(np.tile(phi, (replicates, 1, 1)))
    assert loadings.length.max() < topics
    corpus.partial(12, loadings, np.tile(prior, (replicates, 1)), 1)
    expected = dense_conditional("partial", 0, z, word, row, prior, phi, topics, 6)
    check_first_labels(corpus.z.reshape(replicates, -1), expected)


@pytest.mark.parametrize("scale", [1e-40, 1.0, 1e38], ids=["underflow", "singles", "overflow"])
@pytest.mark.parametrize("spread", [1.0, 8.0, 30.0])
def test_first_label_where_rows_share_the_prior(spread, scale):
    """The law of the first label drawn, also where sums of singles fail."""
    word, row, z, prior = wide_case(topics=37)  # two groups of prior sums
    replicates, topics, shared = 20_000, prior.shape[1], prior[:1]
    phi = np.exp(np.random.default_rng(2).normal(0.0, spread, (6, topics)))
    prior = shared / phi[word[0]] ** 0.7  # small values have large weights: they are drawn too
    corpus = Corpus(word, row, 3, 6, topics, np.tile(z, replicates), replicates)
    loadings = loadings_of(np.tile(phi, (replicates, 1, 1)), listed=False)
    loadings.scale[...] = scale
    corpus.partial(12, loadings, prior, 3 * replicates)
    corpus.check(False)
    rows = np.tile(prior, (3, 1))
    expected = dense_conditional("partial", 0, z, word, row, rows, phi, topics, 6)
    check_first_labels(corpus.z.reshape(replicates, -1), expected)


@pytest.mark.parametrize("listed", [False, True])
def test_counts_follow_the_labels_sweep_after_sweep(listed):
    word, row, z, prior = wide_case()
    prior = prior if listed else prior[:1]
    corpus = Corpus(word, row, 3, 6, prior.shape[1], z)
    words = np.bincount(word, minlength=6)[None]
    loadings = empty_loadings(words, prior.shape[1], 0.05, listed=listed)
    for sweep in range(50):
        count_words(0, 0, 6, *corpus.order, corpus.z, corpus.n_wk)
        draw_loadings(stream_key(21, sweep), corpus.n_wk, 0.05, loadings)
        corpus.partial(stream_key(22, sweep), loadings, prior, 1 if listed else 3)
        corpus.check(False)


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_no_bit(threads, listed):
    word, row, z, prior = wide_case()
    replicates = 30
    prior, share = (np.tile(prior, (replicates, 1)), 1) if listed else (prior[:1], 3 * replicates)
    labels = []
    for number in (1, threads):
        corpus = Corpus(word, row, 3, 6, prior.shape[1], np.tile(z, replicates), replicates)
        words = np.tile(np.bincount(word, minlength=6), (replicates, 1))
        loadings = empty_loadings(words, prior.shape[1], 0.05, listed=listed)
        draw_loadings(30, corpus.n_wk, 0.05, loadings, Threads(number))
        corpus.partial(32, loadings, prior, share, number)
        labels.append(corpus.z)
    np.testing.assert_array_equal(*labels)


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("topics", [1, 2, 9])
def test_rows_and_words_may_be_empty(topics, listed):
    corpus = Corpus([4, 4, 1], np.array([1, 1, 1]), 3, 5, topics, [0, 0, 0])
    phi = draw_phi(2, corpus.n_wk, 0.05, np.empty(corpus.n_wk.shape))
    corpus.partial(3, loadings_of(phi, listed=listed), np.full((1, topics), 0.1), 3)
    corpus.check(False)


@pytest.mark.parametrize("listed", [False, True])
def test_a_token_stays_where_no_other_topic_is_possible(listed):
    corpus = Corpus([0], np.array([0]), 1, 1, 3, [2])
    corpus.partial(1, loadings_of(np.ones((1, 1, 3)), listed=listed), np.zeros((1, 3)), 1)
    assert corpus.z[0] == 2
    # Φ is 0 where the prior is not: the label stays.
    phi = np.array([[[1.0, 0.0, 1.0]]])
    corpus.partial(3, loadings_of(phi, listed=listed), np.array([[0.0, 1e-300, 0.0]]), 1)
    assert corpus.z[0] == 2
    corpus.check(True)


@pytest.mark.parametrize("listed", [False, True])
def test_tiny_priors_are_not_lost_to_rounding(listed):
    """With m = 0 left, weights of 1e-30 decide, although 1 + 1e-30 = 1."""
    replicates = 4000
    corpus = Corpus([0], np.array([0]), 1, 1, 2, np.zeros(replicates), replicates)
    prior = np.array([[1e-30, 3e-30]])
    corpus.partial(6, loadings_of(np.ones((replicates, 1, 2)), listed=listed), prior, replicates)
    assert stats.binomtest(int(corpus.z.sum()), replicates, 0.75).pvalue > 1e-3
    # The same for a topic that is not listed: φ a = 2e-30 against 1e-30.
    loadings = loadings_of(np.tile([[1.0, 1e-3]], (replicates, 1, 1)), listed=listed)
    assert not listed or (loadings.length == 1).all()
    corpus = Corpus([0], np.array([0]), 1, 1, 2, np.zeros(replicates), replicates)
    corpus.partial(7, loadings, np.array([[1e-30, 2e-27]]), replicates)
    assert stats.binomtest(int(corpus.z.sum()), replicates, 2 / 3).pvalue > 1e-3


@pytest.mark.parametrize("beyond", [None, 0.3])
def test_a_word_that_no_topic_has(beyond: float | None) -> None:
    """It belongs to what is beside the topics; where there is nothing, its labels stay."""
    topics = 24
    z, word = np.arange(2 * topics) % topics, np.arange(2 * topics) % 2
    corpus = Corpus(word, np.zeros(2 * topics, np.int64), 1, 2, topics, z)
    loadings = loadings_of(np.array([[np.ones(topics), np.zeros(topics)]]), listed=False)
    prior = RowPriors(np.full((1, topics), 0.1), 1)
    pseudo = None if beyond is None else PseudoTopics(np.ones((1, 1)), np.array([[0.0], [beyond]]))
    words = weigh_words(loadings, prior, 1, word_weights(2, topics))
    allocate_shared(np.uint64(5), 0, 1, corpus.tokens, corpus.z, loadings, corpus.m, prior, words,
                    pseudo)  # fmt: skip
    expected = z[1::2] if beyond is None else np.full(topics, topics)
    np.testing.assert_array_equal(corpus.z[1::2], expected)
    assert (corpus.z[::2] < topics).all()
    np.testing.assert_array_equal(corpus.m[0], np.bincount(corpus.z, minlength=topics + 1)[:topics])
