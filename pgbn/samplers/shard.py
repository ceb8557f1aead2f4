"""A part of the rows, worked on by itself: row i of it is row first + i of all.

    the stream of row i under a key begins at mix(key + g · (i + 1))

so that of row first + i is the stream of row i under key + g · first: kernels need not know that
there are other rows. A part begins with a block of `pgbn.samplers.executor.ROW_BLOCK` rows.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pgbn.errors import NetworkError
from pgbn.samplers.executor import SERIAL, DelegatingExecutor, Threads
from pgbn.samplers.random import later_key


@dataclass(frozen=True)
class ShardRows(DelegatingExecutor):
    """The executor of ``size`` rows from ``first`` on, by threads of this process; or of so many
    blocks of ``unit`` rows."""

    first: int
    size: int
    threads: Threads = SERIAL
    unit: int = 1
    cells: bool = False

    @property
    def below(self) -> Threads:
        return self.threads

    @property
    def workers(self) -> int:
        return self.threads.workers

    def word(self, key: int, rows: int) -> np.uint64:
        """The key for a kernel on ``rows`` rows of its own, as many for each of ours."""
        units = -(-self.size // self.unit)
        each, left = divmod(rows, max(units, 1))
        if left or self.first % self.unit:
            raise NetworkError(
                f"a draw of {rows} rows is not one of {self.size} rows from {self.first} on, in "
                f"blocks of {self.unit}: it cannot be made for a part of the rows"
            )
        return later_key(key, self.first // self.unit * each)

    def by_blocks(self, size: int) -> "ShardRows":
        return self if self.cells else replace(self, unit=size)

    def at(self, first: int, size: int) -> "ShardRows":
        """The same for the cells of the rows: ``size`` of them, from number ``first`` on."""
        return ShardRows(first, size, self.threads, cells=True)

    def rows(self, kernel: Callable[..., Any], rows: int, key: int, *args: Any) -> None:
        word = self.word(key, rows) if key else 0  # without a key nothing is drawn
        self.threads.rows(kernel, rows, int(word), *args)
