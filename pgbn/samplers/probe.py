"""A small kernel with every feature that `pgbn.samplers.linked` handles: functions that it calls,
inlined or not, a nested one, sums of arrays, a bundle of bundles, words in its frame."""

from typing import Any, NamedTuple

import numpy as np

from pgbn.samplers.compiled import keep, njit, uncounted
from pgbn.samplers.random import new_rng


class _Inner(NamedTuple):
    numbers: Any
    factor: Any


class _Outer(NamedTuple):
    inner: Any
    numbers: Any
    both: Any


@njit(nogil=True, forceinline=True)
def _scaled(bundle, i):
    return bundle.inner.factor * bundle.inner.numbers[i]


@njit(nogil=True)
def _total(bundle, first):
    total = 0.0
    for i in range(first, bundle.numbers.size):
        total += _scaled(bundle, i) * bundle.numbers[i]
    return total


@njit(cache=True, nogil=True)
def _probed(numbers, factor):
    def less(x):
        return x - 0.25

    squares = numbers * numbers + 1.0
    room = _Outer(_Inner(numbers, factor), squares, (numbers, squares))
    bundle, bare = uncounted(room), uncounted(numbers)
    words = new_rng()
    words[0], words[1] = 1, words.size
    total = _total(bundle, 0) - less(_total(bundle, first=1)) + words.sum()
    total += bare[0] * bundle.both[1][0]
    keep(room)
    return total


def try_kernel() -> None:
    """Compile the kernel in the way on trial, or read it from disk; an error if it is wrong."""
    kernels = (_probed, _total, _scaled)
    for each in kernels:
        vars(each).pop("dispatcher", None)  # of a way that failed
    found = _probed(np.array([3.0, 5.0, 7.0]), 0.5)
    expected = 0.5 * 3.0 * 10.0 + 0.25 + 3.0 + 3.0 * 10.0
    if found != expected:
        raise ArithmeticError(f"a kernel computed {found!r} in place of {expected!r}")
