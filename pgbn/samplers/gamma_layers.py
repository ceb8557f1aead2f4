"""A layer of gammas whose shape is a mix of the layer above, drawn in one pass over its rows:

    θ_jv ~ Gam(a_jv + m_jv, rate c_j + q_j),   a_jv = s Σ_k φ_vk θ'_jk

The shapes never leave the cache. A block of rows has one stream. Shapes and gammas are float32
numbers: the former have a relative error of 1e-7, gammas of 1e-5 at most, and those below 1e-38
become the smallest number; 1e-16 of a row's sum is already negligible. Shapes above 1e30, as vague
rates make them, would leave the range of float32: their gammas are the shapes.
"""

import math
from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import keep, njit, uncounted
from pgbn.samplers.lanes import (
    ROOM,
    filled,
    find_nonzero,
    pick,
    pointer,
    row_total,
    weigh,
)
from pgbn.samplers.random import new_rng, restart
from pgbn.samplers.row_kernels import (
    BLOCK,
    NEGLIGIBLE,
    contract_rows,
    contraction,
    load_matrix,
    sum_rows,
)
from pgbn.samplers.variates.crt import draw_crt
from pgbn.samplers.variates.gamma import HUGE, TINY, fill_rows, workspace
from pgbn.samplers.variates.multinomial import draw_multinomial

# A shape is not 0 unless all of the layer above is: its gamma is TINY, and has a logarithm.
_TINY = float(np.finfo(np.float32).tiny)
_LEAST = np.float32(1e-37)
# From here on a gamma is its shape, but for a relative deviation of 1e-15.
_CERTAIN = 1e30
_0 = np.uint64(0)


class _Layer(NamedTuple):
    """The inputs of a replicate's rows, counts m (J, V) and rates (J); and their outputs, with
    their sums (J)."""

    m: np.ndarray
    rate: np.ndarray
    out: np.ndarray
    sums: np.ndarray


class _Prior(NamedTuple):
    """The prior shapes of a block of rows: row i has factor_i times the line i of ``mixed`` or, if
    that is empty, the line ``shared``."""

    mixed: np.ndarray
    factor: np.ndarray
    shared: np.ndarray


@njit(cache=True, nogil=True, forceinline=True)
def _add_counts(times, lines, line, counts, place, columns, shape, to, largest):
    """shape = times · line + counts for a row; the largest of them, or ``largest``."""
    for v in range(columns):
        part = times * lines[line + v]
        least = _TINY if part > 0.0 else 0.0
        whole = max(part, least) + counts[place + v]
        largest = max(largest, whole)
        shape[to + v] = min(whole, _CERTAIN)
    return largest


@njit(cache=True, nogil=True)
def _draw_rows(rng, work, first, rows, prior, layer, scale):
    """Rows first … first + rows of a layer. Their sums are taken while they are in the cache;
    ``scale`` is scratch."""
    out, rate, factor = layer.out, layer.rate, prior.factor
    columns, padded = np.uint64(out.shape[1]), np.uint64(work.shape.shape[1])
    mixed, shared, width = pointer(prior.mixed), pointer(prior.shared), prior.mixed.shape[1]
    counts, shape = pointer(layer.m), pointer(work.shape)
    largest = 0.0
    for i in range(np.uint64(rows)):
        row = np.uint64(first) + i
        scale[i] = 1.0 / rate[row]
        place, to = row * columns, i * padded
        if width > 0:
            largest = _add_counts(factor[i], mixed, i * np.uint64(width), counts, place, columns,
                                  shape, to, largest)  # fmt: skip
        else:
            largest = _add_counts(1.0, shared, _0, counts, place, columns, shape, to, largest)
    fill_rows(rng, work, rows, scale, TINY, first * out.shape[1], out.reshape(-1))
    if largest > _CERTAIN:
        _fill_certain(first, rows, prior, layer, scale)
    sum_rows(rng[0], first, first + rows, out, layer.sums)


@njit(cache=True, nogil=True)
def _fill_certain(first, rows, prior, layer, scale):
    """The gammas of rows first … first + rows that equal their shapes."""
    mixed, factor, shared = prior.mixed, prior.factor, prior.shared
    for i in range(rows):
        for v in range(layer.out.shape[1]):
            part = shared[v] if mixed.size == 0 else factor[i] * np.float64(mixed[i, v])
            whole = part + layer.m[first + i, v]
            if whole > _CERTAIN:
                layer.out[first + i, v] = min(max(whole * scale[i], TINY), HUGE)


@njit(cache=True, nogil=True)
def _bound(shape, size):
    """No shape is below the least."""
    for i in range(size):
        shape[i] = shape[i] if not shape[i] < _LEAST else _LEAST


