"""Executors: the one object through which rows are drawn on several threads.

An executor decides where work is done, never what comes out. A row kernel draws row i from the
stream of (key, i) alone and writes to places that belong to row i alone; calls are independent of
each other. So every executor gives the same bits, and another one, for other machinery, needs no
more than the methods of `Executor`.

An executor may also keep the arrays that have rows (``empty(shape, dtype)``, zeros), say where work
on rows is to be cut (``cut(rows, *arrays)``), and ``release()`` the memory of rows: see
`pgbn.samplers.disk`. Whoever makes such an array, cuts or reads rows asks `rows_array`, `cut_rows`
and `release_rows`.
"""

import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_integer, thread_count
from pgbn.errors import DataError

# Rows are numbered in blocks of so many, wherever they are worked on: shards begin with a block,
# and what draws several rows or cells from one stream begins a new one with each.
ROW_BLOCK = 256
# Rows differ in cost. A thread that is ready takes a part of what is left, so that blocks shrink
# and all end at nearly the same time; a block is no less than a part of all: a call has its cost.
_OF_WHAT_IS_LEFT, _OF_ALL = 2, 32


class Executor(Protocol):
    """Where the work of a step is done; ``workers`` do it at a time."""

    @property
    def workers(self) -> int: ...

    def rows(self, kernel: Callable[..., Any], rows: int, key: int, *args: Any) -> None:
        """Call ``kernel(np.uint64(key), start, stop, *args)`` on blocks that cover
        ``range(rows)``."""

    def calls(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        """The results of independent calls, in their order."""

    def behind(
        self,
        before: Callable[[int], Any],
        middle: Callable[[int], Any],
        after: Callable[[int], Any],
        number: int,
    ) -> None:
        """``before(i)``, then ``middle(i)``, then ``after(i)`` for i < number, the middle ones in
        order: what comes before and after them may be done beside them."""


class DelegatingExecutor(ABC):
    """An executor on top of another, ``below``, which makes its calls."""

    @property
    @abstractmethod
    def below(self) -> Executor: ...

    def calls(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        return self.below.calls(calls)

    def behind(
        self,
        before: Callable[[int], Any],
        middle: Callable[[int], Any],
        after: Callable[[int], Any],
        number: int,
    ) -> None:
        self.below.behind(before, middle, after, number)


@dataclass(frozen=True)
class Threads:
    """Threads of this process. Kernels must release the GIL."""

    workers: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "workers", check_integer("Threads: workers", self.workers, 1))

    def rows(self, kernel: Callable[..., Any], rows: int, key: int, *args: Any) -> None:
        word = np.uint64(key)
        if self.workers <= 1 or rows <= 1:
            kernel(word, 0, rows, *args)
            return
        ranges = shrinking(rows, self.workers)
        self.calls([partial(kernel, word, start, stop, *args) for start, stop in ranges])

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

    def behind(
        self,
        before: Callable[[int], Any],
        middle: Callable[[int], Any],
        after: Callable[[int], Any],
        number: int,
    ) -> None:
        """The middle ones run in this thread, while others prepare the next ones and finish the
        last ones. At the end this thread helps them, from the back."""
        if self.workers <= 1:
            for i in range(number):
                before(i)
                middle(i)
                after(i)
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
    """One pool for each of the last few numbers of threads asked for. The threads of a pool end
    when nobody refers to it, which is when it is not among them and all its calls are done."""
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
    for method in ("rows", "calls", "behind"):
        if not callable(getattr(executor, method, None)):
            raise DataError(
                f"executor={executor!r}: it has no method {method!r}; give an object with the "
                "methods of pgbn.samplers.executor.Executor, or threads=…"
            )
    check_integer(f"executor={executor!r}: workers", getattr(executor, "workers", None), 1)
    return executor


def rows_array(executor: Executor, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Zeros for rows, where the executor keeps them: in memory unless it says otherwise."""
    make = getattr(executor, "empty", None)
    return np.zeros(shape, dtype) if make is None else make(shape, dtype)


def in_memory(executor: Executor) -> Executor:
    """The executor for arrays without rows, which are in memory whoever keeps the rows."""
    return getattr(executor, "in_memory", executor)


def keeps_rows(executor: Executor) -> bool:
    """Whether the executor keeps rows in another place than memory."""
    return getattr(executor, "empty", None) is not None


def release_rows(executor: Executor) -> None:
    """Tell that some rows were read or written, and are not needed in memory now."""
    release = getattr(executor, "release", None)
    if release is not None:
        release()


def cut_rows(executor: Executor, rows: int, *arrays: Any) -> list[tuple[int, int]]:
    """``range(rows)`` in ranges, one for each worker, or more where the rows of ``arrays`` (or of
    tuples of them) are not to be in memory all at once."""
    cut = getattr(executor, "cut", None)
    if cut is not None:
        return list(cut(rows, *arrays))
    return list(pairwise(rows * i // executor.workers for i in range(executor.workers + 1)))


def shrinking(rows: int, workers: int) -> list[tuple[int, int]]:
    """``range(rows)`` in ranges for workers that take one after another: shorter and shorter."""
    least, ranges, start = max(1, rows // (_OF_ALL * workers)), [], 0
    while start < rows:
        stop = min(rows, start + max(least, (rows - start) // (_OF_WHAT_IS_LEFT * workers)))
        ranges.append((start, stop))
        start = stop
    return ranges


def share_rows(executor: Executor, rows: int, *arrays: Any) -> list[tuple[int, int]]:
    """``range(rows)`` in ranges for `Executor.calls`: see `cut_rows` and `shrinking`."""
    if getattr(executor, "cut", None) is not None:
        return cut_rows(executor, rows, *arrays)
    return shrinking(rows, executor.workers) if executor.workers > 1 else [(0, rows)]


def row_word(executor: Executor, key: int, rows: int) -> np.uint64:
    """The key that kernels on ``rows`` rows are called with: of a part of all rows, the one under
    which its first row has the stream that it has among all, see `pgbn.samplers.shard`."""
    word = getattr(executor, "word", None)
    return np.uint64(key) if word is None else word(key, rows)


def by_blocks(executor: Executor, size: int) -> Executor:
    """The executor for kernels whose "rows" are blocks of ``size`` rows."""
    blocks = getattr(executor, "by_blocks", None)
    return executor if blocks is None else blocks(size)


def numbers_rows(executor: Executor) -> bool:
    """Whether the streams of rows are not those of their numbers in the arrays, so that no other
    executor can draw them."""
    return hasattr(executor, "word") or hasattr(executor, "keys")
