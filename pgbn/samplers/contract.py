"""Σ_k a[i, k] b[j, k]: the product of two matrices, the same bits for any number of threads.

A library's product may sum in another order when it runs on other threads; this one adds the
summands of every entry in the order of k. Entries of ``a`` below 1e-20 of their row's sum are
left out: most hidden units of a deep layer are such, and a count that one of them causes has a
probability below the resolution of a random number (2^-53).

``b`` is turned into tiles of 32 columns, which fit the fastest cache and whose sums stay in
registers; some rows of ``a`` pass over a tile before the next tile is taken.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from pgbn.samplers.lanes import add_product, broadcast, load, store, zeros

__all__ = ["BLOCK", "NEGLIGIBLE", "Product", "contract", "contract_rows", "product", "total"]

BLOCK = 32  # rows that pass over a tile together
NEGLIGIBLE = 1e-20
_8, _16, _24 = np.uint64(8), np.uint64(16), np.uint64(24)


class Product(NamedTuple):
    """``b`` in tiles, the lists of a block's rows, and the block's product ``out``."""

    tiles: np.ndarray
    weight: np.ndarray
    place: np.ndarray
    found: np.ndarray
    out: np.ndarray


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def total(row):
    """Σ_k row_k, in an order that suits vector instructions."""
    sum_ = 0.0
    for k in range(row.size):
        sum_ += row[k]
    return sum_


@njit(cache=True, nogil=True)
def product(columns, inner):
    """Room for products with a matrix of ``columns`` × ``inner``; see `_turn`."""
    tiles = (columns + 31) // 32
    return Product(
        np.zeros((tiles, inner, 32)),
        np.empty((BLOCK, inner + 1)),
        np.empty((BLOCK, inner + 1), np.uint64),
        np.empty(BLOCK, np.int64),
        np.empty((BLOCK, tiles * 32)),
    )


@njit(cache=True, nogil=True)
def _turn(b, tiles):
    """tiles[j // 32, k, j % 32] = b[j, k]."""
    for j in range(b.shape[0]):
        for k in range(b.shape[1]):
            tiles[j // 32, k, j % 32] = b[j, k]


@njit(cache=True, nogil=True)
def _list_active(row, weight, place):
    """List the entries of a row that are not negligible; how many there are."""
    least = total(row) * NEGLIGIBLE
    found = 0
    for k in range(row.size):
        place[found] = np.uint64(k * 32)
        weight[found] = row[k]
        found += row[k] > least
    return found


@njit(cache=True, nogil=True)
def _add_up(tiles, offset, weight, place, found, out, at):
    """out[at : at + 32] = Σ_p weight_p · (row of the tile at ``offset`` that place_p gives)."""
    a, b, c, d = zeros(), zeros(), zeros(), zeros()
    for p in range(found):
        w = broadcast(weight[p])
        q = offset + place[p]
        a = add_product(a, w, load(tiles, q))
        b = add_product(b, w, load(tiles, q + _8))
        c = add_product(c, w, load(tiles, q + _16))
        d = add_product(d, w, load(tiles, q + _24))
    store(out, at, a)
    store(out, at + _8, b)
    store(out, at + _16, c)
    store(out, at + _24, d)


@njit(cache=True, nogil=True)
def contract_rows(a, first, rows, work):
    """work.out[i] = Σ_k a[first + i, k] b[:, k] for i < rows <= BLOCK."""
    count, inner, _ = work.tiles.shape
    tiles, out = work.tiles.reshape(-1), work.out.reshape(-1)
    for i in range(rows):
        work.found[i] = _list_active(a[first + i], work.weight[i], work.place[i])
    for tile in range(count):
        for i in range(rows):
            _add_up(
                tiles, np.uint64(tile * inner * 32), work.weight[i], work.place[i], work.found[i],
                out, np.uint64((i * count + tile) * 32),
            )  # fmt: skip


@njit(cache=True, nogil=True)
def load_matrix(work, b, replicate, current):
    """Turn the matrix of ``replicate`` into tiles, unless that was done; the new ``current``."""
    wanted = min(replicate, b.shape[0] - 1)
    if wanted != current:
        _turn(b[wanted], work.tiles)
    return wanted


@njit(cache=True, nogil=True)
def contract(_key, start, stop, a, b, out):
    """Rows start…stop of out[r, i, :] = Σ_k a[r, i, k] b[r, :, k], rows numbered r·I + i."""
    _, size, columns = out.shape
    work = product(columns, a.shape[2])
    current = -1
    row = start
    while row < stop:
        r, i = row // size, row % size
        rows = min(BLOCK, min(size - i, stop - row))
        current = load_matrix(work, b, r, current)
        contract_rows(a[min(r, a.shape[0] - 1)], i, rows, work)
        out[r, i : i + rows] = work.out[:rows, :columns]
        row += rows
