"""A Matrix Market file by rows, in whatever order its entries stand, in bounded memory.

Its entries are read once and added to a file for each range of rows, on the disk; then each of
these files is small enough to be a matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.errors import DataError
from pgbn.storage.count_files import as_counts
from pgbn.storage.matrix_market import market_blocks, market_shape
from pgbn.storage.sparse import check_column_count, check_filled

__all__ = ["MarketRows"]

PREFIX = ".rows-"
ENTRIES = 2**22  # of a range of rows, about
_CELL = np.dtype([("row", np.int64), ("column", np.int64), ("value", np.float64)])


class MarketRows:
    """The rows of a Matrix Market file, in ranges of equal length."""

    def __init__(self, path: Path) -> None:
        self.path = path
        rows, columns, entries = market_shape(path)
        check_filled(path, rows, entries)
        check_column_count(path, columns)
        self.shape = rows, columns
        ranges = max(1, -(-entries // ENTRIES))
        self.length = min(max(1, -(-rows // ranges)), ENTRIES)
        self.folder: Path | None = None

    @contextmanager
    def sorted_in(self, folder: Path) -> Iterator[None]:
        """The entries by range, in a folder of their own that goes afterwards; and with it what a
        killed process has left there."""
        for old in folder.glob(f"{PREFIX}*"):
            rmtree(old, ignore_errors=True)
        self.folder = Path(mkdtemp(prefix=PREFIX, dir=folder))
        try:
            for entries in market_blocks(self.path):
                self._add(*entries)
            yield
        finally:
            rmtree(self.folder, ignore_errors=True)
            self.folder = None

    def _add(self, rows: NDArray[Any], columns: NDArray[Any], values: NDArray[Any]) -> None:
        """Some entries, to the files of their ranges."""
        assert self.folder is not None
        if values.dtype.kind == "i" and values.size and values.max() >= 2**53:
            raise DataError(f"{self.path}: a count of {values.max()}; give counts below 2^53")
        cells = np.empty(rows.size, _CELL)
        cells["row"], cells["column"], cells["value"] = rows, columns, values
        place = rows // self.length
        order = np.argsort(place, kind="stable")
        cells, place = cells[order], place[order]
        for number in np.unique(place):
            start, stop = np.searchsorted(place, [number, number + 1])
            with (self.folder / str(number)).open("ab") as file:
                file.write(cells[start:stop].tobytes())

    def blocks(self, skip: int = 0) -> Iterator[tuple[int, sp.csr_array]]:
        """The number of the first row of each range, and its rows; ranges whose rows are all among
        the first ``skip`` are left out."""
        assert self.folder is not None
        for first in range(0, self.shape[0], self.length):
            rows = min(self.length, self.shape[0] - first)
            if first + rows <= skip:
                continue
            file = self.folder / str(first // self.length)
            cells = np.fromfile(file, _CELL) if file.exists() else np.empty(0, _CELL)
            place = (cells["row"] - first, cells["column"])
            matrix = sp.coo_array((cells["value"], place), shape=(rows, self.shape[1]))
            yield first, as_counts(self.path, matrix)