@njit(cache=True, nogil=True)
def _draw_blocks(key, start, stop, coefficient, theta, phi, shared, m, rate, out, sums):
    """`draw_layer`, or `draw_top` if ``theta`` and ``phi`` are empty: two kernels would compile
    most of it twice."""
    _, size, columns = out.shape
    blocks, mixes = (size + BLOCK - 1) // BLOCK, phi.size > 0
    tiles = contraction(columns if mixes else 0, theta.shape[2], np.float32)
    room = workspace(BLOCK, columns, np.float32)
    matrix, work = uncounted(tiles), uncounted(room)
    rng, scale = new_rng(), np.empty(BLOCK)
    current = -1
    for block in range(start, stop):
        r, first = block // blocks, block % blocks * BLOCK
        rows = min(BLOCK, size - first)
        if mixes:
            current = load_matrix(matrix, phi, r, current)
            contract_rows(theta[r], first, rows, matrix)
            _bound(pointer(matrix.out), np.uint64(matrix.out.size))
            for i in range(matrix.sums.size):
                matrix.sums[i] *= coefficient
        restart(rng, key, block)
        prior = uncounted(_Prior(matrix.out, matrix.sums, shared[min(r, shared.shape[0] - 1)]))
        layer = uncounted(_Layer(m[r], rate[r], out[r], sums[r]))
        _draw_rows(rng, work, first, rows, prior, layer, scale)
    keep(tiles)
    keep(room)


_NOTHING = np.empty((1, 0, 0))
_NO_LINE = np.empty((1, 0))
_NO_LINE.flags.writeable = False  # as the lines that are given, or numba would compile twice


def draw_layer(key, start, stop, coefficient, theta, phi, m, rate, out, sums):
    """Blocks start…stop of 32 rows of ``out`` (R, J, V), numbered r · ⌈J / 32⌉ + block; given
    theta (R, J, K), phi (R, V, K), the counts m (R, J, V) and the rates c + q (R, J).
    ``sums`` (R, J) are those of the rows."""
    given = (coefficient, theta, phi, _NO_LINE)
    _draw_blocks(key, start, stop, *given, m, _fixed(rate), out, sums)


def draw_top(key, start, stop, prior, m, rate, out, sums):
    """The same for rows of a replicate that share their prior shapes (R, V)."""
    given = (1.0, _NOTHING, _NOTHING, _fixed(prior))
    _draw_blocks(key, start, stop, *given, m, _fixed(rate), out, sums)


def _fixed(array):
    """The array, read-only."""
    view = array.view()
    view.flags.writeable = False
    return view


# ---- tables -------------------------------------------------------------------------------------
#
# Tables and their split in one pass: the counts that a gamma layer passes up to a mix φ·θ.
#
#     ℓ_jv ~ CRT(m_jv, a_jv),  a_jv = c Σ_k φ_vk θ_jk,   (ℓ_jvk)_k ~ Mult(ℓ_jv; ∝ φ_vk θ_jk)
#
# The weights of the split add up to the shape of the tables, so only the non-zero m cost anything.


_MANY = 64  # from this many tables on, a cell is split by binomials
_0, _ROOM = np.uint64(0), np.uint64(ROOM)


@njit(cache=True, nogil=True)
def _split(rng, tables, phi, begin, score, split):
    """Share out many tables, or tables that no unit can have caused: these go to any unit."""
    weight = np.empty(split.size)
    for k in range(split.size):
        weight[k] = phi[begin + np.uint64(k)] * score[k]
    filled(split, 0)
    draw_multinomial(rng, tables, weight, split)


class _Sizes(NamedTuple):
    """Rows of a replicate, columns of m, topics, and the length of a line of φ."""

    documents: np.uint64
    columns: np.uint64
    topics: np.uint64
    line: np.uint64


class _Arrays(NamedTuple):
    """The inputs and outputs of `share_tables`, flat."""

    m: np.ndarray
    theta: np.ndarray
    phi: np.ndarray
    n_phi: np.ndarray
    n_theta: np.ndarray


class _Scratch(NamedTuple):
    """θ_k / θ_·; and for the cells of a row: running sums of φ_vk θ_k / θ_· and of their lanes (see
    `weigh`), the column, the total, the tables; and a split."""

    score: np.ndarray
    sums: np.ndarray
    lanes: np.ndarray
    cells: np.ndarray
    weight: np.ndarray
    tables: np.ndarray
    split: np.ndarray


