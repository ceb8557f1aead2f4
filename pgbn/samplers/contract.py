"""Σ_k a[i, k] b[j, k]: products of matrices and sums of rows, bit-identical on any threads.

A library's product may sum in another order when it runs on other threads; this one adds the
summands of every entry in a fixed order. ``b`` is turned into tiles of 64 columns, whose sums stay
in registers; some rows of ``a`` pass over a tile before the next tile is taken.

For the shapes of gamma layers the tiles are float32. A relative error of 1e-7 in a shape is far
below what any number of samples shows. Entries of ``a`` below 2^-53 of their row's sum are skipped
there: most hidden units of a deep layer are such. They would change a shape by less than its
rounding, or make one of less than 1e-16 of the others, whose gamma and counts are 0 but for a
chance of that size. Rows of ``a`` are divided by their sums first, so that nothing overflows.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgbn.samplers.compiled import keep, njit, uncounted
from pgbn.samplers.lanes import (
    LANES,
    add_product,
    broadcast,
    filled,
    find_above,
    load_lanes,
    pointer,
    row_total,
    store_lanes,
    zeros,
)

BLOCK = 32  # rows that pass over a tile together
NEGLIGIBLE = 2.0**-53
_TINY = float(np.finfo(np.float64).tiny)
_MOST = 1e30  # the largest factor of a row in float32
_WIDTH = 64  # columns of a tile
_0, _2, _3 = np.uint64(0), np.uint64(2), np.uint64(3)
_LANES, _COLUMNS = np.uint64(LANES), np.uint64(_WIDTH)


class Contraction(NamedTuple):
    """A matrix ``b``, divided by its largest entry ``scale[0]``, in tiles; ``least``, the bound of
    entries that count in a row, sixteen times; the weights of a block's rows, and the places of
    those that count, up to ``ends``; and their product with ``b``: row i of a · b is ``out[i] *
    sums[i]``."""

    tiles: np.ndarray
    scale: np.ndarray
    least: np.ndarray
    weight: np.ndarray
    place: np.ndarray
    ends: np.ndarray
    sums: np.ndarray
    out: np.ndarray


@njit(cache=True, nogil=True)
def contraction(columns, inner, kind):
    """Scratch for products with a matrix of ``columns`` × ``inner``, in numbers of a kind."""
    tiles = (columns + _WIDTH - 1) // _WIDTH
    return Contraction(
        filled(np.empty(tiles * inner * _WIDTH, kind), 0.0).reshape((tiles, inner, _WIDTH)),
        np.empty(1),
        np.empty(LANES),
        np.empty((BLOCK, inner + 1), kind),
        np.empty((BLOCK, inner + 1), np.uint64),
        np.empty(BLOCK, np.uint64),
        np.empty(BLOCK),
        np.empty((BLOCK, tiles * _WIDTH), kind),
    )


@njit(cache=True, nogil=True)
def load_matrix(work, b, replicate, current):
    """Turn the matrix of ``replicate`` into tiles, unless that was done; the new ``current``.

    tiles[j // 64, k, j % 64] = b[j, k] / max b; in float32 0 below 1e-30, as products of such
    entries would be too small.
    """
    wanted = min(replicate, b.shape[0] - 1)
    if wanted != current:
        matrix, tiles = b[wanted], work.tiles
        largest, least = _TINY, 1e-30 if tiles.itemsize == 4 else 0.0
        for j in range(matrix.shape[0]):
            for k in range(matrix.shape[1]):
                largest = max(largest, matrix[j, k])
        work.scale[0] = largest
        for j in range(matrix.shape[0]):
            for k in range(matrix.shape[1]):
                part = matrix[j, k] / largest
                tiles[j // _WIDTH, k, j % _WIDTH] = part if not part < least else 0.0
    return wanted


@njit(cache=True, nogil=True, forceinline=True)
def _add_up(tiles, weight, row, place, first, last, out, at):
    """out[at : at + 64] = Σ_k weight_k · (line k of the tile), k = place[first], … ; the weights
    of the row begin at ``row``."""
    a, b, c, d = zeros(tiles), zeros(tiles), zeros(tiles), zeros(tiles)
    for p in range(first, last):
        k = place[p]
        w, q = broadcast(weight[row + k]), k * _COLUMNS
        a = add_product(a, w, load_lanes(tiles, q))
        b = add_product(b, w, load_lanes(tiles, q + _LANES))
        c = add_product(c, w, load_lanes(tiles, q + _2 * _LANES))
        d = add_product(d, w, load_lanes(tiles, q + _3 * _LANES))
    store_lanes(out, at, a)
    store_lanes(out, at + _LANES, b)
    store_lanes(out, at + _2 * _LANES, c)
    store_lanes(out, at + _3 * _LANES, d)


@njit(cache=True, nogil=True)
def contract_rows(a, first, rows, work):
    """work.out[i] · work.sums[i] = Σ_k a[first + i, k] b[:, k] for i < rows <= BLOCK."""
    count, inner = np.uint64(work.tiles.shape[0]), np.uint64(work.tiles.shape[1])
    room = np.uint64(work.weight.shape[1])
    flat, out = pointer(a), pointer(work.out)
    weight, place, ends = pointer(work.weight), pointer(work.place), pointer(work.ends)
    least = pointer(work.least)
    for i in range(np.uint64(rows)):
        begin, at = (np.uint64(first) + i) * inner, i * room
        sum_ = row_total(flat, begin, inner)
        part = 1.0 / max(sum_, _TINY)
        for k in range(inner):
            weight[at + k] = flat[begin + k] * part
        store_lanes(least, _0, broadcast(sum_ * NEGLIGIBLE if work.tiles.itemsize == 4 else 0.0))
        ends[i] = at + find_above(flat, begin, least, _0, _0, inner, place, at)
        work.sums[i] = sum_ * work.scale[0]
    for tile in range(count):
        tiles = pointer(work.tiles[tile])
        for i in range(np.uint64(rows)):
            at = (i * count + tile) * _COLUMNS
            _add_up(tiles, weight, i * room, place, i * room, ends[i], out, at)


@njit(cache=True, nogil=True)
def _copy(work, rows, first, columns, out):
    """Rows first … first + rows of the matrix ``out`` from the block's product."""
    lines, result, width = pointer(work.out), pointer(out), np.uint64(work.out.shape[1])
    most = _MOST if out.itemsize == 4 else math.inf
    for i in range(np.uint64(rows)):
        sum_, line, place = min(work.sums[i], most), i * width, (first + i) * columns
        for j in range(columns):
            result[place + j] = lines[line + j] * sum_


@njit(cache=True, nogil=True)
def contract(_key, start, stop, a, b, out, kind):
    """Rows start…stop of out[r, i, :] = Σ_k a[r, i, k] b[r, :, k], rows numbered r·I + i.

    A row that sums to more than 1e30 is scaled down for float32: counts are negligible next to such
    shapes, and only their proportions matter.
    """
    _, size, columns = out.shape
    room = contraction(columns, a.shape[2], kind)
    work = uncounted(room)
    current = -1
    row = start
    while row < stop:
        r, i = row // size, row % size
        rows = min(BLOCK, min(size - i, stop - row))
        current = load_matrix(work, b, r, current)
        contract_rows(a[min(r, a.shape[0] - 1)], i, rows, work)
        _copy(work, rows, np.uint64(row), np.uint64(columns), out)
        row += rows
    keep(room)


@njit(cache=True, nogil=True)
def sum_rows(_key, start, stop, a, out):
    """out_i = Σ_k a_ik for the rows start…stop."""
    numbers, size = pointer(a), np.uint64(a.shape[1])
    for i in range(start, stop):
        out[i] = row_total(numbers, np.uint64(i) * size, size)


def matrix_product(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Σ_k a[i, k] b[k, j], non-negative numbers, in a fixed order."""
    rows = len(a)
    out = np.empty((1, rows, b.shape[1]))
    left = np.ascontiguousarray(a, np.float64)[None]
    right = np.ascontiguousarray(b.T, np.float64)[None]
    contract(0, 0, rows, left, right, out, np.float64)
    return np.asarray(out[0])
