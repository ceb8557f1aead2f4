"""Executors: the one object through which rows are drawn on several threads.

An executor decides where work is done, never the result. A row kernel draws row i from the stream
of (key, i) alone and writes to places that belong to row i alone. Calls are independent of each
other, so the results of all executors are bit-identical.

There are three: `Threads` here, `pgbn.samplers.disk.Disk` and `pgbn.samplers.on_ray.Ray`. Another
one subclasses `Executor` and writes ``workers`` and ``calls``; everything else has a default.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_integer, thread_count
from pgbn.errors import DataError

if TYPE_CHECKING:
    from pgbn.samplers.random import RowKeys
    from pgbn.samplers.worker_pool import WorkerPool

# Rows are numbered in blocks of this size on every executor. Shards begin with a block, and a
# stream for several rows or cells begins anew with each block.
ROW_BLOCK = 256
# Rows differ in cost. A ready thread takes a fraction of the remaining rows, so that blocks shrink
# and all threads end at nearly the same time. A block has a minimal size, since a call has its
# cost.
_OF_WHAT_IS_LEFT, _OF_ALL = 2, 32

Edges = list[tuple[int, int]]
Work = Callable[[int], Any]  # on one of several blocks


class Executor(ABC):
    """Where the work of a step is done; ``workers`` do it at a time.

    Three groups of members have defaults that serve rows in the memory of one process. They define
    where arrays of rows are kept (`Disk` overrides them), which streams rows have (`ShardRows` and
    `ContentKeyed` do), and workers with a memory of their own (`Ray` has them).
    """

    workers: int

    # ---- work -------------------------------------------------------------------------

    @abstractmethod
    def calls(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        """The results of independent calls, in their order."""

    def rows(self, kernel: Callable[..., Any], rows: int, key: int, *args: Any) -> None:
        """Call ``kernel(np.uint64(key), start, stop, *args)`` on blocks that cover
        ``range(rows)``."""
        word = np.uint64(key)
        if self.workers <= 1 or rows <= 1:
            kernel(word, 0, rows, *args)
            return
        ranges = shrinking(rows, self.workers)
        self.calls([partial(kernel, word, start, stop, *args) for start, stop in ranges])

    def pipeline(self, before: Work, middle: Work, after: Work, number: int) -> None:
        """``before(i)``, then ``middle(i)``, then ``after(i)`` for i < number, the middle ones in
        order: the others may be done at the same time as the middle ones."""
        for i in range(number):
            before(i)
            middle(i)
            after(i)

    # ---- where arrays of rows are kept ------------------------------------------------

    memory: int | None = None  # bytes of rows that may be in memory; None: all of them are

    @property
    def local(self) -> Executor:
        """The executor for arrays without rows, which are in the memory of this process."""
        return self

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """Zeros for rows, in the memory of the executor."""
        return np.zeros(shape, dtype)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """The same with anything in it."""
        return np.empty(shape, dtype)

    def cut(self, rows: int, *arrays: Any) -> Edges:
        """``range(rows)`` in ranges, one for each worker, or more if the rows of ``arrays`` (or of
        tuples of them) must not be in memory all at once."""
        return list(pairwise(rows * i // self.workers for i in range(self.workers + 1)))

    def shares(self, rows: int, *arrays: Any) -> Edges:
        """The same for workers that take one range after another: shorter and shorter."""
        return shrinking(rows, self.workers) if self.workers > 1 else [(0, rows)]

    def release(self) -> None:  # noqa: B027
        """Note that some rows were read or written, and are no longer needed in memory."""

    # ---- which streams rows have ------------------------------------------------------

    own_streams = False  # rows have other streams than those of their numbers in the arrays
    first = 0  # the number, among all rows, of the first row of the arrays

    def row_key(self, key: int, rows: int) -> np.uint64 | RowKeys:
        """The key with which kernels on ``rows`` rows are called."""
        return np.uint64(key)

    def by_blocks(self, size: int) -> Executor:
        """The executor for kernels whose "rows" are blocks of ``size`` rows."""
        return self

    # ---- workers with a memory of their own -------------------------------------------

    spreads_rows = False  # `worker_pool` gives workers that keep the rows

    def worker_pool(self) -> WorkerPool | None:
        """The workers that keep the rows, if there are any."""
        return None


class DelegatingExecutor(Executor):
    """An executor that delegates its work to another one, ``below``."""

    def __init__(self, below: Executor) -> None:
        self.below, self.workers = below, below.workers

    def rows(self, kernel: Callable[..., Any], rows: int, key: int, *args: Any) -> None:
        self.below.rows(kernel, rows, key, *args)

    def calls(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        return self.below.calls(calls)

    def pipeline(self, before: Work, middle: Work, after: Work, number: int) -> None:
        self.below.pipeline(before, middle, after, number)


@dataclass(frozen=True)
class Threads(Executor):
    """Threads of this process. Kernels must release the GIL."""

    workers: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "workers", check_integer("Threads: workers", self.workers, 1))

    def calls(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        """This thread takes calls too, so that nothing waits for others to wake up. All calls are
        made, also if one fails: none may write to the arrays afterwards."""
        if self.workers <= 1 or len(calls) <= 1:
            return [call() for call in calls]
        waiting, results, failures = deque(enumerate(calls)), [None] * len(calls), {}

        def work() -> None:
            while waiting:
                try:
                    number, call = waiting.popleft()
                except IndexError:  # another thread was faster
                    return
                try:
                    results[number] = call()
                except Exception as error:
                    failures[number] = error

        pool = _pool(self.workers - 1)
        helpers = [pool.submit(work) for _ in range(min(self.workers, len(calls)) - 1)]
        try:
            work()
        finally:  # after Ctrl-C too
            waiting.clear()
            begun = [helper for helper in helpers if not helper.cancel()]
            wait(begun)
        for helper in begun:
            helper.result()
        if failures:
            first = failures[min(failures)]
            failures.clear()  # an error that is kept must not keep the arrays
            raise first
        return results

    def pipeline(self, before: Work, middle: Work, after: Work, number: int) -> None:
        """The middle calls run in this thread, while other threads prepare the next ones and finish
        the last ones. At the end this thread helps them, from the back."""
        if self.workers <= 1:
            super().pipeline(before, middle, after, number)
            return
        pool = _pool(self.workers - 1)
        ready = [pool.submit(before, i) for i in range(number)]
        done = []
        try:
            for i in range(number):
                ready[i].result()
                middle(i)
                done.append(pool.submit(after, i))
            for i in reversed(range(number)):
                if done[i].cancel():  # no other thread has begun it
                    after(i)
        finally:
            wait([*ready, *done])
        for future in done:
            if not future.cancelled():
                future.result()


SERIAL = Threads(1)


@lru_cache(maxsize=4)
def _pool(threads: int) -> ThreadPoolExecutor:
    """One pool for each of the last few numbers of threads. The threads of a pool end when nobody
    refers to it: it is no longer one of these pools and all its calls are done."""
    return ThreadPoolExecutor(threads, thread_name_prefix="pgbn")


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_pool.cache_clear)


def executor_of(threads: int | None = None, executor: Executor | None = None) -> Executor:
    """The executor that is given, or threads of this process: ``threads`` of them, else as many as
    PGBN_THREADS says, else one for each core."""
    if executor is None:
        return Threads(thread_count(threads))
    if threads is not None:
        raise DataError(f"threads={threads!r}, executor={executor!r}: give one of them")
    if not isinstance(executor, Executor):
        raise DataError(
            f"executor={executor!r}: give pgbn.Threads, pgbn.Disk, pgbn.Ray or an object of a "
            "subclass of pgbn.samplers.executor.Executor; or threads=…"
        )
    check_integer(f"executor={executor!r}: workers", getattr(executor, "workers", None), 1)
    return executor


def shrinking(rows: int, workers: int) -> Edges:
    """``range(rows)`` in ranges for workers that take one after another: shorter and shorter."""
    least, ranges, start = max(1, rows // (_OF_ALL * workers)), [], 0
    while start < rows:
        stop = min(rows, start + max(least, (rows - start) // (_OF_WHAT_IS_LEFT * workers)))
        ranges.append((start, stop))
        start = stop
    return ranges
