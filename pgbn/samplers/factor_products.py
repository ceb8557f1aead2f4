"""Sums of products of two factors at the non-zero cells of a matrix, and back.

The rate of cell (i, j) is λ_ij = Σ_k a_ik b_jk. If n_ij counts are shared out in proportion to the
summands, topic k receives a_ik b_jk n_ij / λ_ij of them. Row i then receives, from all its cells,
a_ik Σ_j w_ij b_jk with w = n / λ, and column j receives b_jk Σ_i w_ij a_ik. So no array of cells ×
topics is needed: `cell_rates` gives λ, and `weighted_rows` the two sums, the second one by columns.
Each row of the result is written by one thread, in a fixed order.
"""

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.lanes import (
    LANES,
    add_product,
    broadcast,
    last,
    load_lanes,
    pointer,
    running_sum,
    store_lanes,
    zeros,
)

_1, _LANES, _BLOCK = np.uint64(1), np.uint64(LANES), np.uint64(4 * LANES)


def padded(matrix: np.ndarray) -> np.ndarray:
    """A matrix with zeros to the right, up to a multiple of the lanes: C-contiguous float64."""
    rows, width = matrix.shape
    out = np.zeros((rows, max(1, -(-width // LANES)) * LANES))
    out[:, :width] = matrix
    return out


@njit(cache=True, nogil=True)
def cell_rates(_key, start, stop, edges, columns, a, b, out):
    """out_c = Σ_k a_ik b_jk at every cell c = (i, j) of the rows start…stop."""
    rows, others, size = pointer(a), pointer(b), np.uint64(a.shape[1])
    for i in range(start, stop):
        begin = np.uint64(i) * size
        for c in range(edges[i], edges[i + 1]):
            other, k, total = np.uint64(columns[c]) * size, np.uint64(0), zeros(rows)
            while k < size:
                total = add_product(
                    total, load_lanes(rows, begin + k), load_lanes(others, other + k)
                )
                k += _LANES
            out[c] = last(running_sum(total))


@njit(cache=True, nogil=True)
def weighted_rows(_key, start, stop, edges, columns, weights, b, out):
    """out_i = Σ_c w_c b_j over the cells c = (i, j) of row i, for the rows start…stop."""
    others, sums, size = pointer(b), pointer(out), np.uint64(b.shape[1])
    for i in range(start, stop):
        k = np.uint64(0)
        while k < size:
            total = zeros(others)
            for c in range(edges[i], edges[i + 1]):
                at = np.uint64(columns[c]) * size + k
                total = add_product(total, broadcast(weights[c]), load_lanes(others, at))
            store_lanes(sums, np.uint64(i) * size + k, total)
            k += _LANES
