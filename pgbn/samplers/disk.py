"""Disk: arrays of rows in files. Only a part of them is in memory at a time.

A chain keeps arrays with a row for each document: labels, scores, counts. Under this executor the
large ones are files that are mapped into memory. Work on rows is done block after block: while one
is computed, the system is asked to read the next one, and afterwards the pages are released.
Kernels do not notice, and results are bit-identical to those of `Threads`. The files have no name:
a process that ends, by whatever cause, leaves nothing behind.

A block has as many rows as fit into half of the memory. This counts the pages of all arrays that
are read and written together, and 64 kB on either side of each, which the system maps as well. The
other half is for data that are read between blocks.
"""

import errno
import mmap
import os
import re
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from math import prod
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_place, thread_count
from pgbn.errors import DataError
from pgbn.samplers.executor import Edges, Executor, Threads, Work

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SMALL = 2**20  # bytes; smaller arrays are kept in memory, and so are those below a part of it:
_PART = 64
_AROUND = 2**17  # bytes that are mapped around a block of one array
_BLOCK = 0.5  # of the memory


def reserve(file: int, size: int) -> None:
    """Reserve ``size`` bytes for an open file, zeros until something is written. A file with holes
    would reserve space only when a page is written: if the disk is full then, the system ends the
    process (SIGBUS). Reserved at once, a full disk is an OSError."""
    if os.fstat(file).st_size < size:
        os.truncate(file, size)
    if hasattr(os, "posix_fallocate") and size:
        try:
            os.posix_fallocate(file, 0, size)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise  # others: a system of files that cannot reserve


