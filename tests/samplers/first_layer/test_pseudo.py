"""Pseudo-topics: the further terms of a rate, in every kernel that draws labels."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from scipy import stats

from pgbn.samplers.executor import Threads
from pgbn.samplers.first_layer.blocked import cell_sums, draw_labels, padded_topics, split_all_cells
from pgbn.samplers.first_layer.collapsed import (
    Labelling,
    allocate_collapsed,
    dense_counts,
    smoothing_of,
    word_topics,
)
from pgbn.samplers.first_layer.extra_terms import PseudoTopics, count_pseudo, pseudo_weight
from pgbn.samplers.first_layer.one_layer import allocate_shared, weigh_words, word_weights
from pgbn.samplers.first_layer.partial import allocate_partial
from pgbn.samplers.first_layer.tokens import RowPriors, Tokens, count_rows
from pgbn.samplers.first_layer.value_lists import loadings_of
from pgbn.samplers.thinning import SparseCounts

PHI = np.array([[[0.7, 0.2], [0.3, 0.8]]])
THETA = np.array([[1.0, 2.0], [0.5, 0.1]])
PSEUDO = PseudoTopics(np.array([[0.5, 0.2], [1.0, 0.3]]), np.array([[0.4, 1.0], [2.0, 0.0]]))
ROWS = 4000  # copies of each of the two rows, with one token of each word


def many() -> tuple[Tokens, PseudoTopics, np.ndarray]:
    """Rows 2i and 2i + 1 are copies of the two, each with the words 0 and 1."""
    tokens = Tokens(np.arange(0, 4 * ROWS + 1, 2), np.tile(np.array([0, 1], np.int32), 2 * ROWS))
    return (
        tokens,
        PseudoTopics(np.tile(PSEUDO.row, (ROWS, 1)), PSEUDO.word),
        np.tile(THETA, (ROWS, 1)),
    )


def expected(row: int, word: int, weight: np.ndarray) -> np.ndarray:
    products = np.concatenate((PHI[0, word] * weight, PSEUDO.row[row] * PSEUDO.word[word]))
    return products / products.sum()


def check(labels: np.ndarray, row: int, word: int, law: np.ndarray) -> None:
    found = np.bincount(labels.reshape(ROWS, 2, 2)[:, row, word], minlength=4)
    possible = law > 0
    assert not found[~possible].any()
    assert stats.chisquare(found[possible], ROWS * law[possible]).pvalue > 1e-4


@pytest.mark.parametrize("row", [0, 1])
@pytest.mark.parametrize("word", [0, 1])
def test_labels_given_topics_and_scores(row: int, word: int) -> None:
    tokens, pseudo, theta = many()
    labels = np.zeros(tokens.word.size, np.uint16)
    draw_labels(np.uint64(3), 0, 2 * ROWS, tokens, loadings_of(PHI.copy()), theta, labels, pseudo)
    check(labels, row, word, expected(row, word, THETA[row]))


@pytest.mark.parametrize("listed", [False, True])
def test_the_first_token_of_a_row_given_topics_alone(listed: bool) -> None:
    """The label of word 0 given that word 1 has the topic 1: P(k) ∝ φ_k (m_k + a_k)."""
    tokens, pseudo, _ = many()
    labels = np.tile(np.array([3, 1], np.uint16), 2 * ROWS)
    m = np.zeros((2 * ROWS, 2), np.int32)
    count_rows(np.uint64(0), 0, 2 * ROWS, tokens.row_start, labels, m)
    assert m.sum() == 2 * ROWS
    prior = RowPriors(np.array([[0.3, 0.6]]), 2 * ROWS)
    loadings = loadings_of(PHI.copy(), listed=listed)
    given = (np.uint64(4), 0, 2 * ROWS, tokens, labels, loadings, m, prior)
    if listed:
        allocate_partial(*given, pseudo)
    else:
        words = weigh_words(loadings, prior, 2 * ROWS, word_weights(2, 2))
        allocate_shared(*given, words, pseudo)
    for row in (0, 1):
        check(labels, row, 0, expected(row, 0, np.array([0.3, 1.6])))
    again = np.zeros_like(m)
    count_rows(np.uint64(0), 0, 2 * ROWS, tokens.row_start, labels, again)
    assert np.array_equal(m, again)


def test_collapsed_labels_and_their_lists() -> None:
    """Each replicate is one document of three tokens; the first of them is drawn given the others."""
    replicates = 6000
    tokens = Tokens(
        np.arange(0, 3 * replicates + 1, 3), np.tile(np.array([0, 0, 1], np.int32), replicates)
    )
    labels = np.tile(np.array([2, 0, 1], np.uint16), replicates)
    table = word_topics(tokens, labels, 1, 2, 2)
    m = np.zeros((replicates, 2), np.int32)
    count_rows(np.uint64(0), 0, replicates, tokens.row_start, labels, m)
    labelling = Labelling(labels, table, m.copy(), m)
    pseudo = PseudoTopics(np.full((replicates, 2), 0.5), np.tile(PSEUDO.word, (replicates, 1)))
    prior = RowPriors(np.array([[0.3, 0.6]]), replicates)
    eta = np.array([[0.5, 1.5]])
    allocate_collapsed(np.uint64(9), 0, replicates, tokens, labelling, prior,
                       smoothing_of(eta, replicates, 2), pseudo)  # fmt: skip
    weight = np.concatenate((
        (eta[0, 0] + np.array([1, 0])) / (2.0 + 1.0) * np.array([1.3, 1.6]), 0.5 * PSEUDO.word[0]
    ))  # fmt: skip
    found = np.bincount(labels[::3], minlength=4)
    assert stats.chisquare(found, replicates * weight / weight.sum()).pvalue > 1e-4
    dense = np.zeros((replicates, 2, 2), np.int32)
    dense_counts(table, dense)
    fresh = np.zeros_like(dense)
    dense_counts(word_topics(tokens, labels, 1, 2, 2), fresh)
    assert np.array_equal(dense, fresh)
    assert np.array_equal(dense.sum(axis=1), labelling.n_k)


@pytest.mark.parametrize("count", [3, 50])  # token by token, and by binomials
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("known", [True, False])
def test_cells_are_split_among_topics_and_terms(count: int, workers: int, known: bool) -> None:
    cells = SparseCounts(np.array([0, 2, 4]), np.array([0, 1, 0, 1], np.int32), np.full(4, count))
    split = PseudoTopics(np.zeros((2, 2), int), np.zeros((2, 2), int))
    means, topics = np.zeros((2, 2)), np.zeros((2, 2))
    n, m = np.zeros((1, 2, 2), np.int32), np.zeros((2, 2), np.int32)
    loadings, sums = loadings_of(PHI.copy()), np.empty(4)
    topical = padded_topics(loadings)
    cell_sums(np.uint64(0), 0, 2, cells, 2, 2, topical, THETA, PSEUDO, sums)
    for key in range(600):
        split_all_cells(key, cells, loadings, THETA, n, m, Threads(workers), PSEUDO, split,
                        (topical, sums) if known else None)  # fmt: skip
        assert n.sum() + split.word.sum() == m.sum() + split.row.sum() == 4 * count
        assert split.word[1, 1] == 0
        means += split.row / 600
        topics += m / 600
    law = count * np.sum(
        [[expected(row, word, THETA[row]) for word in (0, 1)] for row in (0, 1)], axis=1
    )
    assert np.allclose(means, law[:, 2:], rtol=0.1)
    assert np.allclose(topics, law[:, :2], rtol=0.1)


def test_tokens_of_terms_are_counted() -> None:
    tokens = Tokens(np.array([0, 2, 3]), np.array([0, 1, 1], np.int32))
    row, word = np.full((2, 2), 9), np.full((2, 2), 9)
    count_pseudo(tokens, np.array([2, 0, 3], np.uint16), 2, 2, 2, row, word)
    assert row.tolist() == [[1, 0], [0, 1]]
    assert word.tolist() == [[1, 0], [0, 1]]


def test_without_further_terms_the_weight_is_nothing() -> None:
    weight = njit(lambda pseudo, row, slot: pseudo_weight(pseudo, row, slot))
    assert weight(None, 0, 0) == 0.0
    assert weight(PSEUDO, 0, 0) == pytest.approx(0.5 * 0.4 + 0.2)
