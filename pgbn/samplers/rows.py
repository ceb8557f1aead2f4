"""Rows of broadcast arrays: the common parts of the vectorised draws."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgbn.samplers.compiled import njit
from pgbn.samplers.executor import ROW_BLOCK
from pgbn.samplers.random import Stream

REAL = np.dtype(np.float64)
COUNT = np.dtype(np.int64)
PARALLEL = 20_000  # elements; below it, threads cost more than they save
_DRAWS = 8_000  # draws from which on threads pay, which take longer than other elements


def folded(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape as kernels see it, with 4 axes: those between the first and the last two are one."""
    return (shape[0], math.prod(shape[1:-2]), *shape[-2:]) if len(shape) > 4 else shape


def _fold(value: ArrayLike, dtype: np.dtype, shape: tuple[int, ...]) -> NDArray:
    """An operand of a draw of more than 4 axes, with the axes folded as those of the draw."""
    array = np.asarray(value, dtype)
    array = array.reshape((1,) * (len(shape) - array.ndim) + array.shape)
    middle = array.shape[1:-2]
    if any(size != 1 for size in middle) and middle != shape[1:-2]:
        array = np.broadcast_to(array, (array.shape[0], *shape[1:-2], *array.shape[-2:]))
    return array.reshape(folded(array.shape))


def operand(value: ArrayLike, dtype: np.dtype, shape: tuple[int, ...]) -> NDArray:
    """``value`` as an array of 4 dimensions that a kernel accepts and broadcasts to ``shape``."""
    if len(shape) > 4:
        value, shape = _fold(value, dtype, shape), folded(shape)
    if type(value) is not np.ndarray or value.dtype is not dtype or value.ndim != 4:
        array = np.asarray(value, dtype)
        if array.ndim < 4:
            array = array.reshape((1,) * (4 - array.ndim) + array.shape)
    else:
        array = value
    if not array.flags.carray:  # strided or read-only: numba would compile the kernel again
        array = array.copy()
    if array.shape != shape and not _broadcasts(array.shape, shape):
        raise ValueError(
            f"an operand of shape {array.shape} does not broadcast to the shape {shape} of the "
            "draw: each axis must have size 1 or that of the draw"
        )
    return array


def _broadcasts(sizes: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    # Written out: a loop would take a third of the time of a small draw.
    if len(sizes) != 4:
        return False
    a, b, c, d = sizes
    return (
        (a == 1 or a == shape[0])
        and (b == 1 or b == shape[1])
        and (c == 1 or c == shape[2])
        and (d == 1 or d == shape[3])
    )


def blank(stream: Stream, dtype: np.dtype = REAL) -> NDArray:
    """An uninitialised array for a draw, in the memory that the executor has for rows."""
    return stream.executor.empty(stream.shape, dtype)


def run(kernel: Callable[..., Any], stream: Stream, out: NDArray, *operands: NDArray) -> NDArray:
    """Fill ``out`` (of ``stream.shape``) by ``kernel(key, start, stop, *operands, out)``."""
    flat = out if out.ndim == 4 else out.reshape(folded(out.shape))
    executor, given, in_blocks = stream.executor, operands, False
    if flat.shape[1] == flat.shape[2] == 1 and flat.shape[3] > 1:
        executor = executor.by_blocks(ROW_BLOCK)
        if flat.shape[3] > ROW_BLOCK or executor.first:  # a part of a long line
            flat, given, in_blocks = _in_blocks(out), tuple(map(_in_blocks, operands)), True
    replicates, first, second, third = flat.shape
    rows = replicates * first * second
    apart = executor.memory is not None
    if (apart or executor.workers > 1) and rows * third >= (PARALLEL if apart else _DRAWS):
        executor.rows(kernel, rows, stream.key, *given, flat)
    elif rows * third:
        kernel(executor.row_key(stream.key, rows), 0, rows, *given, flat)
    if in_blocks:
        out[...] = flat.reshape(*out.shape[:-1], -1)[..., : out.shape[-1]]
    return out


def _in_blocks(line: NDArray) -> NDArray:
    """One long line as rows of `ROW_BLOCK`, the last one filled up with its last number, so that
    it is drawn in parts as other rows are."""
    size = line.shape[-1]
    if size == 1:
        return line
    full = np.empty((line.shape[0], -(-size // ROW_BLOCK) * ROW_BLOCK), line.dtype)
    full[:, :size] = line.reshape(-1, size)
    full[:, size:] = full[:, size - 1 : size]
    return full.reshape(line.shape[0], 1, -1, ROW_BLOCK)


@njit(cache=True, nogil=True, forceinline=True)
def row_of(array, row, out):
    """The part of a broadcast operand for row ``row`` of ``out``: a vector of size d3 or 1."""
    _, first, second, _ = out.shape
    k = row % second
    row //= second
    j = row % first
    i = row // first
    # An index beyond an axis of size 1 is its only one.
    return array[min(i, array.shape[0] - 1), min(j, array.shape[1] - 1), min(k, array.shape[2] - 1)]


@njit(cache=True, nogil=True)
def entry(array, i, j, k, m):
    """Element (i, j, k, m) of a broadcast operand."""
    last = array.shape
    return array[min(i, last[0] - 1), min(j, last[1] - 1), min(k, last[2] - 1), min(m, last[3] - 1)]
