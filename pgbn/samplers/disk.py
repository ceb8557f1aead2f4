"""Disk: arrays of rows in files, of which a part is in memory at a time.

A chain keeps arrays with a row for each document: labels, scores, counts. Under this executor the
large ones are files that are mapped into memory. Work on rows is done block after block: while one
is computed, the system is asked to read what the next will need, and afterwards the pages are let
go. Kernels do not know it, and the bits are those of `Threads`. The files have no name: what ends,
by whatever cause, leaves nothing behind.
"""

import mmap
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import thread_count
from pgbn.errors import DataError
from pgbn.samplers.executor import Threads

__all__ = ["Disk"]

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SMALL = 2**20  # bytes; smaller arrays are kept in memory
_SHARE = 4  # of the memory: a block, the pages that are being let go, and what rows differ in size


class Disk:
    """Rows in files of ``folder``, of which at most ``memory`` (bytes, or "2GB") is resident; what
    has no rows, such as the topics, comes on top of it. ``threads`` as elsewhere."""

    def __init__(
        self, folder: str | Path, memory: int | str = "2GB", threads: int | None = None
    ) -> None:
        self.memory = _bytes(memory)
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"Disk: folder={str(folder)!r} cannot be made: {error}") from None
        self._threads = Threads(thread_count(threads))
        self._maps: WeakSet[mmap.mmap] = WeakSet()

    def __repr__(self) -> str:
        return f"Disk({str(self.folder)!r}, memory={self.memory})"

    def __deepcopy__(self, memo: Any) -> "Disk":
        return self  # what is copied with it, as an estimator is, works in the same place

    def __reduce__(self) -> tuple[Any, ...]:
        return Disk, (str(self.folder), self.memory, self.workers)  # without its arrays

    @property
    def workers(self) -> int:
        return self._threads.workers

    @property
    def mapped(self) -> int:
        """The bytes of all arrays that are files now."""
        return sum(len(part) for part in self._maps)

    @property
    def parts(self) -> int:
        """Into how many blocks work on all rows is to be cut."""
        return max(1, -(-self.mapped * _SHARE // self.memory))

    def empty(self, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """An array for rows: a file of zeros or, where it is small, in memory."""
        kind = np.dtype(dtype)
        size = prod(shape) * kind.itemsize
        if size < _SMALL:
            return np.zeros(shape, kind)
        try:
            with tempfile.TemporaryFile(dir=self.folder) as file:
                os.truncate(file.fileno(), size)
                pages = mmap.mmap(file.fileno(), size)
        except OSError as error:
            raise DataError(
                f"Disk: no file of {size} bytes in {str(self.folder)!r} ({error}); give another "
                "folder"
            ) from None
        self._maps.add(pages)
        return np.frombuffer(pages, kind).reshape(shape)

    def release(self) -> None:
        """Let all pages go; what was written is kept by the system, and written to the disk."""
        for pages in list(self._maps):
            pages.madvise(mmap.MADV_DONTNEED)

    # ---- the methods of an executor ---------------------------------------------------

    def rows(self, kernel: Callable[..., Any], rows: int, key: int, *args: Any) -> None:
        maps = set(_maps_in(args))
        parts = min(rows, max(1, -(-sum(map(len, maps)) * _SHARE // self.memory)))
        if parts <= 1:
            self._threads.rows(kernel, rows, key, *args)
            return
        edges = [rows * part // parts for part in range(parts + 1)]
        for part, (start, stop) in enumerate(pairwise(edges)):
            _advise(maps, (part + 1) / parts, (part + 2) / parts, mmap.MADV_WILLNEED)
            self._block(kernel, start, stop, key, args)
            self.release()

    def _block(
        self, kernel: Callable[..., Any], start: int, stop: int, key: int, args: tuple[Any, ...]
    ) -> None:
        """One block of rows on all threads."""

        def shifted(word: Any, low: int, high: int, *given: Any) -> None:
            kernel(word, start + low, start + high, *given)

        self._threads.rows(shifted, stop - start, key, *args)

    def calls(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        results: list[Any] = []
        for first in range(0, len(calls), self.workers):
            results += self._threads.calls(calls[first : first + self.workers])
            self.release()
        return results

    def behind(
        self,
        before: Callable[[int], Any],
        middle: Callable[[int], Any],
        after: Callable[[int], Any],
        number: int,
    ) -> None:
        def finish(i: int) -> None:
            after(i)
            self.release()

        self._threads.behind(before, middle, finish, number)


def _bytes(memory: int | str) -> int:
    """A number of bytes from 2147483648, "2GB" or "1.5 GB"."""
    found = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]?)i?B?\s*", str(memory), re.IGNORECASE)
    size = 0
    if found is not None and not isinstance(memory, bool):
        with suppress(ValueError):
            size = int(float(found[1]) * _UNITS[found[2].upper()])
    if size < _SMALL:
        raise DataError(f"Disk: memory={memory!r}: give bytes, from 1 MB on, such as '2GB'")
    return size


def _maps_in(values: Sequence[Any]) -> Iterator[mmap.mmap]:
    """The files behind arrays, also of those in tuples."""
    for value in values:
        if isinstance(value, tuple):
            yield from _maps_in(value)
        while isinstance(value, np.ndarray):
            value = value.base
        if isinstance(value, memoryview):
            value = value.obj
        if isinstance(value, mmap.mmap):
            yield value


def _advise(maps: Any, low: float, high: float, advice: int) -> None:
    """Tell the system about a part of each file, in fractions of its length."""
    for pages in maps:
        first = int(len(pages) * min(low, 1.0)) // mmap.PAGESIZE * mmap.PAGESIZE
        size = int(len(pages) * min(high, 1.0)) - first
        if size > 0:
            pages.madvise(advice, first, size)
