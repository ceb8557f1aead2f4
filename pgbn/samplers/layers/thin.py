"""Thinning: a count of a sum of products is shared out among the summands.

    ℓ ~ Pois(q Σ_c Π_f w_f[c])  ⇒  (ℓ_c) | ℓ ~ Mult(ℓ; ∝ Π_f w_f[c])

One kernel serves any number of factors: each factor is a flat array with a stride for every
axis of the cells and an offset for every summand c. The counts of summand c are added to the
entry of every factor that took part in it.
"""

import numpy as np
from numba import njit

from pgbn.samplers.random import restart, uniform
from pgbn.samplers.variates.multinomial import draw_multinomial

__all__ = ["cell_rates", "thin_cells", "thin_dense"]


@njit(cache=True, nogil=True)
def _weigh(factors, strides, offsets, row, column, second, third, base, weights):
    """Fill ``weights`` with Π_f w_f[c] for the cell; ``base`` gets each factor's position."""
    middle = row // third
    first = middle // second
    total = 0.0
    for f in range(len(factors)):
        base[f] = (
            first * strides[f, 0]
            + (middle % second) * strides[f, 1]
            + (row % third) * strides[f, 2]
            + column * strides[f, 3]
        )
    for c in range(weights.size):
        product = 1.0
        for f in range(len(factors)):
            product *= factors[f][base[f] + offsets[f, c]]
        weights[c] = product
        total += product
    return total


@njit(cache=True, nogil=True)
def _share(rng, count, weights, total, share, targets, base, offsets):
    """Draw the multinomial and add it to the targets."""
    if count == 1 and total > 0.0:
        left = uniform(rng) * total
        c = 0
        while c < weights.size - 1:
            left -= weights[c]
            if left < 0.0:
                break
            c += 1
        while weights[c] == 0.0 and c > 0:  # rounding must not choose an impossible summand
            c -= 1
        for f in range(len(targets)):
            if targets[f].size:
                targets[f][base[f] + offsets[f, c]] += 1
        return
    share[:] = 0
    draw_multinomial(rng, count, weights, share)
    for c in range(weights.size):
        if share[c]:
            for f in range(len(targets)):
                if targets[f].size:
                    targets[f][base[f] + offsets[f, c]] += share[c]


@njit(cache=True, nogil=True)
def thin_dense(key, start, stop, counts, factors, targets, strides, offsets):
    """Thin a 4-d array of counts; rows run over its first three axes."""
    _, second, third, columns = counts.shape
    flat = counts.reshape(-1, columns)
    rng = np.empty(2, np.uint64)
    weights = np.empty(offsets.shape[1])
    share = np.empty(offsets.shape[1], np.int64)
    base = np.empty(len(factors), np.int64)
    for row in range(start, stop):
        started = False
        for column in range(columns):
            count = flat[row, column]
            if count:
                if not started:
                    restart(rng, key, row)
                    started = True
                total = _weigh(factors, strides, offsets, row, column, second, third, base, weights)
                _share(rng, count, weights, total, share, targets, base, offsets)


@njit(cache=True, nogil=True)
def thin_cells(
    key, start, stop, second, third, indptr, indices, counts, factors, targets, strides, offsets
):
    """Thin the counts of sparse cells (rows × columns, CSR)."""
    rng = np.empty(2, np.uint64)
    weights = np.empty(offsets.shape[1])
    share = np.empty(offsets.shape[1], np.int64)
    base = np.empty(len(factors), np.int64)
    for row in range(start, stop):
        if indptr[row] < indptr[row + 1]:
            restart(rng, key, row)
        for cell in range(indptr[row], indptr[row + 1]):
            if counts[cell]:
                total = _weigh(
                    factors, strides, offsets, row, indices[cell], second, third, base, weights
                )
                _share(rng, counts[cell], weights, total, share, targets, base, offsets)


@njit(cache=True, nogil=True)
def cell_rates(start, stop, second, third, indptr, indices, factors, strides, offsets, out):
    """out[cell] = Σ_c Π_f w_f[c] for sparse cells."""
    weights = np.empty(offsets.shape[1])
    base = np.empty(len(factors), np.int64)
    for row in range(start, stop):
        for cell in range(indptr[row], indptr[row + 1]):
            out[cell] = _weigh(
                factors, strides, offsets, row, indices[cell], second, third, base, weights
            )
