"""Rows whose streams are not those of their numbers in the arrays: they are identified by their
content (`ContentKeyed`), or are a part of more rows (`ShardRows`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.errors import NetworkError
from pgbn.samplers.compiled import njit
from pgbn.samplers.executor import SERIAL, DelegatingExecutor, Executor
from pgbn.samplers.random import RowKeys, later_key, mix

Words = NDArray[np.uint64]


@njit(cache=True, nogil=True)
def _lines(hashes, owner, line, out):
    """out_i = a hash of (hashes[owner_i], line_i)."""
    for i in range(out.size):
        out[i] = mix(hashes[owner[i]] + np.uint64(0x9E3779B97F4A7C15) * np.uint64(line[i] + 1))


class ContentKeyed(DelegatingExecutor):
    """An executor for arrays whose replicates are identified by ``hashes`` of their data.

        row i of step s in sweep n draws from (seed, s, n, hash of the data of row i)

    instead of its number, so that it gets the same draws alone, in any batch and in any order.
    Arrays have one replicate for each row of data, and a kernel that works on ``rows`` rows of its
    own has rows / replicates for each of them, one replicate after another.
    """

    own_streams = True

    def __init__(self, executor: Executor, hashes: Words) -> None:
        super().__init__(executor)
        self.hashes, self._words = hashes, dict[int, Words]()

    def row_key(self, key: int, rows: int) -> RowKeys:
        """The key of a draw, with a word for each of its rows."""
        if rows not in self._words:
            each = rows // self.hashes.size
            number = np.arange(rows)
            self._words[rows] = words = np.empty(rows, np.uint64)
            _lines(self.hashes, number // each, number % each, words)
        return RowKeys(np.uint64(key), self._words[rows])

    def at_cells(self, indptr: NDArray[np.int64]) -> ContentKeyed:
        """The same for draws that have a row for each cell of sparse data: ``indptr`` are the
        edges of the replicates. A cell is identified by its number among those of its
        replicate."""
        owner = np.repeat(np.arange(self.hashes.size), np.diff(indptr))
        words = np.empty(owner.size, np.uint64)
        _lines(self.hashes, owner, np.arange(owner.size) - indptr[owner], words)
        return ContentKeyed(self.below, words)

    def rows(self, kernel: Callable[..., Any], rows: int, key: int, *args: Any) -> None:
        if key:  # else nothing is drawn
            kernel = partial(_with_keys, kernel, self.row_key(key, rows))
        self.below.rows(kernel, rows, key, *args)


def _with_keys(
    kernel: Callable[..., Any], keys: RowKeys, word: np.uint64, start: int, stop: int, *args: Any
) -> None:
    kernel(keys, start, stop, *args)


class ShardRows(DelegatingExecutor):
    """The executor of ``size`` rows from ``first`` on, or of ``size`` blocks of ``unit`` rows, by
    threads of this process.

        the stream of row i under a key begins at mix(key + g · (i + 1))

    so that of row first + i is the stream of row i under key + g · first: kernels need not know
    that there are other rows. A part begins with a block of `ROW_BLOCK` rows.
    """

    own_streams = True

    def __init__(
        self, first: int, size: int, threads: Executor = SERIAL, unit: int = 1, cells: bool = False
    ) -> None:
        super().__init__(threads)
        self.first, self.size, self.unit, self.cells = first, size, unit, cells

    def row_key(self, key: int, rows: int) -> np.uint64:
        """The key for a kernel on ``rows`` rows of its own, as many for each of ours."""
        units = -(-self.size // self.unit)
        each, left = divmod(rows, max(units, 1))
        if left or self.first % self.unit:
            raise NetworkError(
                f"a draw of {rows} rows is not one of {self.size} rows from {self.first} on, in "
                f"blocks of {self.unit}: it cannot be made for a part of the rows"
            )
        return later_key(key, self.first // self.unit * each)

    def by_blocks(self, size: int) -> ShardRows:
        return self if self.cells else ShardRows(self.first, self.size, self.below, size)

    def at(self, first: int, size: int) -> ShardRows:
        """The same for the cells of the rows: ``size`` of them, from number ``first`` on."""
        return ShardRows(first, size, self.below, cells=True)

    def rows(self, kernel: Callable[..., Any], rows: int, key: int, *args: Any) -> None:
        word = self.row_key(key, rows) if key else 0  # without a key nothing is drawn
        self.below.rows(kernel, rows, int(word), *args)
