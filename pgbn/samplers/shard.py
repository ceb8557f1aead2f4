"""A part of the rows, worked on by itself: row i of it is row first + i of all.

    the stream of row i under a key begins at mix(key + g · (i + 1))

so that of row first + i is the stream of row i under key + g · first: kernels need not know that
there are other rows. A part begins with a block of `pgbn.samplers.executor.ROW_BLOCK` rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pgbn.errors import NetworkError
from pgbn.samplers.executor import SERIAL, DelegatingExecutor, Executor
from pgbn.samplers.random import later_key


class ShardRows(DelegatingExecutor):
    """The executor of ``size`` rows from ``first`` on, by threads of this process; or of so many
    blocks of ``unit`` rows."""

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
