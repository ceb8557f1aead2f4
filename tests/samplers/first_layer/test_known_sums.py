"""Cells whose rates are known: their sums, and how they are split."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn.samplers.first_layer.blocked import cell_sums, padded_topics, split_all_cells
from pgbn.samplers.first_layer.extra_terms import PseudoTopics
from pgbn.samplers.first_layer.value_lists import loadings_of
from pgbn.samplers.thinning import SparseCounts

ONES = SparseCounts(np.array([0, 2, 4]), np.array([0, 1, 0, 1], np.int32), np.ones(4, int))
PSEUDO = PseudoTopics(np.array([[0.5, 0.2], [1.0, 0.3]]), np.array([[0.4, 1.0], [2.0, 0.0]]))


@pytest.mark.parametrize("topics", [2, 8, 19])
def test_the_sums_of_cells(topics: int) -> None:
    rng = np.random.default_rng(topics)
    phi, theta, out = rng.random((1, 2, topics)), rng.random((2, topics)), np.empty(4)
    padded = padded_topics(loadings_of(phi.copy()))
    cell_sums(np.uint64(0), 0, 2, ONES, 2, 2, padded, theta, PSEUDO, out)
    assert np.allclose(out.reshape(2, 2), theta @ phi[0].T + PSEUDO.row @ PSEUDO.word.T)
    cell_sums(np.uint64(0), 0, 2, ONES, 2, 2, padded, theta, None, out)
    assert np.allclose(out.reshape(2, 2), theta @ phi[0].T)


@pytest.mark.parametrize("topics", [3, 8, 19])
@pytest.mark.parametrize("count", [2, 400])
def test_the_split_is_multinomial(topics: int, count: int) -> None:
    rng = np.random.default_rng(topics)
    phi, theta = rng.random((1, 2, topics)), rng.random((2, topics))
    phi[0, :, 1] = 0.0
    loadings, sums = loadings_of(phi.copy()), np.empty(4)
    cells = ONES._replace(data=np.full(4, count))
    padded = padded_topics(loadings)
    cell_sums(np.uint64(0), 0, 2, cells, 2, 2, padded, theta, None, sums)
    n, m = np.zeros((1, 2, topics), np.int64), np.zeros((2, topics), np.int64)
    total = np.zeros((2, topics))
    for key in range(40_000 // count):
        split_all_cells(key, cells, loadings, theta, n, m, known=(padded, sums))
        assert n.sum() == m.sum() == 4 * count
        total += m
    law = phi * theta[:, None, :] / sums.reshape(2, 2, 1)
    assert not total[:, 1].any()
    assert np.allclose(total / 80_000, law.sum(axis=1) / 2, atol=0.012)


def test_a_cell_without_any_weight_keeps_its_count() -> None:
    """All products underflowed: some topic must have the count."""
    loadings = loadings_of(np.full((1, 2, 3), 0.5))
    n, m = np.zeros((1, 2, 3), np.int64), np.zeros((2, 3), np.int64)
    split_all_cells(0, ONES, loadings, np.zeros((2, 3)), n, m,
                    known=(padded_topics(loadings), np.zeros(4)))  # fmt: skip
    assert n.sum() == m.sum() == 4
