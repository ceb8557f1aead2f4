"""Counts of sums of products shared out among the summands, and the rates of sparse cells."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import binom

from pgbn.samplers import Stream, share_out
from pgbn.samplers.executor import Threads
from pgbn.samplers.thinning import (
    Factors,
    SparseCounts,
    SparseWeights,
    cell_rates,
    column_rates,
    product_rates,
    scatter_add,
    sum_weighted,
    thin_cells,
    thin_dense,
    thin_weighted,
)
from pgbn.testing import z_counts
from tests.helpers.means import close

REPEATS = 4000
NONE = np.zeros(0, np.int64)  # rows are numbered 0, 1, …


def case():
    """Counts of Σ_k a[j, i, k] b[v, k], dense (6, 4) and sparse; the entry (0, 0, 1) of a is 0."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(1.0, (6, 4))
    counts[0, 1], counts[5] = 30, 0
    a, b = rng.gamma(0.5, size=(2, 3, 5)), rng.gamma(0.5, size=(4, 5))
    a[0, 0, 1] = 0.0
    strides, offsets = np.array([[0, 15, 5, 0], [0, 0, 0, 5]]), np.tile(np.arange(5), (2, 1))
    factors = Factors((a.reshape(-1), b.reshape(-1)), strides, offsets, np.array([2, 3]))
    stored = csr_array(counts)
    return counts, SparseCounts(stored.indptr, stored.indices, stored.data), factors


def weights(factors):
    a, b = factors.array
    return (a.reshape(2, 3, 1, 5) * b.reshape(4, 5)).reshape(6, 4, 5)


def test_shares_have_the_exact_mean_dense_or_sparse():
    """Sums of Bernoulli variables: the variance is at most the mean."""
    counts, cells, factors = case()
    to_a, to_b = np.zeros((REPEATS, 30), np.int64), np.zeros((REPEATS, 20), np.int64)
    for i in range(REPEATS):
        thin_dense(np.uint64(i), 0, 6, counts, factors, (to_a[i], to_b[i]))
    product = weights(factors)
    mean = counts[..., None] * product / product.sum(axis=-1, keepdims=True)
    for found, over in ((to_a, 1), (to_b, 0)):
        assert close(found, mean.sum(axis=over).ravel(), mean.sum(axis=over).ravel(), 5)
    assert (to_a.sum(axis=1) == counts.sum()).all()
    assert not to_a[:, 1].any()
    again = np.zeros((2, 30), np.int64)
    for i in range(2):  # a factor without a target is left out
        thin_cells(np.uint64(i), 0, 6, cells, NONE, factors, (again[i], NONE))
    np.testing.assert_array_equal(again, to_a[:2])


def test_rows_with_numbers_are_those_of_all():
    counts, cells, factors = case()
    every, some = np.zeros(30, np.int64), np.zeros(30, np.int64)
    thin_dense(np.uint64(3), 0, 6, counts, factors, (every, NONE))
    stored = np.flatnonzero(counts.any(axis=1))
    given = cells._replace(indptr=np.append(cells.indptr[stored], cells.data.size))
    thin_cells(np.uint64(3), 0, stored.size, given, stored, factors, (some, NONE))
    np.testing.assert_array_equal(every, some)


def test_rates_of_cells():
    _, cells, factors = case()
    out = np.empty(cells.data.size)
    cell_rates(0, 6, cells.indptr, cells.indices, NONE, factors, out)
    row = np.repeat(np.arange(6), np.diff(cells.indptr))
    np.testing.assert_allclose(out, weights(factors).sum(axis=-1)[row, cells.indices], rtol=1e-14)


@pytest.mark.parametrize("copies", [1, 3])
def test_rows_are_added_to_their_entries(copies):
    rng = np.random.default_rng(copies)
    place, value = rng.integers(0, 4, (copies, 10)), rng.random((3, 10, 2))
    out, expected = np.zeros((3, 4, 2)), np.zeros((3, 4, 2))
    scatter_add(place, value, out)
    for r in range(3):
        np.add.at(expected[r], place[r % copies], value[r])
    assert np.array_equal(out, expected)


# ---- weighted sets ----------------------------------------------------------------------

MATRIX = np.array([[0.5, 0.5, 0], [0, 0, 0], [0.2, 0.3, 0.5]])
STORED = csr_array(MATRIX)
WEIGHTS = SparseWeights(
    STORED.indptr.astype(np.int64), STORED.indices.astype(np.int64), STORED.data
)


def test_rows_are_sums_of_their_entries():
    value, out = np.random.default_rng(0).random((2, 3, 4)), np.empty((2, 3, 4))
    sum_weighted(np.uint64(0), 0, 6, WEIGHTS, value, out)
    np.testing.assert_allclose(out, MATRIX @ value, rtol=1e-15)


def test_counts_go_to_the_entries_of_their_row():
    """Σ_c n_ic = n_i, in the proportions of w_ic θ_c, the same for any blocks of rows."""
    theta, total = np.array([1.0, 3.0, 2.0]), 40_000
    counts = np.array([[total], [0], [total]])
    factors = Factors(  # one factor θ_c, the same in every row
        (theta,), np.zeros((1, 4), np.int64), np.arange(3)[None].astype(np.int64),
        np.array([3, 1], np.int64),
    )  # fmt: skip
    found = np.zeros((2, 3), np.int64)
    for i, cut in enumerate((3, 1)):
        for start, stop in ((0, cut), (cut, 3)):
            thin_weighted(np.uint64(7), start, stop, counts, WEIGHTS, 1, factors, (found[i],))
    assert np.array_equal(*found)
    share = MATRIX[[0, 2]] * theta
    p = (share / share.sum(axis=1, keepdims=True)).sum(axis=0)
    assert found[0].sum() == 2 * total
    assert (np.abs(found[0] - total * p) < 4 * np.sqrt(total * 0.5)).all()


