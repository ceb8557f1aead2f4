"""A layer of gammas whose shape is a mix of the layer above, drawn in one pass over its rows:

    θ_jv ~ Gam(a_jv + m_jv, rate c_j + q_j),   a_jv = s Σ_k φ_vk θ'_jk

The shapes never leave the cache. A block of rows has one stream. Shapes and gammas are float32
numbers: the former have a relative error of 1e-7, gammas of 1e-5 at most, and those below 1e-38
become the smallest number there is, where 1e-16 of a row's sum is already negligible. Shapes
above 1e30, as vague rates make them, would leave the range of float32: their gammas are the shapes.
"""

from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.random import restart
from pgbn.samplers.simd.contract import BLOCK, contract_rows, contraction, load_matrix
from pgbn.samplers.simd.lanes import pointer
from pgbn.samplers.simd.sums import sum_rows
from pgbn.samplers.uncounted import keep, uncounted
from pgbn.samplers.variates.row_gammas import HUGE, TINY, fill_rows, workspace

__all__ = ["BLOCK", "draw_layer", "draw_top"]

# A shape is not 0 unless all of the layer above is: its gamma is TINY, and has a logarithm.
_TINY = float(np.finfo(np.float32).tiny)
_LEAST = np.float32(1e-37)
# From here on a gamma is its shape, but for a relative deviation of 1e-15.
_CERTAIN = 1e30
_0 = np.uint64(0)


class _Layer(NamedTuple):
    """What a replicate's rows are drawn with, counts m (J, V) and rates (J), and where they go,
    their sums (J) beside them."""

    m: np.ndarray
    rate: np.ndarray
    out: np.ndarray
    sums: np.ndarray


class _Prior(NamedTuple):
    """The prior shapes of a block of rows: row i has factor_i times the line i of ``mixed``, or,
    where that is empty, the line ``shared``."""

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
    """`draw_layer`, or `draw_top` where ``theta`` and ``phi`` are empty: two kernels would
    compile most of it twice."""
    _, size, columns = out.shape
    blocks, mixes = (size + BLOCK - 1) // BLOCK, phi.size > 0
    tiles = contraction(columns if mixes else 0, theta.shape[2], np.float32)
    room = workspace(BLOCK, columns, np.float32)
    matrix, work = uncounted(tiles), uncounted(room)
    rng, scale = np.empty(2, np.uint64), np.empty(BLOCK)
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
    """The same where the rows of a replicate share their prior shapes (R, V)."""
    given = (1.0, _NOTHING, _NOTHING, _fixed(prior))
    _draw_blocks(key, start, stop, *given, m, _fixed(rate), out, sums)


def _fixed(array):
    """The array, to be read alone."""
    view = array.view()
    view.flags.writeable = False
    return view
