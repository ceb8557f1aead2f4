"""Weighted sets: sums and shares against dense matrices and exact probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from pgbn.samplers.thinning import Factors, SparseWeights, sum_weighted, thin_weighted

MATRIX = np.array([[0.5, 0.5, 0], [0, 0, 0], [0.2, 0.3, 0.5]])


def weights(matrix: np.ndarray) -> SparseWeights:
    rows = csr_array(matrix)
    return SparseWeights(rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data)


def test_rows_are_sums_of_their_entries() -> None:
    value, out = np.random.default_rng(0).random((2, 3, 4)), np.empty((2, 3, 4))
    sum_weighted(np.uint64(0), 0, 6, weights(MATRIX), value, out)
    np.testing.assert_allclose(out, MATRIX @ value, rtol=1e-15)


@pytest.mark.parametrize("cut", [3, 1])
def test_counts_go_to_the_entries_of_their_row(cut: int) -> None:
    """Σ_c n_ic = n_i, in the proportions of w_ic θ_c, the same for any blocks of rows."""
    theta, total = np.array([1.0, 3.0, 2.0]), 40_000
    counts = np.array([[total], [0], [total]])
    factors = Factors(  # one factor θ_c, the same in every row
        (theta,), np.zeros((1, 4), np.int64), np.arange(3)[None].astype(np.int64),
        np.array([3, 1], np.int64),
    )  # fmt: skip
    found = np.zeros(3, np.int64)
    for start, stop in ((0, cut), (cut, 3)):
        thin_weighted(np.uint64(7), start, stop, counts, weights(MATRIX), 1, factors, (found,))
    assert found.sum() == 2 * total
    share = MATRIX[[0, 2]] * theta
    p = (share / share.sum(axis=1, keepdims=True)).sum(axis=0)
    spread = np.sqrt(total * 0.5)
    assert np.all(np.abs(found - total * p) < 4 * spread), (found, total * p)
    whole = np.zeros(3, np.int64)
    thin_weighted(np.uint64(7), 0, 3, counts, weights(MATRIX), 1, factors, (whole,))
    assert np.array_equal(found, whole)