# ---- rates where one factor belongs to the column ---------------------------------------

ROWS, COLUMNS, SUMMANDS = 9, 23, 37
RNG = np.random.default_rng(0)
INDPTR = np.cumsum(
    [0, *range(ROWS)]
)  # rows with 0, 1, 2, … cells: every rest of a division by four
INDICES = np.concatenate([RNG.choice(COLUMNS, n, replace=False) for n in range(ROWS)]).astype(
    np.int32
)
CELLS = np.repeat(range(ROWS), range(ROWS)), INDICES


def factors_of(u, w, by_column=True):
    """Σ_c u[row, c] w[column, c], w stored as (column, c) or as (c, column)."""
    step, place = (SUMMANDS, 1) if by_column else (1, COLUMNS)
    summands = np.arange(SUMMANDS)
    return Factors(
        (np.ascontiguousarray(w if by_column else w.T).reshape(-1), u.reshape(-1)),
        np.array([[0, 0, 0, step], [0, 0, SUMMANDS, 0]]),
        np.array([summands * place, summands]),
        np.array([1, ROWS]),
    )


def rates(made, indptr=INDPTR, indices=INDICES, own=0, numbers=NONE):
    """By `column_rates`, which must have the bits of `cell_rates`."""
    out = np.full((2, indices.size), np.nan)
    cell_rates(0, indptr.size - 1, indptr, indices, numbers, made, out[0])
    column_rates(0, indptr.size - 1, indptr, indices, numbers, made, own, out[1])
    np.testing.assert_array_equal(out[0], out[1])
    return out[1]


@pytest.mark.parametrize("by_column", [True, False])
def test_rates_are_the_sums(by_column):
    u, w = RNG.gamma(0.5, size=(ROWS, SUMMANDS)), RNG.gamma(0.5, size=(COLUMNS, SUMMANDS))
    np.testing.assert_allclose(rates(factors_of(u, w, by_column)), (u @ w.T)[CELLS])
    for threads in (1, 3):
        found = product_rates((INDPTR, INDICES), u, w, Threads(threads))
        np.testing.assert_array_equal(found, rates(factors_of(u, w)))


@pytest.mark.parametrize("power", [5, 50, 400])
def test_summands_that_cannot_be_seen_are_left_out_and_no_others(power):
    """Products from 1 down to 0: some cells have nothing but tiny ones, which must be there."""
    u, w = RNG.random((ROWS, SUMMANDS)) ** power, RNG.random((COLUMNS, SUMMANDS)) ** power
    u[2], u[3, 1:], w[5] = 1e-160, 0.0, 1e-200
    assert (rates(factors_of(u, w))[1:3] > 0).all()


def test_large_factors_and_no_numbers_are_seen():
    u, w = RNG.random((ROWS, SUMMANDS)) * 1e-155, RNG.random((COLUMNS, SUMMANDS)) * 1e200
    assert (rates(factors_of(u, w)) > 1e40).all()
    u[4, 7] = np.nan
    np.testing.assert_array_equal(np.isnan(rates(factors_of(u, w))), CELLS[0] == 4)


def test_several_factors_of_the_row_and_rows_with_numbers():
    indptr, indices = np.array([0, 3, 8]), np.array([1, 5, 2, 0, 9, 4, 22, 7], np.int32)
    u, w = RNG.random((ROWS, SUMMANDS)), RNG.random((COLUMNS, SUMMANDS))
    pair = factors_of(u, w)
    made = Factors(
        (RNG.random(ROWS), *pair.array[::-1]),
        np.vstack([[0, 0, 1, 0], pair.strides[::-1]]),
        np.vstack([np.zeros(SUMMANDS, np.int64), pair.offsets]),
        pair.lengths,
    )
    numbers = np.array([6, 8])
    sums = made.array[0][:, None] * (u @ w.T)
    expected = sums[np.repeat(numbers, np.diff(indptr)), indices]
    np.testing.assert_allclose(rates(made, indptr, indices, 2, numbers), expected)


# ---- among values ---------------------------------------------------------------------------

VALUES = (0.5, 0.0, 1.5, 2.0)


def test_shares_are_multinomial() -> None:
    counts = np.full((20_000, 1), 5)
    shares, again = (share_out(Stream(3, (20_000, 1, 1, 1), n), counts, VALUES) for n in (1, 2))
    np.testing.assert_array_equal(shares, again)
    assert [share.shape for share in shares] == [(20_000, 1)] * 4
    assert (sum(shares) == 5).all()
    for share, value in zip(shares, VALUES, strict=True):
        assert z_counts(share, lambda k, value=value: binom.pmf(k, 5, value / 4.0), top=6) < 4
    assert z_counts(shares[2] + shares[3], lambda k: binom.pmf(k, 5, 3.5 / 4.0), top=6) < 4


def test_summands_broadcast_and_zeros_get_nothing() -> None:
    counts = np.arange(6).reshape(1, 2, 3)
    first, second = share_out(Stream(1, (1, 1, 2, 3)), counts, [np.eye(2, 3), 1.0 - np.eye(2, 3)])
    np.testing.assert_array_equal(first, counts * np.eye(2, 3, dtype=int))
    np.testing.assert_array_equal(first + second, counts)
