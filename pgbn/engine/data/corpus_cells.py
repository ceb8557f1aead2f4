"""The cells of a `pgbn.Corpus`, read block by block into arrays that the executor keeps."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pgbn.engine.data.cells import Cells, read_array
from pgbn.engine.data.nonzero import sees_zeros
from pgbn.engine.data.stored_cells import StoredCells
from pgbn.errors import DataError
from pgbn.nodes.base import Observed
from pgbn.samplers.executor import Executor, let_go, rows_array
from pgbn.storage.blocks import Corpus, FolderCorpus

if TYPE_CHECKING:
    from pgbn.network.network import Network

__all__ = ["read_corpora", "read_corpus_cells"]


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
    if rows and hasattr(executor, "hands") and isinstance(corpus, FolderCorpus):
        return StoredCells(node, corpus)  # the workers read their rows themselves
    indptr = rows_array(executor, (rows + 1,), np.int64)
    indices = rows_array(executor, (corpus.entries,), np.int32)
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
        let_go(executor)
    if values is None:
        return read_array(node, corpus)  # it has no rows: refused there
    return Cells(node.axes, (rows, columns), 1, indptr, indices[:cell], values[:cell],
                 is_corpus=True, let_go=partial(let_go, executor))  # fmt: skip


def _values(before: Any, executor: Executor, entries: int, dtype: Any) -> Any:
    """Room for the values; what was there before, if a block has reals and others had not."""
    out = rows_array(executor, (entries,), dtype)
    if before is not None:
        out[...] = before
    return out
