"""Data seen row by row: each row of a plate is a replicate, known by a hash of its data."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.data.cells import Cells
from pgbn.errors import DataError
from pgbn.samplers.documents.prepare import hash_documents
from pgbn.samplers.executor import SERIAL
from pgbn.samplers.random import word_of

__all__ = ["by_row", "count_rows_of", "hash_rows", "take_rows"]


def by_row(cells: Cells, rows: str) -> Cells:
    """The same data with a replicate for each row along the dim, which then has size 1."""
    axis = cells.dims.index(rows)
    shape = (*cells.shape[:axis], 1, *cells.shape[axis + 1 :])
    if axis == 0 and len(cells.shape) > 1:  # the rows lie one after another as it is
        return Cells(cells.dims, shape, cells.shape[0], cells.indptr, cells.indices, cells.values,
                     cells.missing)  # fmt: skip
    place = list(np.unravel_index(cells.cell_rows() * cells.columns + cells.indices, cells.shape))
    replicate, place[axis] = place[axis], np.zeros_like(place[axis])
    columns = shape[-1]
    inside = np.ravel_multi_index(tuple(place), shape)
    lines = prod(shape) // columns
    row, column = replicate * lines + inside // columns, inside % columns
    order = np.lexsort((column, row))
    indptr = np.zeros(cells.shape[axis] * lines + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=indptr.size - 1), out=indptr[1:])
    missing = None if cells.missing is None else cells.missing[order]
    return Cells(cells.dims, shape, cells.shape[axis], indptr, column[order].astype(np.int32),
                 cells.values[order], missing)  # fmt: skip


def count_rows_of(data: Mapping[str, Cells]) -> int:
    """How many rows there are: the same number in all data."""
    counts = {cells.replicates: name for name, cells in data.items()}
    if len(counts) > 1:
        (one, first), (other, second), *_ = counts.items()
        raise DataError(f"data: {one} rows of {first!r}, but {other} of {second!r}; give as many")
    return next(iter(counts))


def take_rows(cells: Cells, chosen: NDArray[np.int64]) -> Cells:
    """Some of the rows, in this order."""
    each = cells.rows // cells.replicates
    lines = (chosen[:, None] * each + np.arange(each)).reshape(-1)
    length = np.diff(cells.indptr)[lines]
    indptr = np.concatenate(([0], np.cumsum(length))).astype(np.int64)
    places = np.arange(indptr[-1]) + np.repeat(cells.indptr[lines] - indptr[:-1], length)
    missing = None if cells.missing is None else cells.missing[places]
    if missing is not None and not missing.any():
        missing = None
    return Cells(cells.dims, cells.shape, len(chosen), indptr, cells.indices[places],
                 cells.values[places], missing)  # fmt: skip


def hash_rows(data: Mapping[str, Cells]) -> NDArray[Any]:
    """A hash of the data of each row: of all nodes, their cells, and which are missing."""
    total = np.zeros(count_rows_of(data), np.uint64)
    for name, cells in data.items():
        each = cells.rows // cells.replicates
        inside = cells.cell_rows() % each * cells.columns + cells.indices
        words = cells.values.astype(np.float64).view(np.uint64)  # whole or not, as the batch is
        if cells.missing is not None:
            words = np.where(cells.missing, ~words, words)
        own = np.empty(cells.replicates, np.uint64)
        edges = np.ascontiguousarray(cells.indptr[::each])
        SERIAL.rows(hash_documents, cells.replicates, 0, edges, inside, words, own)
        total = (total + np.uint64(word_of(name))) * np.uint64(0x9E3779B97F4A7C15) ^ own
    return total
