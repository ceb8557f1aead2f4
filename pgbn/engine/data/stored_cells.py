"""The cells of a corpus in a folder that stay there, for a driver whose workers have the rows.

What the driver needs at all times is small: where rows begin, the totals of the columns. All cells
are read when somebody asks for them, and are kept only as long as he does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.data.cells import read_array
from pgbn.engine.data.nonzero import GROUP, Cells, sees_zeros
from pgbn.errors import DataError, StorageError
from pgbn.nodes.base import Observed
from pgbn.samplers.executor import ROW_BLOCK, Executor
from pgbn.storage.blocks import Corpus, FolderCorpus

if TYPE_CHECKING:
    from pgbn.network.network import Network


class StoredCells(Cells):
    """Cells like any others, of which nothing is in memory but ``starts``, and Σ over the rows."""

    missing = None
    replicates = 1
    is_corpus = True

    def __init__(self, node: Observed, corpus: Corpus) -> None:
        """Look at all blocks once, one after another; a damaged one is named."""
        self.dims, self.shape, self.node, self.corpus = node.axes, corpus.shape, node, corpus
        self.starts = np.zeros(corpus.shape[0] + 1, np.int64)
        self.column_totals = np.zeros(corpus.shape[1])
        kinds, row = set(), 0
        for block in corpus.blocks():
            part = read_array(node, block, imputed=False)
            rows = slice(row + 1, row + 1 + part.rows)
            self.starts[rows] = self.starts[row] + part.indptr[1:]
            self.column_totals += np.bincount(part.indices, part.values, corpus.shape[1])
            kinds.add(part.values.dtype.kind)
            row += part.rows
        self.dtype = np.dtype(np.float64 if "f" in kinds else np.int64)
        self._read: WeakValueDictionary[str, NDArray[Any]] = WeakValueDictionary()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_read"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _read=WeakValueDictionary())

    def release_rows(self) -> None:
        """There is nothing in memory."""

    @property
    def size(self) -> int:
        return int(self.starts[-1])

    @property
    def is_whole(self) -> bool:
        return self.dtype.kind == "i"

    @property
    def indices(self) -> NDArray[np.int32]:  # type: ignore[override]
        return self._whole("indices")

    @property
    def values(self) -> NDArray[Any]:  # type: ignore[override]
        return self._whole("values")

    def _whole(self, name: str) -> NDArray[Any]:
        """One of the arrays of all cells, as long as somebody has it."""
        found = self._read.get(name)
        if found is None:
            cells = self.part(0, self.shape[0]).read()
            self._read["indices"], self._read["values"] = cells.indices, cells.values
            found = self._read[name]
        return found

    def any(self) -> bool:
        return bool(self.column_totals.any())

    def sum(self) -> int:
        return int(self.column_totals.sum())

    def totals(self) -> NDArray[Any]:
        return self.column_totals.astype(self.dtype)[None]

    def part(self, first: int, last: int) -> StoredPart:  # type: ignore[override]
        edges = self.starts[: first + 1 : ROW_BLOCK]  # of the blocks before
        groups = int((-(-np.diff(edges) // GROUP)).sum())
        return StoredPart(self.node, self.corpus, self.dtype, self.starts[first : last + 1], first,
                          groups)  # fmt: skip


@dataclass(frozen=True)
class StoredPart:
    """Rows of `StoredCells`, from ``first`` on, to be read by whoever works on them."""

    node: Observed
    corpus: Corpus
    dtype: np.dtype[Any]
    starts: NDArray[np.int64]
    first: int
    groups_before: int

    def read(self) -> Cells:
        """The cells themselves, block by block."""
        rows, size = self.starts.size - 1, int(self.starts[-1] - self.starts[0])
        indices, values, cell = np.empty(size, np.int32), np.empty(size, self.dtype), 0
        for part, start, stop in self._blocks():
            own = slice(int(part.indptr[start]), int(part.indptr[stop]))
            here = slice(cell, cell + own.stop - own.start)
            indices[here], values[here] = part.indices[own], part.values[own]
            cell = here.stop
        cells = Cells(self.node.axes, (rows, self.corpus.shape[1]), 1,
                      self.starts - self.starts[0], indices, values, is_corpus=True)  # fmt: skip
        cells.before, cells.groups_before = int(self.starts[0]), self.groups_before
        return cells

    def can_be_read(self) -> bool:
        """Whether the folder is there, on this machine."""
        try:
            next(self._blocks(), None)
        except StorageError:
            return False
        return True

    def _blocks(self) -> Iterator[tuple[Cells, int, int]]:
        """The blocks that have some of the rows, and which of their rows these are."""
        each, last = self.corpus.block_rows, self.first + self.starts.size - 1
        for number in range(self.first // each, -(-last // each)):
            before = number * each
            part = read_array(self.node, self.corpus.block(number), imputed=False)
            yield part, max(self.first - before, 0), min(last - before, each)


# ---- corpus cells -------------------------------------------------------------------------------
#
# The cells of a `pgbn.Corpus`, read block by block into arrays that the executor keeps.


def read_corpora(network: Network, data: Any, executor: Executor) -> Any:
    """The data of a network with its corpora read; anything else as it is."""
    if not isinstance(data, Mapping):
        return data
    nodes = network.nodes
    return {
        name: read_corpus_cells(node, value, executor)
        if isinstance(value, Corpus) and isinstance(node := nodes.get(name), Observed)
        else value
        for name, value in data.items()
    }


def read_corpus_cells(node: Observed, corpus: Corpus, executor: Executor) -> Cells:
    """The cells of all blocks, one after another: no more than one block is read at a time."""
    if len(node.axes) != 2:
        return read_array(node, corpus)  # which refuses it
    if sees_zeros(node):
        raise DataError(
            f"{node.name}: a Corpus keeps the cells that are not 0, and {type(node).__name__} "
            "needs every cell (its link rule says all_cells=True); give an array"
        )
    rows, columns = corpus.shape
    if rows and executor.spreads_rows and isinstance(corpus, FolderCorpus):
        return StoredCells(node, corpus)  # the workers read their rows themselves
    indptr = executor.zeros((rows + 1,), np.int64)
    indices = executor.zeros((corpus.entries,), np.int32)
    values: Any = None
    row = cell = 0
    for block in corpus.blocks():
        part = read_array(node, block, imputed=False)
        if values is None or part.values.dtype.kind == "f" != values.dtype.kind:
            values = _values(values, executor, corpus.entries, part.values.dtype)
        here = slice(cell, cell + part.values.size)
        indices[here], values[here] = part.indices, part.values
        indptr[row + 1 : row + 1 + part.rows] = cell + part.indptr[1:]
        row, cell = row + part.rows, here.stop
        executor.release()
    if values is None:
        return read_array(node, corpus)  # it has no rows: refused there
    return Cells(node.axes, (rows, columns), 1, indptr, indices[:cell], values[:cell],
                 is_corpus=True, release_rows=executor.release)  # fmt: skip


def _values(before: Any, executor: Executor, entries: int, dtype: Any) -> Any:
    """Room for the values; what was there before, if a block has reals and others had not."""
    out = executor.zeros((entries,), dtype)
    if before is not None:
        out[...] = before
    return out
