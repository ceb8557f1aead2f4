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
    """Where the work of a step is done: on threads, block by block on disk, or by other processes.

    A subclass writes ``workers`` and `calls`. All other members have defaults, which serve rows in
    the memory of one process. `Disk` overrides where arrays of rows are kept, and `Ray` has workers
    with a memory of their own.

    Attributes
    ----------
    workers : int
        How many calls are made at the same time.
    memory : int or None
        How many bytes of rows may be in memory; None if all of them are.
    spreads_rows : bool
        Whether `worker_pool` gives workers that keep the rows.

    Examples
    --------
    >>> import numpy as np, pgbn
    >>> class Backwards(pgbn.extend.Executor):
    ...     workers = 1
    ...     def calls(self, calls):
    ...         return [call() for call in reversed(calls)][::-1]
    >>> net, x = pgbn.zoo.pfa(2), np.array([[3, 0, 1], [0, 2, 2]])
    >>> draws = net.sample({"x": x}, burn_in=1, draws=1, executor=Backwards())
    >>> bool((draws["r"] == net.sample({"x": x}, burn_in=1, draws=1, threads=2)["r"]).all())
    True
    """

    workers: int

    # ---- work -------------------------------------------------------------------------

    @abstractmethod
    def calls(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        """The results of independent calls, in their order.

        Parameters
        ----------
        calls : sequence of callable
            Functions without arguments. They may be called in any order, and at the same time.

        Returns
        -------
        list
            The result of each call.

        Examples
        --------
        >>> import pgbn
        >>> pgbn.Threads(2).calls([lambda: "a", lambda: "b"])
        ['a', 'b']
        """

    def rows(self, kernel: Callable[..., Any], rows: int, key: int, *args: Any) -> None:
        """Call a kernel on blocks that cover all rows.

        Parameters
        ----------
        kernel : callable
            A function of ``(np.uint64(key), start, stop, *args)``, which works on the rows from
            ``start`` to ``stop`` alone.
        rows : int
            The number of rows.
        key : int
            The key of the draw.
        *args
            Further arguments of the kernel.

        Examples
        --------
        >>> import numpy as np, pgbn
        >>> out = np.zeros(4)
        >>> def fill(key, start, stop, out):
        ...     out[start:stop] = key
        >>> pgbn.Threads(2).rows(fill, 4, 7, out)
        >>> out
        array([7., 7., 7., 7.])
        """
        word = np.uint64(key)
        if self.workers <= 1 or rows <= 1:
            kernel(word, 0, rows, *args)
            return
        ranges = shrinking(rows, self.workers)
        self.calls([partial(kernel, word, start, stop, *args) for start, stop in ranges])

    def pipeline(self, before: Work, middle: Work, after: Work, number: int) -> None:
        """Call ``before(i)``, then ``middle(i)``, then ``after(i)`` for each i < number.

        Parameters
        ----------
        before, middle, after : callable
            Functions of i. The middle ones are called in order; the others may be called while a
            middle one of another i runs.
        number : int
            How many there are.

        Examples
        --------
        >>> import pgbn
        >>> pgbn.Threads(1).pipeline(lambda i: None, print, lambda i: None, 2)
        0
        1
        """
        for i in range(number):
            before(i)
            middle(i)
            after(i)

    # ---- where arrays of rows are kept ------------------------------------------------

    memory: int | None = None

    @property
    def local(self) -> Executor:
        """The executor for arrays without rows, which are in the memory of this process."""
        return self

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """Zeros for rows, in the memory of the executor.

        Parameters
        ----------
        shape : tuple of int
            The shape.
        dtype : dtype
            The kind of numbers.

        Returns
        -------
        ndarray
            The array.

        Examples
        --------
        >>> import pgbn
        >>> pgbn.Threads(1).zeros((2,), int)
        array([0, 0])
        """
        return np.zeros(shape, dtype)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """An array as `zeros` makes it, with anything in it.

        Parameters
        ----------
        shape : tuple of int
            The shape.
        dtype : dtype
            The kind of numbers.

        Returns
        -------
        ndarray
            The array.

        Examples
        --------
        >>> import pgbn
        >>> pgbn.Threads(1).empty((2, 3), int).shape
        (2, 3)
        """
        return np.empty(shape, dtype)

    def cut(self, rows: int, *arrays: Any) -> Edges:
        """``range(rows)`` in ranges, one for each worker.

        There are more ranges if the rows of the arrays must not be in memory all at once.

        Parameters
        ----------
        rows : int
            The number of rows.
        *arrays : ndarray or tuple of ndarray
            The arrays that are read and written together.

        Returns
        -------
        list of (int, int)
            The first row of each range, and the one after its last.

        Examples
        --------
        >>> import pgbn
        >>> pgbn.Threads(2).cut(10)
        [(0, 5), (5, 10)]
        """
        return list(pairwise(rows * i // self.workers for i in range(self.workers + 1)))

    def shares(self, rows: int, *arrays: Any) -> Edges:
        """``range(rows)`` in ranges for workers that take one after another: shorter and shorter.

        Parameters
        ----------
        rows : int
            The number of rows.
        *arrays : ndarray or tuple of ndarray
            The arrays that are read and written together.

        Returns
        -------
        list of (int, int)
            The first row of each range, and the one after its last.

        Examples
        --------
        >>> import pgbn
        >>> pgbn.Threads(2).shares(10)
        [(0, 2), (2, 4), (4, 5), (5, 6), (6, 7), (7, 8), (8, 9), (9, 10)]
        """
        return shrinking(rows, self.workers) if self.workers > 1 else [(0, rows)]

    def release(self) -> None:  # noqa: B027
        """Note that some rows were read or written, and are no longer needed in memory.

        Examples
        --------
        >>> import pgbn
        >>> pgbn.Threads(1).release()
        """

    # ---- which streams rows have ------------------------------------------------------

    _own_streams = False  # rows have other streams than those of their numbers in the arrays
    _first = 0  # the number, among all rows, of the first row of the arrays

    def _row_key(self, key: int, rows: int) -> np.uint64 | RowKeys:
        """The key with which kernels on ``rows`` rows are called."""
        return np.uint64(key)

    def _by_blocks(self, size: int) -> Executor:
        """The executor for kernels whose "rows" are blocks of ``size`` rows."""
        return self

    # ---- workers with a memory of their own -------------------------------------------

    spreads_rows = False

    def worker_pool(self) -> WorkerPool | None:
        """The workers that keep the rows, if there are any.

        Returns
        -------
        WorkerPool or None
            The workers. They are started when they are first needed.

        Examples
        --------
        >>> import pgbn
        >>> pgbn.Threads(2).worker_pool() is None
        True
        """
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
    """Threads of this process. Kernels must release the GIL.

    Parameters
    ----------
    workers : int
        The number of threads, at least 1.

    Examples
    --------
    ``threads=2`` is short for ``executor=pgbn.Threads(2)``. The number never changes a draw.

    >>> import numpy as np, pgbn
    >>> net, x = pgbn.zoo.pfa(2), np.array([[3, 0, 1], [0, 2, 2]])
    >>> draws = net.sample({"x": x}, burn_in=1, draws=1, executor=pgbn.Threads(2))
    >>> bool((draws["r"] == net.sample({"x": x}, burn_in=1, draws=1, threads=1)["r"]).all())
    True
    """

    workers: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "workers", check_integer("Threads: workers", self.workers, 1))

    def calls(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        # This thread takes calls too, so that nothing waits for others to wake up. All calls are
        # made, also if one fails: none may write to the arrays afterwards.
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
        # The middle calls run in this thread, while other threads prepare the next ones and finish
        # the last ones. At the end this thread helps them, from the back.
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
            "subclass of pgbn.extend.Executor, such as executor=pgbn.Threads(4); or threads=4"
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