@njit(cache=True, nogil=True)
def _scratch(sizes):
    columns, line = np.int64(sizes.columns), np.int64(sizes.line)
    return _Scratch(
        filled(np.empty(line, np.float32), 0.0),
        np.empty(columns * line, np.float32),
        filled(np.empty(columns * ROOM, np.float32), 0.0),
        np.empty(columns + 1, np.uint64),
        np.empty(columns),
        np.empty(columns, np.int64),
        np.empty(np.int64(sizes.topics), np.int64),
    )


@njit(cache=True, nogil=True)
def _share_rows(key, start, stop, coefficient, sizes, arrays, scratch):
    """The work of `share_tables`, with given scratch."""
    m, theta, phi = arrays.m, arrays.theta, arrays.phi
    n_phi, n_theta = arrays.n_phi, arrays.n_theta
    score, sums, lanes, cells = scratch.score, scratch.sums, scratch.lanes, scratch.cells
    weight, tables, split = scratch.weight, scratch.tables, scratch.split
    documents, columns, topics, size = sizes
    rng = new_rng()
    phi_, score_, sums_, lanes_ = pointer(phi), pointer(score), pointer(sums), pointer(lanes)
    m_, cells_, theta_ = pointer(m), pointer(cells), pointer(theta)
    for row in range(np.uint64(start), np.uint64(stop)):
        first = row // documents * columns
        own = row * topics
        for k in range(topics):
            n_theta[own + k] = 0
        found = find_nonzero(m_, row * columns, columns, cells_)
        if found == _0:
            continue
        restart(rng, key, row)
        sum_ = row_total(theta_, own, topics)
        part = 1.0 / sum_ if sum_ > 0.0 else 0.0
        for k in range(topics):
            share = theta_[own + k] * part
            score[k] = share if share > NEGLIGIBLE else 0.0
        for p in range(found):
            begin = (first + cells[p]) * size
            weight[p] = weigh(phi_, begin, score_, size, sums_, p * size, lanes_, p * _ROOM)
        many = False
        for p in range(found):
            count = m[row * columns + cells[p]]
            tables[p] = 1
            if count > 1:
                tables[p] = draw_crt(rng, np.int64(count), coefficient * sum_ * weight[p])
            many |= tables[p] > _MANY or not 0.0 < weight[p] < math.inf
        for p in range(found if many else _0):
            if tables[p] > _MANY or not 0.0 < weight[p] < math.inf:
                cell = first + cells[p]
                _split(rng, tables[p], phi, cell * size, score, split)
                tables[p] = 0
                for k in range(topics):
                    n_theta[own + k] += split[k]
                    n_phi[cell * topics + k] += split[k]
        for p in range(found):
            target = (first + cells[p]) * topics
            for _ in range(tables[p]):
                unit = pick(rng, size, sums_, p * size, lanes_, p * _ROOM, weight[p])
                n_theta[own + unit] += 1
                n_phi[target + unit] += 1


@njit(cache=True, nogil=True)
def share_tables(key, start, stop, documents, coefficient, m, theta, phi, n_phi, n_theta):
    """Rows start…stop of m (rows, V) and theta (rows, K), with phi (R, V, K filled with zeros to
    a multiple of 16) in float32. Writes the split tables to n_theta (rows, K), and adds them to
    n_phi (R, V, K).

    The cells of a row are found, weighed, given tables and split in four loops: one cell does
    not wait for another.
    """
    sizes = _Sizes(
        np.uint64(documents),
        np.uint64(m.shape[1]),
        np.uint64(theta.shape[1]),
        np.uint64(phi.shape[2]),
    )
    arrays = _Arrays(
        m.reshape(-1),
        theta.reshape(-1),
        phi.reshape(-1),
        n_phi.reshape(-1),
        n_theta.reshape(-1),
    )
    room = _scratch(sizes)
    _share_rows(key, start, stop, coefficient, sizes, uncounted(arrays), uncounted(room))
    keep(room)


@njit(cache=True, nogil=True)
def count_tables(key, start, stop, documents, shape, m, n):
    """The tables of rows start…stop of m (rows, V), whose replicate has the shapes (R, V); they
    are added to n (R, V)."""
    columns = np.uint64(m.shape[1])
    rng, cells = new_rng(), np.empty(m.shape[1] + 1, np.uint64)
    counts, places = pointer(m), pointer(cells)
    for row in range(start, stop):
        replicate = row // documents
        found = find_nonzero(counts, np.uint64(row) * columns, columns, places)
        if found:
            restart(rng, key, row)
        for p in range(found):
            v = cells[p]
            n[replicate, v] += draw_crt(rng, np.int64(m[row, v]), shape[replicate, v])
