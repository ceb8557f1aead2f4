"""Counts written out as tokens, sorted by word, and counted by their labels; lists of topics."""

import numpy as np

from pgbn.samplers.first_layer.collapsed import dense_counts, word_topics
from pgbn.samplers.first_layer.tokens import (
    Tokens,
    add_words,
    count_rows,
    count_words,
    expand,
    word_order,
)


def test_a_row_is_written_out_in_the_order_of_the_matrix():
    tokens = expand(np.array([0, 0, 2, 2]), np.array([4, 1]), np.array([2, 1], np.uint8))
    np.testing.assert_array_equal(tokens.row_start, [0, 0, 3, 3])
    np.testing.assert_array_equal(tokens.word, [4, 4, 1])


def test_tokens_are_sorted_by_replicate_and_word():
    tokens = expand(np.array([0, 2, 3, 5]), np.array([1, 0, 1, 0, 1]), np.array([2, 1, 1, 1, 1]))
    order = word_order(tokens, 3, 2)
    np.testing.assert_array_equal(order.start, [0, 2, 6])
    np.testing.assert_array_equal(order.token, [2, 4, 0, 1, 3, 5])
    apart = word_order(tokens, 1, 2)  # every row a replicate of its own
    np.testing.assert_array_equal(apart.start, [0, 1, 3, 3, 4, 5, 6])
    np.testing.assert_array_equal(apart.token, [2, 0, 1, 3, 4, 5])


def test_labels_are_counted_by_row_and_by_word():
    rng = np.random.default_rng(0)
    x = rng.poisson(1.0, (4, 5))
    row, column = np.nonzero(x)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=4))))
    tokens = expand(indptr, column, x[row, column])
    z = rng.integers(0, 3, tokens.word.size)
    m, n_wk = np.full((4, 3), -1), np.full((2, 5, 3), -1)
    count_rows(0, 0, 4, tokens.row_start, z, m)
    count_words(0, 0, 10, *word_order(tokens, 2, 5), z, n_wk)
    rows = np.repeat(np.arange(4), np.diff(tokens.row_start))
    for k in range(3):
        np.testing.assert_array_equal(m[:, k], np.bincount(rows[z == k], minlength=4))
        words = (rows // 2 * 5 + tokens.word)[z == k]
        np.testing.assert_array_equal(n_wk[:, :, k].ravel(), np.bincount(words, minlength=10))
    by_rows = np.zeros_like(n_wk)
    for rows, part in (((0, 4), (0, 7)), ((0, 1), (7, 10)), ((1, 4), (7, 10))):
        add_words(*rows, *part, 2, tokens, z, by_rows)
    np.testing.assert_array_equal(by_rows, n_wk)


def test_lists_hold_the_counts_large_ones_first_and_no_pseudo_topics() -> None:
    words = np.array([0, 0, 0, 1, 0], np.int32)
    labels = np.array([1, 2, 2, 0, 3], np.uint16)  # of three topics: 3 is none
    table = word_topics(Tokens(np.array([0, 5]), words), labels, 1, 2, 3)
    assert table.length.tolist() == [2, 1]
    assert table.topic[:2].tolist() == [2, 1]
    assert table.count[:2].tolist() == [2, 1]
    assert table.place[:3].tolist() == [1, 0, 0]
    dense = np.full((1, 2, 3), 9, np.int32)
    dense_counts(table, dense)
    assert dense.tolist() == [[[0, 1, 2], [1, 0, 0]]]
