"""Kernels of rows: draws, each row from its own stream, and sums and products of matrices.

``kernel(key, start, stop, *operands, out)`` fills the rows from ``start`` to ``stop`` of ``out``.
Operands of draws are broadcast: each axis has size 1 or that of ``out``. `operand` makes them such
arrays, and `run` calls a kernel.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgbn.samplers.compiled import keep, njit, uncounted
from pgbn.samplers.elementary import exp
from pgbn.samplers.executor import ROW_BLOCK
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
from pgbn.samplers.random import Stream, exponential, new_rng, normal, restart, uniform
from pgbn.samplers.variates.crt import draw_crt
from pgbn.samplers.variates.dirichlet import draw_log_beta_odds, draw_neg_log_beta
from pgbn.samplers.variates.gamma import HUGE, TINY, draw_log_gamma, fill_rows, workspace
from pgbn.samplers.variates.gig import draw_bessel, draw_gig
from pgbn.samplers.variates.log_normal import draw_log_rate
from pgbn.samplers.variates.multinomial import draw_binomial, draw_categorical, draw_multinomial
from pgbn.samplers.variates.poisson import (
    draw_hidden_count,
    draw_poisson,
    draw_truncated_poisson,
)
from pgbn.samplers.variates.polya_gamma import draw_polya_gamma

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
        executor = executor._by_blocks(ROW_BLOCK)
        if flat.shape[3] > ROW_BLOCK or executor._first:  # a part of a long line
            flat, given, in_blocks = _in_blocks(out), tuple(map(_in_blocks, operands)), True
    replicates, first, second, third = flat.shape
    rows = replicates * first * second
    apart = executor.memory is not None
    if (apart or executor.workers > 1) and rows * third >= (PARALLEL if apart else _DRAWS):
        executor.rows(kernel, rows, stream.key, *given, flat)
    elif rows * third:
        kernel(executor._row_key(stream.key, rows), 0, rows, *given, flat)
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


# ---- draws of one number -----------------------------------------------------------------------
#
# Each kernel is one loop around a function (rng, *operands) → number.


_LOG_LIMIT = 300.0 * math.log(10.0)


def _rows_of_none(draw):
    def kernel(key, start, stop, out):
        rng = new_rng()
        for row in range(start, stop):
            restart(rng, key, row)
            x = row_of(out, row, out)
            for i in range(x.size):
                x[i] = draw(rng)

    return kernel


def _rows_of_one(draw):
    def kernel(key, start, stop, a, out):
        rng = new_rng()
        for row in range(start, stop):
            restart(rng, key, row)
            u, x = row_of(a, row, out), row_of(out, row, out)
            for i in range(x.size):
                x[i] = draw(rng, u[min(i, u.size - 1)])

    return kernel


def _rows_of_two(draw):
    def kernel(key, start, stop, a, b, out):
        rng = new_rng()
        for row in range(start, stop):
            restart(rng, key, row)
            u, v, x = row_of(a, row, out), row_of(b, row, out), row_of(out, row, out)
            for i in range(x.size):
                x[i] = draw(rng, u[min(i, u.size - 1)], v[min(i, v.size - 1)])

    return kernel


def _rows_of_three(draw):
    def kernel(key, start, stop, a, b, c, out):
        rng = new_rng()
        for row in range(start, stop):
            restart(rng, key, row)
            u, v, w = row_of(a, row, out), row_of(b, row, out), row_of(c, row, out)
            x = row_of(out, row, out)
            for i in range(x.size):
                x[i] = draw(
                    rng, u[min(i, u.size - 1)], v[min(i, v.size - 1)], w[min(i, w.size - 1)]
                )

    return kernel


def _rows(name, draw, operands):
    """The kernel of a draw of one number. The name is that of its files on disk."""
    kernel = (_rows_of_none, _rows_of_one, _rows_of_two, _rows_of_three)[operands](draw)
    kernel.__name__ = kernel.__qualname__ = name
    kernel.__doc__ = draw.__doc__
    return njit(cache=True, nogil=True)(kernel)


@njit(cache=True, nogil=True, forceinline=True)
def _beta_odds(rng, a, b):
    """(1 - p) / p, p ~ Beta(a, b)."""
    return exp(max(-_LOG_LIMIT, min(draw_log_beta_odds(rng, a, b), _LOG_LIMIT)))


@njit(cache=True, nogil=True, forceinline=True)
def _bernoulli(rng, p):
    """1.0 with probability p."""
    return 1.0 if uniform(rng) < p else 0.0


@njit(cache=True, nogil=True, forceinline=True)
def _crt(rng, m, r):
    """l ~ CRT(m, r)."""
    return draw_crt(rng, m, r) if m else 0


uniform_rows = _rows("uniform_rows", uniform, 0)
normal_rows = _rows("normal_rows", normal, 0)
exponential_rows = _rows("exponential_rows", exponential, 0)
log_gamma_rows = _rows("log_gamma_rows", draw_log_gamma, 1)
beta_odds_rows = _rows("beta_odds_rows", _beta_odds, 2)
neg_log_beta_rows = _rows("neg_log_beta_rows", draw_neg_log_beta, 2)
bernoulli_rows = _rows("bernoulli_rows", _bernoulli, 1)
poisson_rows = _rows("poisson_rows", draw_poisson, 1)
truncated_poisson_rows = _rows("truncated_poisson_rows", draw_truncated_poisson, 1)
bessel_rows = _rows("bessel_rows", draw_bessel, 1)
binomial_rows = _rows("binomial_rows", draw_binomial, 2)
crt_rows = _rows("crt_rows", _crt, 2)
hidden_count_rows = _rows("hidden_count_rows", draw_hidden_count, 3)
gig_rows = _rows("gig_rows", draw_gig, 3)
polya_gamma_rows = _rows("polya_gamma_rows", draw_polya_gamma, 1)


@njit(cache=True, nogil=True)
def gamma_rows(key, start, stop, shape, rate, out):
    """x ~ Gam(shape, rate)."""
    size = out.shape[3]
    rng = new_rng()
    room, scale = workspace(1, size, np.float64), np.empty(1)
    work = uncounted(room)
    shapes = work.shape[0]
    flat = out.reshape(-1)
    for row in range(start, stop):
        restart(rng, key, row)
        a, c, line = row_of(shape, row, out), row_of(rate, row, out), row_of(out, row, out)
        if a.size == 1:
            for i in range(shapes.size):
                shapes[i] = a[0]
        else:
            for i in range(size):
                shapes[i] = a[i]
        if c.size == 1:
            scale[0] = 1.0 / c[0]
            fill_rows(rng, work, 1, scale, TINY, row * size, flat)
        else:
            scale[0] = 1.0
            fill_rows(rng, work, 1, scale, 0.0, row * size, flat)
            for i in range(size):
                value = min(max(line[i] * (1.0 / c[i]), TINY), HUGE)
                line[i] = value if shapes[i] > 0.0 else shapes[i]
    keep(room)


@njit(cache=True, nogil=True)
def log_rate_rows(key, start, stop, mean, precision, count, exposure, out):
    """ln λ, row by row."""
    rng = new_rng()
    for row in range(start, stop):
        restart(rng, key, row)
        a, b = row_of(mean, row, out), row_of(precision, row, out)
        n, q, x = row_of(count, row, out), row_of(exposure, row, out), row_of(out, row, out)
        for i in range(x.size):
            x[i] = draw_log_rate(
                rng, a[min(i, a.size - 1)], b[min(i, b.size - 1)], n[min(i, n.size - 1)],
                q[min(i, q.size - 1)],
            )  # fmt: skip


# ---- lines along an axis ------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def softmax_lines(key, start, stop, array):
    """x_i = exp(l_i - max l) / sum_h exp(l_h - max l), in place, on the lines start..stop.

    With l_i = ln Gam(a_i) this is Dir(a) however small the a_i: the largest l always survives.
    Line b * after + c of an array (before, size, after) is array[b, :, c]. A line of -inf only
    becomes uniform. The key is not used: the signature is that of the row kernels.
    """
    _, size, after = array.shape
    top = np.empty(after)
    total = np.empty(after)
    line = start
    while line < stop:
        before = line // after
        low = line - before * after
        high = min(after, low + stop - line)
        # Neighbouring lines together, so that memory is read in order.
        top[low:high] = -math.inf
        total[low:high] = 0.0
        for i in range(size):
            for c in range(low, high):
                top[c] = max(top[c], array[before, i, c])
        for i in range(size):
            for c in range(low, high):
                value = array[before, i, c]
                # Equal to the top first: -inf minus -inf is not a number.
                value = 1.0 if value == top[c] else exp(value - top[c])
                array[before, i, c] = value
                total[c] += value
        for i in range(size):
            for c in range(low, high):
                array[before, i, c] /= total[c]
        line += high - low


@njit(cache=True, nogil=True, forceinline=True)
def _first_cell(line, axis, shape):
    """The place (i, j, k, m) where a line along ``axis`` of an array begins."""
    _, first, second, third = shape
    first = 1 if axis == 1 else first
    second = 1 if axis == 2 else second
    third = 1 if axis == 3 else third
    rest = line // third
    return rest // (second * first), rest // second % first, rest % second, line % third


@njit(cache=True, nogil=True, forceinline=True)
def _read_line(array, i, j, k, m, axis, out):
    """The entries of a broadcast operand along ``axis``, from a place on."""
    for t in range(out.size):
        out[t] = entry(array, i, j + t * (axis == 1), k + t * (axis == 2), m + t * (axis == 3))


@njit(cache=True, nogil=True)
def multinomial_lines(key, start, stop, n, probability, axis, out):
    """`draw_multinomial` on the lines start..stop along ``axis``, each with a stream of its own."""
    size, rng = out.shape[axis], new_rng()
    weights, parts = np.empty(size), np.empty(size, np.int64)
    for line in range(start, stop):
        restart(rng, key, line)
        i, j, k, m = _first_cell(line, axis, out.shape)
        _read_line(probability, i, j, k, m, axis, weights)
        parts[:] = 0
        draw_multinomial(rng, entry(n, i, j, k, m), weights, parts)
        for t in range(size):
            out[i, j + t * (axis == 1), k + t * (axis == 2), m + t * (axis == 3)] = parts[t]


@njit(cache=True, nogil=True)
def categorical_lines(key, start, stop, logs, axis, out):
    """`draw_categorical` on the lines start..stop along ``axis``, as zeros with a single one."""
    size, rng = out.shape[axis], new_rng()
    own = np.empty(size)
    for line in range(start, stop):
        restart(rng, key, line)
        i, j, k, m = _first_cell(line, axis, out.shape)
        _read_line(logs, i, j, k, m, axis, own)
        chosen = draw_categorical(rng, own)
        for t in range(size):
            out[i, j + t * (axis == 1), k + t * (axis == 2), m + t * (axis == 3)] = t == chosen


# ---- products and sums ---------------------------------------------------------------------------
#
# Σ_k a[i, k] b[j, k] and Σ_k a[i, k], bit-identical on any threads. A library's product may sum in
# another order when it runs on other threads; this one adds the summands of every entry in a fixed
# order. ``b`` is turned into tiles of 64 columns, whose sums stay in registers; some rows of ``a``
# pass over a tile before the next tile is taken.
#
# For the shapes of gamma layers the tiles are float32. A relative error of 1e-7 in a shape is far
# below what any number of samples shows. Entries of ``a`` below 2^-53 of their row's sum are
# skipped there: most hidden units of a deep layer are such. They would change a shape by less than
# its rounding, or make one of less than 1e-16 of the others, whose gamma and counts are 0 but for a
# chance of that size. Rows of ``a`` are divided by their sums first, so that nothing overflows.

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