class Disk(Executor):
    """Rows in files, with a part in memory at a time: for data larger than memory.

    Arrays without rows, such as the topics, need memory in addition. The files have no names, and
    end with the process.

    Parameters
    ----------
    folder : str or Path
        Where the files are made; on a fast local disk, if possible.
    memory : int or str, default "2GB"
        How much of the files may be in memory, in bytes or with a unit. At least 1 MB.
    threads : int, optional
        The number of threads. The default is ``PGBN_THREADS``, or one for each core.

    Raises
    ------
    DataError
        If the folder cannot be made, or if the memory is too small for one row of the data.

    Examples
    --------
    >>> import tempfile, numpy as np, pgbn
    >>> net, x = pgbn.zoo.pfa(2), np.array([[3, 0, 1], [0, 2, 2]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     disk = pgbn.Disk(folder, memory="100MB", threads=1)
    ...     draws = net.sample({"x": x}, burn_in=1, draws=1, executor=disk)
    >>> draws["theta1"].shape
    (1, 1, 2, 2)
    """

    memory: int

    def __init__(
        self, folder: str | Path, memory: int | str = "2GB", threads: int | None = None
    ) -> None:
        self.memory = _bytes(memory)
        self.folder = check_place("Disk: folder", folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"Disk: folder={str(folder)!r} cannot be made: {error}") from None
        self._threads = Threads(thread_count(threads))
        self.workers = self._threads.workers
        self._maps: WeakSet[mmap.mmap] = WeakSet()

    def __repr__(self) -> str:
        return f"Disk({str(self.folder)!r}, memory={self.memory})"

    def __deepcopy__(self, memo: Any) -> "Disk":
        return self  # a copy of its owner, such as an estimator, uses the same folder

    def __reduce__(self) -> tuple[Any, ...]:
        return Disk, (str(self.folder), self.memory, self.workers)  # without its arrays

    @property
    def local(self) -> Threads:
        return self._threads

    @property
    def _mapped(self) -> int:
        """The bytes of all arrays that are files now."""
        return sum(len(part) for part in self._maps)

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        kind = np.dtype(dtype)
        size = prod(shape) * kind.itemsize
        if size < min(_SMALL, self.memory // _PART):
            return np.zeros(shape, kind)
        try:
            with tempfile.TemporaryFile(dir=self.folder) as file:
                reserve(file.fileno(), size)
                pages = mmap.mmap(file.fileno(), size)
        except OSError as error:
            raise DataError(
                f"Disk: no file of {size} bytes in {str(self.folder)!r} ({error}); give another "
                "folder"
            ) from None
        self._maps.add(pages)
        # not a view of another array: a pool counts who refers to this very one
        return np.ndarray(shape, kind, buffer=pages)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        return self.zeros(shape, dtype)

    def release(self) -> None:
        # The system keeps what was written in these pages, and writes it to disk.
        try:
            for pages in list(self._maps):
                pages.madvise(mmap.MADV_DONTNEED)
        except OSError as error:  # such as pages that are locked in memory
            raise DataError(
                f"Disk: memory={self.memory}: the system does not release memory "
                f"({error.strerror}), so that all rows would stay in it; use threads=… in place of "
                "Disk, or lock no memory (mlockall)"
            ) from error

    def cut(self, rows: int, *values: Any) -> Edges:
        # As many blocks at a time as there are workers fit into half of the memory. Rows are equal
        # parts of a file, unless one of the arrays says where each row begins.
        return self._cut(rows, values, self.workers)

    shares = cut

    def _cut(self, rows: int, values: Sequence[Any], together: int) -> Edges:
        files = _Files(rows, values)
        room = int((_BLOCK * self.memory - files.around) / together)
        if files.size <= room or not rows:
            return [(rows * i // together, rows * (i + 1) // together) for i in range(together)]
        edges, start = [], 0
        while start < rows:
            stop = files.reach(start, room)
            if stop == start:
                raise DataError(
                    f"Disk: memory={self.memory}: row {start} of {rows} needs {files.row(start)} "
                    f"bytes of {len(files.maps)} files, and half of the memory leaves "
                    f"{max(room, 0)} for a block of rows; give at least memory="
                    f"{int((files.row(start) * together + files.around) / _BLOCK) + 1}"
                )
            edges.append((start, stop))
            start = stop
        return edges

    # ---- work -------------------------------------------------------------------------

    def rows(self, kernel: Callable[..., Any], rows: int, key: int, *args: Any) -> None:
        edges = self._cut(rows, args, 1)
        if len(edges) == 1:
            self._threads.rows(kernel, rows, key, *args)
            return
        maps = set(_maps_in(args))
        for (start, stop), following in zip(edges, [*edges[1:], (rows, rows)], strict=True):
            _read_ahead(maps, following[0] / rows, following[1] / rows)
            self._threads.rows(partial(_shifted, kernel, start), stop - start, key, *args)
            self.release()

    def calls(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        results: list[Any] = []
        for first in range(0, len(calls), self.workers):
            results += self._threads.calls(calls[first : first + self.workers])
            self.release()
        return results

    def pipeline(self, before: Work, middle: Work, after: Work, number: int) -> None:
        # Some at a time, or prepared blocks would be in memory long before their turn.
        def later(work: Work, first: int) -> Work:
            return lambda i: work(first + i)

        for first in range(0, number, self.workers):
            size = min(self.workers, number - first)
            self._threads.pipeline(later(before, first), later(middle, first),
                                   later(after, first), size)  # fmt: skip
            self.release()


def _shifted(
    kernel: Callable[..., Any], first: int, key: Any, start: int, stop: int, *args: Any
) -> None:
    kernel(key, first + start, first + stop, *args)


class _Files:
    """The files behind some arrays, by rows: ``size`` bytes in all, and ``around`` the bytes that
    may be mapped around a block."""

    def __init__(self, rows: int, values: Sequence[Any]) -> None:
        arrays = list(_arrays_in(values))
        self.maps = {id(pages): (pages, array) for array in arrays for pages in _maps_in([array])}
        starts = [a for a in arrays if a.ndim == 1 and a.dtype == np.int64 and a.size == rows + 1]
        self.rows, self.even, self.by_start = rows, 0.0, list[tuple[int, NDArray[Any]]]()
        for pages, array in self.maps.values():
            own = [s for s in starts if s is not array and array.ndim == 1 and s[-1] == array.size]
            if own:
                self.by_start.append((array.itemsize, own[0]))
            else:
                self.even += len(pages) / max(rows, 1)
        self.around = sum(min(_AROUND, len(pages)) for pages, _ in self.maps.values())
        self.size = self._before(rows)

    def _before(self, row: int) -> float:
        """The bytes of all rows before one."""
        return self.even * row + sum(size * int(start[row]) for size, start in self.by_start)

    def row(self, row: int) -> int:
        """The bytes of one row."""
        return int(self._before(row + 1) - self._before(row)) + 1

    def reach(self, start: int, room: int) -> int:
        """The last row up to which those from ``start`` on have no more bytes than ``room``."""
        most = room + self._before(start)
        return max(bisect_right(range(self.rows + 1), most, start, key=self._before) - 1, start)


def _bytes(memory: int | str) -> int:
    """A number of bytes from 2147483648, "2GB" or "1.5 GB"."""
    found = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]?)i?B?\s*", str(memory), re.IGNORECASE)
    size = 0
    if found is not None and not isinstance(memory, bool):
        with suppress(ValueError, OverflowError):
            size = int(float(found[1]) * _UNITS[found[2].upper()])
    if size < _SMALL:
        raise DataError(f"Disk: memory={memory!r}: give bytes, from 1 MB on, such as '2GB'")
    return size


def _arrays_in(values: Sequence[Any]) -> Iterator[NDArray[Any]]:
    """Arrays, also those in tuples."""
    for value in values:
        if isinstance(value, tuple):
            yield from _arrays_in(value)
        elif isinstance(value, np.ndarray):
            yield value


def _maps_in(values: Sequence[Any]) -> Iterator[mmap.mmap]:
    """The files behind arrays, also of those in tuples."""
    for value in _arrays_in(values):
        base: Any = value
        while isinstance(base, np.ndarray):
            base = base.base
        if isinstance(base, memoryview):
            base = base.obj
        if isinstance(base, mmap.mmap):
            yield base


def _read_ahead(maps: Iterable[mmap.mmap], low: float, high: float) -> None:
    """Ask the system to read a part of each file, in fractions of its length."""
    for pages in maps:
        first = int(len(pages) * low) // mmap.PAGESIZE * mmap.PAGESIZE
        size = int(len(pages) * high) - first
        if size > 0:
            with suppress(OSError):  # not taken: pages are read when they are needed
                pages.madvise(mmap.MADV_WILLNEED, first, size)
