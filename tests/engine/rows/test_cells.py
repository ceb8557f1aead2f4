"""Data seen row by row."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn
from pgbn.engine.data.cells import read_array
from pgbn.engine.data.nonzero import Cells
from pgbn.engine.rows.infer import by_row, count_rows_of, hash_rows, take_rows
from pgbn.errors import DataError

ARRAY = np.random.default_rng(0).poisson(0.8, (4, 3, 5))


def cells_for(dims, array):
    return read_array(pgbn.Poisson("x", 1.0, dims=dims), array)


@pytest.mark.parametrize("rows", ["a", "b", "c"])
def test_each_row_is_a_replicate(rows):
    dims = ("a", "b", "c")
    found = by_row(cells_for(dims, ARRAY), rows)
    axis = dims.index(rows)
    assert found.replicates == ARRAY.shape[axis]
    assert np.array_equal(found.dense(), np.stack(np.split(ARRAY, ARRAY.shape[axis], axis)))


def test_a_node_of_rows_alone():
    found = by_row(cells_for(("a",), ARRAY[0, 0]), "a")
    assert found.replicates == 5
    assert np.array_equal(found.dense().reshape(-1), ARRAY[0, 0])


def test_some_rows_in_another_order():
    whole = by_row(cells_for(("a", "b", "c"), ARRAY), "a")
    some = take_rows(whole, np.array([2, 0, 2]))
    assert np.array_equal(some.dense()[:, 0], ARRAY[[2, 0, 2]])


def test_missing_cells_go_with_their_rows():
    mask = np.zeros((3, 5), bool)
    mask[1, 2] = True
    whole = by_row(cells_for(("a", "c"), np.ma.masked_array(ARRAY[0], mask)), "a")
    assert take_rows(whole, np.array([1])).missing.sum() == 1
    assert take_rows(whole, np.array([0, 2])).missing is None


def test_hashes_tell_rows_apart_and_nothing_else():
    rows = np.array([[0, 1, 2], [1, 0, 2], [0, 1, 2], [0, 0, 0], [0, 1, 3]])
    hashes = hash_rows({"x": by_row(cells_for(("a", "c"), rows), "a")})
    assert hashes[0] == hashes[2]
    assert np.unique(hashes).size == 4
    alone = hash_rows({"x": by_row(cells_for(("a", "c"), rows[1:2]), "a")})
    assert alone[0] == hashes[1]
    turned = hash_rows({"x": by_row(cells_for(("c", "a"), rows.T), "a")})
    assert np.array_equal(turned, hashes)
    mask = np.zeros(rows.shape, bool)
    mask[3, 0] = True
    masked = hash_rows({"x": by_row(cells_for(("a", "c"), np.ma.masked_array(rows, mask)), "a")})
    assert np.flatnonzero(masked != hashes).tolist() == [3]


def test_whole_numbers_have_the_hash_of_reals():
    node = pgbn.PoissonGamma("x", 1.0, pgbn.Gamma("noise", 1.0, 1.0), dims=("a", "c"))
    both = by_row(read_array(node, np.array([[1.0, 2.0], [0.5, 1.0]])), "a")
    whole = by_row(read_array(node, np.array([[1.0, 2.0]])), "a")
    assert hash_rows({"x": both})[0] == hash_rows({"x": whole})[0]


def test_data_of_several_nodes_must_have_as_many_rows():
    one: Cells = by_row(cells_for(("a", "c"), ARRAY[0]), "a")
    two = by_row(cells_for(("a", "c"), ARRAY[0][:2]), "a")
    with pytest.raises(DataError, match="3 rows of 'x', but 2 of 'y'"):
        count_rows_of({"x": one, "y": two})
