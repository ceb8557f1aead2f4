"""The rates of sparse cells, where one factor of each summand belongs to the column alone.

    out[cell] = Σ_c u[row, c] · w[column, c],    u[row, c] = Π_f u_f[row, c]

as in Φθ. `pgbn.samplers.layers.thin.cell_rates` gives the same bits for any factors. Here u is
found once for each row; four cells are added up at a time, since each sum waits for its last
addition; and summands that are too small to be seen are left out: products of tiny θ and φ are
often below the smallest normal number, where the processor takes dozens of times as long.
"""

import numpy as np
from numpy.typing import NDArray

from pgbn.samplers.compiled import njit
from pgbn.samplers.executor import Executor
from pgbn.samplers.layers.thin import Factors, begin_row, scratch_of, weigh_cell

__all__ = ["column_rates", "product_rates"]

# A billion summands below the one cannot be seen in a sum above the other.
_UNSEEN, _SURE = 1e-150, 1e-120


def product_rates(
    cells: tuple[NDArray[np.int64], NDArray[np.int32]],
    u: NDArray[np.float64],
    w: NDArray[np.float64],
    executor: Executor,
) -> NDArray[np.float64]:
    """Σ_c u[row, c] · w[column, c] at the ``cells`` of a sparse matrix, its indptr and indices."""
    rows, summands = u.shape
    places = np.tile(np.arange(summands), (2, 1))
    strides = np.array([[0, 0, 0, summands], [0, 0, summands, 0]])
    arrays = np.ascontiguousarray(w).reshape(-1), np.ascontiguousarray(u).reshape(-1)
    factors = Factors(arrays, strides, places, np.array([1, rows]))
    out = np.empty(cells[1].size)

    def work(_key: np.uint64, start: int, stop: int) -> None:
        column_rates(start, stop, *cells, np.zeros(0, np.int64), factors, 0, out)

    executor.rows(work, rows, 0)
    return out


@njit(cache=True, nogil=True)
def column_rates(start, stop, indptr, indices, numbers, factors, own, out):
    """out[cell] = Σ_c Π_f w_f[c] for sparse cells, whose rows have ``numbers`` as in `thin_cells`.
    Factor ``own`` belongs to the column, all others to the row."""
    scratch = scratch_of(factors)
    kept, places = np.empty(scratch.weight.size), np.empty(scratch.weight.size, np.int64)
    array, stride = factors.array[own], factors.strides[own, -1]
    least = _UNSEEN / max(_largest(array), _UNSEEN)
    for row in range(start, stop):
        end = indptr[row + 1]
        if indptr[row] == end:
            continue
        begin_row(factors, numbers[row] if numbers.size else row, scratch)
        size = _weigh_row(factors, own, least, scratch.start, kept, places)
        for cell in range(indptr[row], end, 4):
            second, third, fourth = (
                min(cell + 1, end - 1),
                min(cell + 2, end - 1),
                min(cell + 3, end - 1),
            )
            at, at2 = indices[cell] * stride, indices[second] * stride
            at3, at4 = indices[third] * stride, indices[fourth] * stride
            total = total2 = total3 = total4 = 0.0
            for c in range(size):
                u, place = kept[c], places[c]
                total += u * array[at + place]
                total2 += u * array[at2 + place]
                total3 += u * array[at3 + place]
                total4 += u * array[at4 + place]
            out[cell], out[second], out[third], out[fourth] = total, total2, total3, total4
        for cell in range(indptr[row], end):
            if not abs(out[cell]) > _SURE:
                out[cell] = weigh_cell(factors, indices[cell], scratch)


@njit(cache=True, nogil=True)
def _largest(array):
    """max |w|."""
    largest = 0.0
    for each in array:
        largest = max(largest, abs(each))
    return largest


@njit(cache=True, nogil=True)
def _weigh_row(factors, own, least, begin, kept, places):
    """Write the u[row, c] that are not below ``least``, and where w[·, c] is; how many they are."""
    size = 0
    for c in range(kept.size):
        product = 1.0
        for f in range(len(factors.array)):
            if f != own:
                product *= factors.array[f][begin[f] + factors.offsets[f, c]]
        if not abs(product) < least:
            kept[size], places[size] = product, factors.offsets[own, c]
            size += 1
    return size
