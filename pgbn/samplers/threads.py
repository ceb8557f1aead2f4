"""Run a row kernel on blocks of rows, in threads."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

__all__ = ["run_behind", "run_calls", "run_rows"]

_BLOCKS_PER_THREAD = 4  # rows differ in cost: a thread that finishes early takes another block


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """One pool for each number of threads asked for; it lives as long as the process."""
    return ThreadPoolExecutor(threads, thread_name_prefix="pgbn")


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_pool.cache_clear)


def run_rows(kernel: Callable[..., Any], rows: int, threads: int, key: int, *args: Any) -> None:
    """Call ``kernel(np.uint64(key), start, stop, *args)`` on blocks that cover ``range(rows)``.

    The kernel must release the GIL, and must draw row i from the stream of (key, i) alone and
    write to places that belong to row i alone. Then the result does not depend on ``threads``.
    """
    word = np.uint64(key)
    blocks = min(rows, threads * _BLOCKS_PER_THREAD)
    if threads <= 1 or blocks <= 1:
        kernel(word, 0, rows, *args)
        return
    edges = [rows * block // blocks for block in range(blocks + 1)]
    pool = _pool(threads)
    futures = [pool.submit(kernel, word, start, stop, *args) for start, stop in pairwise(edges)]
    wait(futures)  # all of them, also if one fails: none may write to the arrays afterwards
    for future in futures:
        future.result()


def run_calls(threads: int, calls: list[Callable[[], Any]]) -> list[Any]:
    """The results of independent calls, run in threads."""
    if threads <= 1 or len(calls) <= 1:
        return [call() for call in calls]
    futures = [_pool(threads).submit(call) for call in calls]
    wait(futures)
    return [future.result() for future in futures]


def run_behind(
    threads: int,
    before: Callable[[int], Any],
    middle: Callable[[int], Any],
    after: Callable[[int], Any],
    number: int,
) -> None:
    """``before(i)``, then ``middle(i)``, then ``after(i)`` for i < number: the middle ones in
    order, in this thread, while other threads prepare the next ones and finish the last ones.
    At the end this thread helps them, from the back."""
    if threads <= 1:
        for i in range(number):
            before(i)
            middle(i)
            after(i)
        return
    pool = _pool(threads - 1)
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
