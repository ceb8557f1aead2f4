"""Sums of rows, with the same bits wherever they are computed: the order of the sum is fixed."""

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.simd.lanes import LANES, add_lanes, last, load_lanes, pointer, running_sum, zeros

__all__ = ["row_total", "sum_rows"]

_0, _1, _LANES = np.uint64(0), np.uint64(1), np.uint64(LANES)


@njit(cache=True, nogil=True, forceinline=True)
def row_total(numbers, begin, size):
    """Σ numbers[begin : begin + size], in sixteen sums that are added up at the end."""
    sums, k = zeros(numbers), _0
    while k + _LANES <= size:
        sums = add_lanes(sums, load_lanes(numbers, begin + k))
        k += _LANES
    total = last(running_sum(sums))
    while k < size:
        total += numbers[begin + k]
        k += _1
    return total


@njit(cache=True, nogil=True)
def sum_rows(_key, start, stop, a, out):
    """out_i = Σ_k a_ik for the rows start…stop."""
    numbers, size = pointer(a), np.uint64(a.shape[1])
    for i in range(start, stop):
        out[i] = row_total(numbers, np.uint64(i) * size, size)
