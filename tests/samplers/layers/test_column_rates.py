"""Rates of sparse cells where one factor belongs to the column: the bits of `cell_rates`."""

import numpy as np
import pytest

from pgbn.samplers.executor import Threads
from pgbn.samplers.thinning import Factors, cell_rates, column_rates, product_rates

NONE = np.zeros(0, np.int64)  # rows are numbered 0, 1, …
ROWS, COLUMNS, SUMMANDS = 9, 23, 37


def cells(rng):
    """Rows with 0, 1, 2, … cells, so that every rest of a division by four is there."""
    columns = [rng.choice(COLUMNS, size, replace=False) for size in range(ROWS)]
    return np.cumsum([0, *map(len, columns)]), np.concatenate(columns).astype(np.int32)


def factors(u, w, by_column):
    """Σ_c u[row, c] w[column, c], w stored as (column, c) or as (c, column)."""
    step, place = (SUMMANDS, 1) if by_column else (1, COLUMNS)
    summands = np.arange(SUMMANDS)
    stored = w if by_column else w.T
    return Factors(
        (np.ascontiguousarray(stored).reshape(-1), u.reshape(-1)),
        np.array([[0, 0, 0, step], [0, 0, SUMMANDS, 0]]),
        np.array([summands * place, summands]),
        np.array([1, ROWS]),
    )


def both(made, indptr, indices, own=0, numbers=NONE, rows=ROWS):
    out = np.full((2, indices.size), np.nan)
    cell_rates(0, rows, indptr, indices, numbers, made, out[0])
    column_rates(0, rows, indptr, indices, numbers, made, own, out[1])
    return out


@pytest.mark.parametrize("by_column", [True, False])
def test_rates_are_the_sums_with_the_bits_of_the_general_kernel(by_column):
    rng = np.random.default_rng(0)
    indptr, indices = cells(rng)
    u, w = rng.gamma(0.5, size=(ROWS, SUMMANDS)), rng.gamma(0.5, size=(COLUMNS, SUMMANDS))
    general, by_rows = both(factors(u, w, by_column), indptr, indices)
    np.testing.assert_array_equal(by_rows, general)
    np.testing.assert_allclose(by_rows, (u @ w.T)[np.repeat(range(ROWS), range(ROWS)), indices])


@pytest.mark.parametrize("power", [5, 50, 400])
def test_summands_that_cannot_be_seen_are_left_out_and_no_others(power):
    """Products from 1 down to 0: some cells have nothing but tiny ones, which must be there."""
    rng = np.random.default_rng(power)
    indptr, indices = cells(rng)
    u, w = rng.random((ROWS, SUMMANDS)) ** power, rng.random((COLUMNS, SUMMANDS)) ** power
    u[2], u[3, 1:], w[5] = 1e-160, 0.0, 1e-200
    general, by_rows = both(factors(u, w, True), indptr, indices)
    np.testing.assert_array_equal(by_rows, general)
    assert (by_rows[1:3] > 0).all()


def test_large_factors_of_the_column_make_small_ones_of_the_row_count():
    rng = np.random.default_rng(3)
    indptr, indices = cells(rng)
    u, w = rng.random((ROWS, SUMMANDS)) * 1e-155, rng.random((COLUMNS, SUMMANDS)) * 1e200
    general, by_rows = both(factors(u, w, True), indptr, indices)
    np.testing.assert_array_equal(by_rows, general)
    assert (by_rows > 1e40).all()


def test_not_a_number_is_not_hidden():
    rng = np.random.default_rng(4)
    indptr, indices = cells(rng)
    u, w = rng.random((ROWS, SUMMANDS)), rng.random((COLUMNS, SUMMANDS))
    u[4, 7] = np.nan
    _, by_rows = both(factors(u, w, True), indptr, indices)
    row = np.repeat(range(ROWS), range(ROWS))
    np.testing.assert_array_equal(np.isnan(by_rows), row == 4)


def test_several_factors_of_the_row_and_rows_with_numbers():
    rng = np.random.default_rng(5)
    indptr, indices = np.array([0, 3, 8]), np.array([1, 5, 2, 0, 9, 4, 22, 7], np.int32)
    u, w = rng.random((ROWS, SUMMANDS)), rng.random((COLUMNS, SUMMANDS))
    pair = factors(u, w, True)
    made = Factors(
        (rng.random(ROWS), *pair.array[::-1]),
        np.vstack([[0, 0, 1, 0], pair.strides[::-1]]),
        np.vstack([np.zeros(SUMMANDS, np.int64), pair.offsets]),
        pair.lengths,
    )
    numbers = np.array([6, 8])
    general, by_rows = both(made, indptr, indices, own=2, numbers=numbers, rows=2)
    np.testing.assert_array_equal(by_rows, general)
    sums = made.array[0][:, None] * (u @ w.T)
    np.testing.assert_allclose(by_rows, sums[np.repeat(numbers, np.diff(indptr)), indices])


@pytest.mark.parametrize("threads", [1, 3])
def test_the_product_of_two_matrices_at_the_cells(threads):
    rng = np.random.default_rng(6)
    indptr, indices = cells(rng)
    u, w = rng.random((ROWS, SUMMANDS)), rng.random((SUMMANDS, COLUMNS)).T
    found = product_rates((indptr, indices), u, w, Threads(threads))
    np.testing.assert_array_equal(found, both(factors(u, w, True), indptr, indices)[0])
