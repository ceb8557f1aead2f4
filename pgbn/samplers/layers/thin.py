"""Thinning: a count of a sum of products is shared out among the summands.

    ℓ ~ Pois(q Σ_c Π_f w_f[c])  ⇒  (ℓ_c) | ℓ ~ Mult(ℓ; ∝ Π_f w_f[c])

One kernel serves any number of factors. The counts of summand c are added to the entry of every
factor that took part in it: a target is an array like the factor's, or empty if its counts are not
wanted.
"""

from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.random import restart, uniform
from pgbn.samplers.variates.multinomial import draw_multinomial

__all__ = [
    "Factors",
    "begin_row",
    "cell_rates",
    "scratch_of",
    "thin_cells",
    "thin_dense",
    "weigh_cell",
]


class Factors(NamedTuple):
    """Where the factors of every summand are, each in a flat array of its own.

    At the cell (i, j, …, v) of an array (·, *lengths, ·), factor f of summand c is ``array[f]`` at
    i·strides[f, 0] + j·strides[f, 1] + … + v·strides[f, -1] + offsets[f, c]. Rows are numbered in
    the order of all axes but the last.
    """

    array: tuple[np.ndarray, ...]
    strides: np.ndarray
    offsets: np.ndarray
    lengths: np.ndarray


class _Scratch(NamedTuple):
    """Of one cell: the weight of each summand, its share, and where in each factor the cell is;
    and where its row begins."""

    weight: np.ndarray
    share: np.ndarray
    base: np.ndarray
    start: np.ndarray


@njit(cache=True, nogil=True)
def scratch_of(factors):
    summands, number = factors.offsets.shape[1], len(factors.array)
    return _Scratch(
        np.empty(summands),
        np.empty(summands, np.int64),
        np.empty(number, np.int64),
        np.empty(number, np.int64),
    )


@njit(cache=True, nogil=True)
def begin_row(factors, row, scratch):
    """Find where a row begins in each factor."""
    strides, lengths = factors.strides, factors.lengths
    scratch.start[:] = 0
    for axis in range(lengths.size, 0, -1):
        inside = row % lengths[axis - 1]
        row //= lengths[axis - 1]
        for f in range(strides.shape[0]):
            scratch.start[f] += inside * strides[f, axis]
    for f in range(strides.shape[0]):
        scratch.start[f] += row * strides[f, 0]


@njit(cache=True, nogil=True)
def weigh_cell(factors, column, scratch):
    """Write the weights Π_f w_f[c] of a cell of the row, and its place in each factor; Σ_c of
    them."""
    array, strides, offsets, lengths = factors
    weight, base = scratch.weight, scratch.base
    last = lengths.size + 1
    total = 0.0
    for f in range(len(array)):
        base[f] = scratch.start[f] + column * strides[f, last]
    for c in range(weight.size):
        product = 1.0
        for f in range(len(array)):
            product *= array[f][base[f] + offsets[f, c]]
        weight[c] = product
        total += product
    return total


@njit(cache=True, nogil=True)
def _share(rng, count, total, offsets, targets, scratch):
    """Draw the multinomial of the cell that was weighed, and add it to the targets."""
    weight, share, base = scratch.weight, scratch.share, scratch.base
    if count == 1 and total > 0.0:
        left = uniform(rng) * total
        c = 0
        while c < weight.size - 1:
            left -= weight[c]
            if left < 0.0:
                break
            c += 1
        while weight[c] == 0.0 and c > 0:  # rounding must not choose an impossible summand
            c -= 1
        for f in range(len(targets)):
            if targets[f].size:
                targets[f][base[f] + offsets[f, c]] += 1
        return
    share[:] = 0
    draw_multinomial(rng, count, weight, share)
    for c in range(weight.size):
        if share[c]:
            for f in range(len(targets)):
                if targets[f].size:
                    targets[f][base[f] + offsets[f, c]] += share[c]


@njit(cache=True, nogil=True)
def thin_dense(key, start, stop, counts, factors, targets):
    """Thin the counts of rows × columns."""
    rng, scratch = np.empty(2, np.uint64), scratch_of(factors)
    for row in range(start, stop):
        started = False
        for column in range(counts.shape[1]):
            count = counts[row, column]
            if count:
                if not started:
                    restart(rng, key, row)
                    begin_row(factors, row, scratch)
                    started = True
                total = weigh_cell(factors, column, scratch)
                _share(rng, count, total, factors.offsets, targets, scratch)


@njit(cache=True, nogil=True)
def thin_cells(key, start, stop, cells, numbers, factors, targets):
    """Thin the counts of sparse cells. Rows have the ``numbers`` given; if none, 0, 1, …"""
    indptr, indices, counts = cells
    rng, scratch = np.empty(2, np.uint64), scratch_of(factors)
    for row in range(start, stop):
        if indptr[row] < indptr[row + 1]:
            number = numbers[row] if numbers.size else row
            restart(rng, key, number)
            begin_row(factors, number, scratch)
        for cell in range(indptr[row], indptr[row + 1]):
            if counts[cell]:
                total = weigh_cell(factors, indices[cell], scratch)
                _share(rng, counts[cell], total, factors.offsets, targets, scratch)


@njit(cache=True, nogil=True)
def cell_rates(start, stop, indptr, indices, numbers, factors, out):
    """out[cell] = Σ_c Π_f w_f[c] for sparse cells, whose rows have ``numbers`` as above."""
    scratch = scratch_of(factors)
    for row in range(start, stop):
        if indptr[row] < indptr[row + 1]:
            begin_row(factors, numbers[row] if numbers.size else row, scratch)
        for cell in range(indptr[row], indptr[row + 1]):
            out[cell] = weigh_cell(factors, indices[cell], scratch)
