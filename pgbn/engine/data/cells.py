"""The non-zero cells of an observed array: of a matrix by rows, of many dims by coordinates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.errors import DataError
from pgbn.nodes.base import Observed
from pgbn.nodes.rules import find_link
from pgbn.samplers.executor import ROW_BLOCK
from pgbn.storage.read_limits import check_bytes

GROUP = 64  # cells with one stream, where they are drawn together
_ROWS = 2**12  # that are added up at a time
_BYTES = 64  # of a cell where all are kept: its value, place, rate and counts, some of them twice


def _keep() -> None:
    """Arrays in memory are not released."""


class Cells:
    """The non-zero cells of an observed array, rows × columns.

    The last dim is the columns; the replicates and all other dims, flattened, are the rows.
    ``values`` are int64 for counts and float64 for reals. ``missing`` marks cells whose value
    is unknown; they are imputed in every sweep. ``is_corpus``: they are those of a `pgbn.Corpus`;
    ``release_rows`` is called after some rows were read, where the arrays are files. Kernels that
    take rows by their numbers read ``starts`` and ``numbers``, which are empty if all rows are
    stored, see `CoordinateCells`. ``labels`` are those along dims that the data brought with them.
    """

    labels: dict[str, list[Any]] = {}  # replaced, never changed
    numbers: NDArray[np.int64] = np.zeros(0, np.int64)
    before = 0  # cells of the rows before, of which these are a part
    groups_before = 0

    def __init__(
        self,
        dims: tuple[str, ...],
        shape: tuple[int, ...],
        replicates: int,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[Any],
        missing: NDArray[np.bool_] | None = None,
        is_corpus: bool = False,
        release_rows: Callable[[], None] = _keep,
    ) -> None:
        self.dims, self.shape, self.replicates = dims, shape, replicates
        self.starts, self.indices, self.values, self.missing = indptr, indices, values, missing
        self.is_corpus, self.release_rows = is_corpus, release_rows

    @property
    def indptr(self) -> NDArray[np.int64]:
        """Where each row begins."""
        return self.starts

    @property
    def rows(self) -> int:
        return self.starts.size - 1

    @property
    def columns(self) -> int:
        return self.shape[-1] if self.shape else 1

    size = property(lambda self: int(self.values.size), doc="The number of cells.")
    is_integer = property(lambda self: self.values.dtype.kind == "i", doc="Whether all are counts.")

    def any(self) -> bool:
        """Whether anything is not 0."""
        return bool(self.values.any())

    def totals(self) -> NDArray[Any]:
        """Σ of the data over all rows, for each column: (R, columns)."""
        return self.total(self.values, (self.dims[-1],))

    def cell_rows(self) -> NDArray[np.int64]:
        """The row of every cell."""
        return np.repeat(self._numbers(0, self.rows), np.diff(self.starts))

    def _numbers(self, first: int, last: int) -> NDArray[np.int64]:
        """The numbers of some of the rows that are stored."""
        return np.arange(first, last, dtype=np.int64)

    def positions(
        self, dims: tuple[str, ...], replicates: int, block: slice = slice(None)
    ) -> NDArray[np.int64]:
        """For every cell, or those of a block of rows, the flat index into an array of
        (replicates or 1, *dims)."""
        first, last, _ = block.indices(self.rows)
        edges = self.starts[first : last + 1]
        rows = np.repeat(self._numbers(first, last), np.diff(edges))
        per = prod(self.shape[:-1])
        index = {"": rows // per if per else rows}
        inside = rows % per if per else rows
        for dim, size in zip(reversed(self.dims[:-1]), reversed(self.shape[:-1]), strict=True):
            index[dim] = inside % size
            inside = inside // size
        if self.dims:
            index[self.dims[-1]] = self.indices[edges[0] : edges[-1]].astype(np.int64)
        sizes = dict(zip(self.dims, self.shape, strict=True))
        flat = index[""] if replicates > 1 else np.zeros(rows.size, np.int64)
        for dim in dims:
            flat = flat * sizes[dim] + index[dim]
        return flat

    def total(self, values: NDArray[Any], dims: tuple[str, ...]) -> NDArray[Any]:
        """Σ of cell values over all dims but ``dims``, as an array of (R, *dims)."""
        sizes = dict(zip(self.dims, self.shape, strict=True))
        shape = (self.replicates, *(sizes[dim] for dim in dims))
        sums = np.zeros(prod(shape))
        for block, cells in self._blocks():  # in a fixed order, whoever runs it
            at = self.positions(dims, self.replicates, block)
            if at.size:
                low = at.min()
                part = np.bincount(at - low, values[cells])
                sums[low : low + part.size] += part
            self.release_rows()
        return sums.astype(values.dtype).reshape(shape)

    def sum(self) -> int:
        """Σ of the data, as an integer."""
        total = 0
        for _, cells in self._blocks():
            total += int(self.values[cells].sum())
            self.release_rows()
        return total

    def _blocks(self) -> Iterator[tuple[slice, slice]]:
        """The rows in blocks, and the cells of each."""
        for first in range(0, self.rows, _ROWS):
            last = min(first + _ROWS, self.rows)
            yield slice(first, last), slice(self.starts[first], self.starts[last])

    def groups(self, width: int) -> list[int]:
        """How many groups of ``width`` cells, the last one perhaps of fewer, each block of rows
        has. A group is the cells that are drawn from one stream, see `ROW_BLOCK`."""
        edges = np.append(self.starts[: self.rows : self._block], self.starts[self.rows])
        return [int(-(-size // width)) for size in np.diff(edges)]

    def in_groups(self, column: NDArray[Any], width: int) -> NDArray[Any]:
        """A number of every cell, group after group, each filled up with the last of its block."""
        groups = self.groups(width)
        out, end = np.empty(sum(groups) * width, column.dtype), 0
        for block, number in enumerate(groups):
            own = column[self._block_cells(block)]
            start, end = end, end + number * width
            out[start : start + own.size] = own
            out[start + own.size : end] = own[-1] if own.size else 0
        return out

    def from_groups(self, column: NDArray[Any], width: int) -> NDArray[Any]:
        """The numbers of the cells again."""
        out, start = np.empty(self.values.size, column.dtype), 0
        for block, number in enumerate(self.groups(width)):
            own = self._block_cells(block)
            out[own] = column[start : start + own.stop - own.start]
            start += number * width
        return out

    @property
    def _block(self) -> int:
        """The rows of a block: replicates are never split and are one block."""
        return ROW_BLOCK if self.replicates == 1 else max(self.rows, 1)

    def _block_cells(self, block: int) -> slice:
        first = block * self._block
        return slice(self.starts[first], self.starts[min(first + self._block, self.rows)])

    def part(self, first: int, last: int) -> Cells:
        """Some of the rows, from a block on, as cells of their own, which know how many cells, and
        groups of `GROUP`, there are before. They are all cells of a matrix of fewer rows."""
        each = self.rows // max(self.shape[0], 1)
        cells = slice(self.starts[first * each], self.starts[last * each])
        starts = self.starts[first * each : last * each + 1] - cells.start
        missing = None if self.missing is None else self.missing[cells]
        part = Cells(self.dims, (last - first, *self.shape[1:]), 1, starts, self.indices[cells],
                     self.values[cells], missing, self.is_corpus)  # fmt: skip
        part.before = int(cells.start)
        part.groups_before = sum(self.groups(GROUP)[: first * each // ROW_BLOCK])
        return part

    def dense(self, values: NDArray[Any] | None = None) -> NDArray[Any]:
        """The full array, (R, *shape), of the data or of other values of the same cells."""
        values = self.values if values is None else values
        out = np.zeros((self.replicates * prod(self.shape[:-1]), self.columns), values.dtype)
        out[self.cell_rows(), self.indices] = values
        return out.reshape((self.replicates, *self.shape))


class CoordinateCells(Cells):
    """The non-zero cells of an array of many dims, most of whose rows are empty and not stored:
    row ``numbers[i]`` has the cells from ``starts[i]`` to ``starts[i + 1]``."""

    def __init__(
        self,
        dims: tuple[str, ...],
        shape: tuple[int, ...],
        numbers: NDArray[np.int64],
        starts: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[Any],
    ) -> None:
        super().__init__(dims, shape, 1, starts, indices, values)
        self.numbers = numbers

    @property
    def indptr(self) -> NDArray[np.int64]:
        raise DataError(
            f"data of the dims {' × '.join(self.dims)} that were given as coordinates are not "
            "supported here, where each row is looked at"
        )

    def _numbers(self, first: int, last: int) -> NDArray[np.int64]:
        return self.numbers[first:last]

    def dense(self, values: NDArray[Any] | None = None) -> NDArray[Any]:
        check_bytes(f"a dense array of {' × '.join(self.dims)}", 8 * prod(self.shape),
                    "sparse data of many dims are read cell by cell only")  # fmt: skip
        return super().dense(values)


def coordinate_cells(
    dims: tuple[str, ...],
    shape: tuple[int, ...],
    places: Sequence[NDArray[np.int64]],
    values: NDArray[Any],
) -> CoordinateCells:
    """Cells at these places; the values of a place that is named twice are added up."""
    rows = np.ravel_multi_index(tuple(places[:-1]), shape[:-1]).astype(np.int64)
    order = np.lexsort((places[-1], rows))
    rows, columns, values = rows[order], places[-1][order], values[order]
    fresh = np.ones(rows.size, bool)
    fresh[1:] = (np.diff(rows) != 0) | (np.diff(columns) != 0)
    first = np.flatnonzero(fresh)
    total = np.add.reduceat(values, first) if first.size else values
    first, total = first[total != 0], total[total != 0]
    numbers, starts = np.unique(rows[first], return_index=True)
    return CoordinateCells(
        dims, shape, numbers, np.append(starts, first.size).astype(np.int64),
        columns[first].astype(np.int32), total,
    )  # fmt: skip


def cells_of(
    node: Observed, array: NDArray[Any], replicates: int, missing: NDArray[np.bool_] | None = None
) -> Cells:
    """Cells of a dense array (R, *axes): those that are not 0 or ``missing``. They are all cells if
    the link of the node also reads zeros."""
    flat = array.reshape(-1, array.shape[-1] if node.axes else 1)
    unknown = None if missing is None or not missing.any() else missing.reshape(flat.shape)
    kept = np.ones(flat.shape, bool) if sees_zeros(node) else flat != 0
    rows, indices = np.nonzero(kept if unknown is None else kept | unknown)
    indptr = np.zeros(flat.shape[0] + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=flat.shape[0]), out=indptr[1:])
    return Cells(node.axes, array.shape[1:], replicates, indptr, indices.astype(np.int32),
                 typed(flat[rows, indices]),
                 None if unknown is None else unknown[rows, indices])  # fmt: skip


def sees_zeros(node: Observed) -> bool:
    """Whether the link of a node draws counts behind data of 0 too."""
    link = find_link(node)
    return link is not None and link.all_cells


def typed(values: NDArray[Any]) -> NDArray[Any]:
    """Integral values as int64 where they fit, others as float64."""
    if values.dtype.kind in "iub" or bool(
        (values == np.floor(values)).all() and (values < 2.0**53).all()
    ):
        return values.astype(np.int64)
    return values.astype(np.float64)
