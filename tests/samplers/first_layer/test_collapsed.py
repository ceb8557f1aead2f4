"""Labels with Φ and θ marginalised: exact laws, counts that follow the labels, threads, edges."""

import numpy as np
import pytest
from scipy import stats

from pgbn.samplers.random import stream_key
from tests.helpers.label_corpus import (
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
)


@pytest.mark.parametrize("prior", PRIORS)
def test_one_sweep_has_the_exact_law(prior):
    check_one_sweep("collapsed", PRIORS[prior])


def test_long_chain_reaches_the_exact_posterior():
    prior = np.array([[0.4, 0.9]])
    corpus = Corpus(WORD, ROW, 2, 2, 2, [0, 1, 0, 1])
    samples = []
    for sweep in range(24_000):
        corpus.collapsed(stream_key(3, sweep), prior, 2)
        if sweep % 6 == 5:
            samples.append(corpus.z.copy())
    corpus.check(True)
    assert chi_square(np.array(samples), exact_posterior(prior), 2) > 1e-3


def test_first_label_of_a_wide_case():
    """Twenty-one topics, lists of several blocks: the law of the first label drawn."""
    word, row, z, prior = wide_case()
    replicates, topics = 20_000, prior.shape[1]
    corpus = Corpus(word, row, 3, 6, topics, np.tile(z, replicates), replicates)
    corpus.collapsed(11, np.tile(prior, (replicates, 1)), 1)
    expected = dense_conditional("collapsed", 0, z, word, row, prior, None, topics, 6)
    check_first_labels(corpus.z.reshape(replicates, -1), expected)


def test_counts_follow_the_labels_sweep_after_sweep():
    word, row, z, prior = wide_case()
    corpus = Corpus(word, row, 3, 6, prior.shape[1], z)
    for sweep in range(50):
        corpus.collapsed(stream_key(20, sweep), prior, 1)
        corpus.check(True)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_no_bit(threads):
    word, row, z, prior = wide_case()
    replicates = 30
    labels = []
    for number in (1, threads):
        corpus = Corpus(word, row, 3, 6, prior.shape[1], np.tile(z, replicates), replicates)
        corpus.collapsed(33, np.tile(prior, (replicates, 1)), 1, threads=number)
        labels.append(corpus.z)
    np.testing.assert_array_equal(*labels)


@pytest.mark.parametrize("topics", [1, 2, 9])
def test_rows_and_words_may_be_empty(topics):
    corpus = Corpus([4, 4, 1], np.array([1, 1, 1]), 3, 5, topics, [0, 0, 0])
    corpus.collapsed(1, np.full((1, topics), 0.1), 3)
    corpus.check(True)


def test_a_token_stays_where_no_other_topic_is_possible():
    corpus = Corpus([0], np.array([0]), 1, 1, 3, [2])
    corpus.collapsed(1, np.zeros((1, 3)), 1)
    assert corpus.z[0] == 2
    corpus.check(True)
    # Prior 0 but for one topic: the token moves there, and only there.
    corpus.collapsed(2, np.array([[0.0, 1e-300, 0.0]]), 1)
    assert corpus.z[0] == 1
    corpus.check(True)


def test_tiny_priors_are_not_lost_to_rounding():
    """With m = 0 left, weights of 1e-30 decide, although 1 + 1e-30 = 1."""
    replicates = 4000
    prior = np.array([[1e-30, 3e-30]])
    corpus = Corpus([0], np.array([0]), 1, 1, 2, np.zeros(replicates), replicates)
    corpus.collapsed(5, np.tile(prior, (replicates, 1)), 1)
    assert stats.binomtest(int(corpus.z.sum()), replicates, 0.75).pvalue > 1e-3
