"""Counts of sums of products shared out among the summands, dense and sparse."""

import numpy as np
import pytest

from pgbn.samplers.thinning import Factors, SparseCounts, cell_rates, thin_cells, thin_dense
from tests.helpers.means import close

REPEATS = 4000
NONE = np.zeros(0, np.int64)  # rows are numbered 0, 1, …


def case():
    """Counts (1, 2, 3, 4) of Σ_k a[j, i, k] b[v, k], the entry (0, 0, 1) of a being 0."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(1.0, (1, 2, 3, 4))
    counts[0, 0, 0, 1], counts[0, 1, 2] = 30, 0
    a, b = rng.gamma(0.5, size=(2, 3, 5)), rng.gamma(0.5, size=(4, 5))
    a[0, 0, 1] = 0.0
    strides = np.array([[0, 15, 5, 0], [0, 0, 0, 5]])
    offsets = np.tile(np.arange(5), (2, 1))
    return counts, Factors((a.reshape(-1), b.reshape(-1)), strides, offsets, np.array([2, 3]))


def weights(factors):
    a, b = factors.array
    return a.reshape(2, 3, 1, 5) * b.reshape(4, 5)


@pytest.mark.parametrize("sparse", [False, True])
def test_shares_have_the_exact_mean(sparse):
    counts, factors = case()
    flat = counts.reshape(6, 4)
    row, column = np.nonzero(flat)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=6))))
    cells = SparseCounts(indptr, column, flat[row, column])
    to_a, to_b = np.zeros((REPEATS, 30), np.int64), np.zeros((REPEATS, 20), np.int64)
    for i in range(REPEATS):
        kernel, given = (thin_cells, (cells, NONE)) if sparse else (thin_dense, (flat,))
        kernel(np.uint64(i), 0, 6, *given, factors, (to_a[i], to_b[i]))
    product = weights(factors)
    mean = counts[0][..., None] * product / product.sum(axis=-1, keepdims=True)
    # Sums of Bernoulli variables: the variance is at most the mean.
    assert close(to_a, mean.sum(axis=2).ravel(), mean.sum(axis=2).ravel(), 5)
    assert close(to_b, mean.sum(axis=(0, 1)).ravel(), mean.sum(axis=(0, 1)).ravel(), 5)
    assert (to_a.sum(axis=1) == counts.sum()).all()
    assert not to_a[:, 1].any()


def test_dense_and_sparse_counts_are_thinned_alike():
    counts, factors = case()
    flat = counts.reshape(6, 4)
    row, column = np.nonzero(flat)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=6))))
    results = []
    for kernel, given in (
        (thin_dense, (flat,)),
        (thin_cells, (SparseCounts(indptr, column, flat[row, column]), NONE)),
    ):
        targets = (np.zeros(30, np.int64), np.zeros(20, np.int64))
        kernel(np.uint64(3), 0, 6, *given, factors, targets)
        results.append(targets)
    for dense, sparse in zip(*results, strict=True):
        np.testing.assert_array_equal(dense, sparse)


def test_a_factor_without_a_target_is_left_out():
    counts, factors = case()
    both, one = np.zeros(30, np.int64), np.zeros(30, np.int64)
    thin_dense(np.uint64(3), 0, 6, counts.reshape(6, 4), factors, (both, np.zeros(20, np.int64)))
    thin_dense(np.uint64(3), 0, 6, counts.reshape(6, 4), factors, (one, np.zeros(0, np.int64)))
    np.testing.assert_array_equal(both, one)


def test_rates_of_cells():
    _, factors = case()
    indptr, indices = np.array([0, 1, 1, 3, 3, 3, 4]), np.array([2, 0, 3, 1])
    out = np.empty(4)
    cell_rates(0, 6, indptr, indices, NONE, factors, out)
    sums = weights(factors).sum(axis=-1).reshape(6, 4)
    np.testing.assert_allclose(out, sums[[0, 2, 2, 5], indices], rtol=1e-14)


def test_rows_with_numbers_are_those_of_the_whole():
    counts, factors = case()
    flat = counts.reshape(6, 4)
    row, column = np.nonzero(flat)
    stored, number = np.unique(row, return_inverse=True)
    starts = np.concatenate(([0], np.cumsum(np.bincount(number))))
    whole, some = np.zeros(30, np.int64), np.zeros(30, np.int64)
    thin_dense(np.uint64(3), 0, 6, flat, factors, (whole, NONE))
    cells = SparseCounts(starts, column, flat[row, column])
    thin_cells(np.uint64(3), 0, stored.size, cells, stored, factors, (some, NONE))
    np.testing.assert_array_equal(whole, some)
    rates = np.empty(row.size)
    cell_rates(0, stored.size, starts, column, stored, factors, rates)
    sums = weights(factors).sum(axis=-1).reshape(6, 4)
    np.testing.assert_allclose(rates, sums[row, column], rtol=1e-14)
