"""Weighted sets: rows of a known sparse matrix w, summed and shared out entry by entry.

forward   out[i, …] = Σ_c w_ic value[c, …]
backward  ℓ_i ~ Pois(q Σ_c w_ic Π_f f[c, …])  ⇒  (ℓ_ic)_c | ℓ_i ~ Mult(ℓ_i; ∝ w_ic Π_f f[c, …])

Both go through the stored entries of a row only.
"""

from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.layers.thin import begin_row, scratch_of
from pgbn.samplers.random import restart
from pgbn.samplers.variates.multinomial import draw_multinomial

__all__ = ["SparseWeights", "sum_weighted", "thin_weighted"]


class SparseWeights(NamedTuple):
    """The entries of a sparse matrix, row by row."""

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray


@njit(cache=True, nogil=True)
def sum_weighted(key, start, stop, weights, value, out):
    """out[r, i] = Σ_c w_ic value[r, c], the entries of a row added in their order; ``start`` and
    ``stop`` count the rows of all replicates."""
    indptr, indices, w = weights
    rows = indptr.size - 1
    for line in range(start, stop):
        r, i = line // rows, line % rows
        for k in range(value.shape[2]):
            out[r, i, k] = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            c, each = indices[e], w[e]
            for k in range(value.shape[2]):
                out[r, i, k] += each * value[r, c, k]


@njit(cache=True, nogil=True)
def thin_weighted(key, start, stop, counts, weights, span, factors, targets):
    """Share the counts of rows × columns out among the entries of the rows of ``weights``: a cell
    belongs to row (cell // span) of them. The ``factors`` have the summands c as their offsets."""
    indptr, indices, w = weights
    rows, columns = indptr.size - 1, counts.shape[1]
    array, strides, offsets, lengths = factors
    rng, scratch = np.empty(2, np.uint64), scratch_of(factors)
    for line in range(start, stop):
        started = False
        for column in range(columns):
            count = counts[line, column]
            if count == 0:
                continue
            if not started:
                restart(rng, key, line)
                begin_row(factors, line, scratch)
                started = True
            first = indptr[(line * columns + column) // span % rows]
            size = indptr[(line * columns + column) // span % rows + 1] - first
            weight, share, base = scratch.weight[:size], scratch.share[:size], scratch.base
            for f in range(len(array)):
                base[f] = scratch.start[f] + column * strides[f, lengths.size + 1]
            for e in range(size):
                product = w[first + e]
                for f in range(len(array)):
                    product *= array[f][base[f] + offsets[f, indices[first + e]]]
                weight[e] = product
                share[e] = 0
            draw_multinomial(rng, count, weight, share)
            for e in range(size):
                if share[e]:
                    for f in range(len(targets)):
                        if targets[f].size:
                            targets[f][base[f] + offsets[f, indices[first + e]]] += share[e]
