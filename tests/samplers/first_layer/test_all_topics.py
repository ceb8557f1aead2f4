"""Rows with many topics, by the bytes of all of them: exact laws, also where sums of singles fail."""

import numpy as np
import pytest

from pgbn.samplers.first_layer.extra_terms import PseudoTopics
from pgbn.samplers.first_layer.one_layer import allocate_shared
from pgbn.samplers.first_layer.tokens import RowPriors
from pgbn.samplers.first_layer.value_lists import loadings_of, prior_sums
from tests.helpers.label_corpus import Corpus, check_first_labels, dense_conditional

TOPICS = 24  # a row that has all of them has many: more than 24 // 8 + 13


@pytest.mark.parametrize("scale", [1e-40, 1.0, 1e38], ids=["underflow", "singles", "overflow"])
def test_the_first_label_has_the_exact_law(scale: float) -> None:
    rng = np.random.default_rng(3)
    z, word, row = np.arange(40) % TOPICS, rng.integers(0, 3, 40), np.zeros(40, np.int64)
    phi, prior = rng.gamma(0.2, size=(3, TOPICS)), rng.gamma(0.5, size=(1, TOPICS))
    replicates = 20_000
    corpus = Corpus(word, row, 1, 3, TOPICS, np.tile(z, replicates), replicates)
    loadings = loadings_of(np.tile(phi, (replicates, 1, 1)), coded=True)
    loadings.scale[...] = scale
    corpus.partial(8, loadings, prior, replicates)
    corpus.check(False)
    expected = dense_conditional("partial", 0, z, word, row, prior, phi, TOPICS, 3)
    check_first_labels(corpus.z.reshape(replicates, -1), expected)


@pytest.mark.parametrize("beyond", [None, 0.3])
def test_a_word_that_no_topic_has(beyond: float | None) -> None:
    """It belongs to what is beside the topics; where there is nothing, its labels stay."""
    z, word = np.arange(2 * TOPICS) % TOPICS, np.arange(2 * TOPICS) % 2
    corpus = Corpus(word, np.zeros(2 * TOPICS, np.int64), 1, 2, TOPICS, z)
    loadings = loadings_of(np.array([[np.ones(TOPICS), np.zeros(TOPICS)]]), coded=True)
    prior = RowPriors(np.full((1, TOPICS), 0.1), 1)
    pseudo = None if beyond is None else PseudoTopics(np.ones((1, 1)), np.array([[0.0], [beyond]]))
    known = prior_sums(loadings, prior, 1)
    allocate_shared(np.uint64(5), 0, 1, corpus.tokens, corpus.z, loadings, corpus.m, prior, known,
                    pseudo)  # fmt: skip
    expected = z[1::2] if beyond is None else np.full(TOPICS, TOPICS)
    np.testing.assert_array_equal(corpus.z[1::2], expected)
    assert (corpus.z[::2] < TOPICS).all()
    np.testing.assert_array_equal(corpus.m[0], np.bincount(corpus.z, minlength=TOPICS + 1)[:TOPICS])
