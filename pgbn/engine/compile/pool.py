"""Arrays in memory that was used before.

A sweep makes large arrays and drops as many. The system takes their memory back and hands it out
again page by page, cleared: up to a sixth of the time of a deep sweep. A `Pool` remembers the
arrays that it gave out, and gives one out again when nobody refers to it any more. Whoever looks at
an array, or at a part of it, holds a reference, so that nothing that can be seen is overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from sys import getrefcount
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Pool"]

_MOST = 32  # arrays that are remembered; older ones are left to those who hold them


def _references(arrays: Sequence[NDArray[Any]]) -> list[int]:
    return [getrefcount(array) for array in arrays]


# How many there are of an array in a list and nowhere else; it depends on the version of Python.
_UNUSED = _references([np.empty(0)])[0]


class Pool:
    """A source of arrays like ``make``, which is `numpy.empty` or what an executor has for it."""

    def __init__(self, make: Callable[..., NDArray[Any]] = np.empty) -> None:
        self._make, self._arrays = make, list[NDArray[Any]]()

    def empty(self, shape: tuple[int, ...], dtype: Any = np.float64) -> NDArray[Any]:
        """An array that nobody else refers to, with anything in it."""
        for array, references in zip(self._arrays, _references(self._arrays), strict=True):
            if references == _UNUSED and array.shape == shape and array.dtype == dtype:
                return array
        array = self._make(shape, dtype)
        self._arrays = [*self._arrays[1 - _MOST :], array]
        return array
