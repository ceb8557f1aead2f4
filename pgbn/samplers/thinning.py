"""Thinning: a count of a sum of products is shared out among the summands.

    ℓ ~ Pois(q Σ_c Π_f w_f[c])  ⇒  (ℓ_c) | ℓ ~ Mult(ℓ; ∝ Π_f w_f[c])

One kernel serves any number of factors. The counts of summand c are added to the entry of every
factor that took part in it. A target is an array like the factor's, or empty if its counts are not
wanted.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgbn.samplers import vectorised
from pgbn.samplers.compiled import keep, njit, uncounted
from pgbn.samplers.executor import Executor
from pgbn.samplers.random import Stream, new_rng, restart, stream_key, uniform
from pgbn.samplers.variates.multinomial import draw_multinomial


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
    """Scratch for one cell: the weight of each summand, its share, the place of the cell in each
    factor, and where its row begins."""

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
    array, strides, offsets = factors.array, factors.strides, factors.offsets
    weight, base = scratch.weight, scratch.base
    last = factors.lengths.size + 1
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
    rng, room = new_rng(), scratch_of(factors)
    factors, targets, scratch = uncounted(factors), uncounted(targets), uncounted(room)
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
    keep(room)


@njit(cache=True, nogil=True)
def thin_cells(key, start, stop, cells, numbers, factors, targets):
    """Thin the counts of sparse cells. Rows have the ``numbers`` given; if none, 0, 1, …"""
    indptr, indices, counts = cells
    rng, room = new_rng(), scratch_of(factors)
    factors, targets, scratch = uncounted(factors), uncounted(targets), uncounted(room)
    for row in range(start, stop):
        if indptr[row] < indptr[row + 1]:
            number = numbers[row] if numbers.size else row
            restart(rng, key, number)
            begin_row(factors, number, scratch)
        for cell in range(indptr[row], indptr[row + 1]):
            if counts[cell]:
                total = weigh_cell(factors, indices[cell], scratch)
                _share(rng, counts[cell], total, factors.offsets, targets, scratch)
    keep(room)


@njit(cache=True, nogil=True)
def cell_rates(start, stop, indptr, indices, numbers, factors, out):
    """out[cell] = Σ_c Π_f w_f[c] for sparse cells, whose rows have ``numbers`` as above."""
    room = scratch_of(factors)
    factors, scratch = uncounted(factors), uncounted(room)
    for row in range(start, stop):
        if indptr[row] < indptr[row + 1]:
            begin_row(factors, numbers[row] if numbers.size else row, scratch)
        for cell in range(indptr[row], indptr[row + 1]):
            out[cell] = weigh_cell(factors, indices[cell], scratch)
    keep(room)


# ---- weighted -----------------------------------------------------------------------------------
#
# Weighted sets: rows of a constant sparse matrix w, summed and shared out entry by entry.
#
# forward   out[i, …] = Σ_c w_ic value[c, …] backward  ℓ_i ~ Pois(q Σ_c w_ic Π_f f[c, …])  ⇒
# (ℓ_ic)_c | ℓ_i ~ Mult(ℓ_i; ∝ w_ic Π_f f[c, …])
#
# Both go through the stored entries of a row only.


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
    rng, room = new_rng(), scratch_of(factors)
    factors, targets, scratch = uncounted(factors), uncounted(targets), uncounted(room)
    array, strides, offsets = factors.array, factors.strides, factors.offsets
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
                base[f] = scratch.start[f] + column * strides[f, factors.lengths.size + 1]
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
    keep(room)


# ---- column rates -------------------------------------------------------------------------------
#
# The rates of sparse cells whose summands each have a factor that belongs to the column alone.
#
#     out[cell] = Σ_c u[row, c] · w[column, c],    u[row, c] = Π_f u_f[row, c]
#
# as in Φθ. `pgbn.samplers.thinning.cell_rates` is bit-identical, for any factors. Here u is
# computed once for each row. Four cells are added up at a time, since each sum waits for its last
# addition. Summands that are too small to matter are skipped: products of tiny θ and φ are often
# below the smallest normal number, where the processor takes dozens of times as long.


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
    room = scratch_of(factors)
    factors, scratch = uncounted(factors), uncounted(room)
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
    keep(room)


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


# ---- scatter ------------------------------------------------------------------------------------
#
# Scatter-add: the evidence of all rows that read an entry is added up for the entry.
#
#     out[r, g] = Σ_{l : place[r, l] = g} value[r, l]
#
# The rows are added in their order, so that the sum of floats is bit-identical every time.


@njit(cache=True, nogil=True)
def scatter_add(place: np.ndarray, value: np.ndarray, out: np.ndarray) -> None:
    """Add ``value`` (R, rows, inner) to ``out`` (R, entries, inner), which begins at 0; ``place``
    is (R or 1, rows)."""
    each = place.shape[0] > 1
    for r in range(value.shape[0]):
        at = r if each else 0
        for row in range(value.shape[1]):
            entry = place[at, row]
            for k in range(value.shape[2]):
                out[r, entry, k] += value[r, row, k]


# ---- sparse -------------------------------------------------------------------------------------
#
# Counts of the few cells of a matrix that are not 0.


class SparseCounts(NamedTuple):
    """Row i has the counts ``data[indptr[i]:indptr[i + 1]]`` in the columns ``indices`` (CSR)."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray


# ---- dense sums --------------------------------------------------------------------------------


def share_out(
    stream: Stream, counts: NDArray[np.int64], summands: Sequence[ArrayLike]
) -> list[NDArray[np.int64]]:
    """(n_1, n_2, …) ~ Mult(count, summands / their sum) in every cell.

    It is drawn as a chain of binomials, n_i ~ Bin(rest, v_i / Σ_{≥i} v).

    Parameters
    ----------
    stream : Stream
        The key of the draw; its shape has as many cells as the counts.
    counts : ndarray of int
        The counts of a sum.
    summands : sequence of array_like
        The values of its summands, each of which broadcasts to the shape of the counts.

    Returns
    -------
    list of ndarray of int
        The counts of each summand. They add up to ``counts``.

    Examples
    --------
    >>> import numpy as np
    >>> from pgbn.extend import Stream, share_out
    >>> share_out(Stream(key=1, shape=(1, 1, 1, 3)), np.array([0, 9, 9]), [1.0, 2.0])
    [array([0, 3, 4]), array([0, 6, 5])]
    """
    shape = counts.shape
    left = counts.reshape(stream.shape)
    values: list[Any] = [
        np.broadcast_to(np.asarray(value, np.float64), shape).reshape(stream.shape)
        for value in summands
    ]
    shares, tail = [], [np.zeros(stream.shape)]
    for value in reversed(values):
        tail.append(tail[-1] + value)
    tail.reverse()
    for number, value in enumerate(values[:-1]):
        with np.errstate(invalid="ignore", divide="ignore"):
            fraction = np.nan_to_num(value / tail[number])
        key = stream_key(stream.key, 0, number)
        own = Stream(key, stream.shape, stream.executor, variates=stream.variates)
        share = vectorised.binomial(own, left, np.minimum(fraction, 1.0))
        shares.append(share)
        left = left - share
    shares.append(left)
    return [share.reshape(shape) for share in shares]
