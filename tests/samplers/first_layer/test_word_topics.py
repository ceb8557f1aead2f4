"""The lists of a word's topics."""

from __future__ import annotations

import numpy as np

from pgbn.samplers.first_layer.collapsed import dense_counts, word_topics
from pgbn.samplers.first_layer.tokens import Tokens


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
