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


class _Layer(NamedTuple):
    """What a replicate's rows are drawn with, counts m (J, V) and rates (J), and where they go,
    their sums (J) beside them."""

    m: np.ndarray
    rate: np.ndarray
    out: np.ndarray
    sums: np.ndarray


@njit(cache=True, nogil=True)
def _draw_rows(rng, work, first, rows, prior, factor, layer, scale):
    """Rows first … first + rows of a layer; row i has the prior shapes factor_i · prior_i, or
    those of the only line. Their sums are taken while they are in the cache; ``scale`` is scratch.
    """
    out, rate = layer.out, layer.rate
    columns, padded = np.uint64(out.shape[1]), np.uint64(work.shape.shape[1])
    lines, width = pointer(prior), np.uint64(prior.shape[1])
    counts, shape = pointer(layer.m), pointer(work.shape)
    largest = 0.0
    for i in range(np.uint64(rows)):
        row = np.uint64(first) + i
        scale[i] = 1.0 / rate[row]
        line = min(i, np.uint64(prior.shape[0] - 1)) * width
        times = factor[min(i, np.uint64(factor.size - 1))]
        for v in range(columns):
            part = times * lines[line + v]
            least = _TINY if part > 0.0 else 0.0
            whole = max(part, least) + counts[row * columns + v]
            largest = max(largest, whole)
            shape[i * padded + v] = min(whole, _CERTAIN)
    fill_rows(rng, work, rows, scale, TINY, first * out.shape[1], out.reshape(-1))
    if largest > _CERTAIN:
        _fill_certain(first, rows, prior, factor, layer, scale)
    sum_rows(rng[0], first, first + rows, out, layer.sums)


@njit(cache=True, nogil=True)
def _fill_certain(first, rows, prior, factor, layer, scale):
    """The gammas of rows first … first + rows that equal their shapes."""
    for i in range(rows):
        line, times = min(i, prior.shape[0] - 1), factor[min(i, factor.size - 1)]
        for v in range(layer.out.shape[1]):
            whole = times * np.float64(prior[line, v]) + layer.m[first + i, v]
            if whole > _CERTAIN:
                layer.out[first + i, v] = min(max(whole * scale[i], TINY), HUGE)


@njit(cache=True, nogil=True)
def _bound(shape, size):
    """No shape is below the least."""
    for i in range(size):
        shape[i] = shape[i] if not shape[i] < _LEAST else _LEAST


@njit(cache=True, nogil=True)
def draw_layer(key, start, stop, coefficient, theta, phi, m, rate, out, sums):
    """Blocks start…stop of 32 rows of ``out`` (R, J, V), numbered r · ⌈J / 32⌉ + block; given
    theta (R, J, K), phi (R, V, K), the counts m (R, J, V) and the rates c + q (R, J).
    ``sums`` (R, J) are those of the rows."""
    _, size, columns = out.shape
    blocks = (size + BLOCK - 1) // BLOCK
    tiles = contraction(columns, theta.shape[2], np.float32)
    room = workspace(BLOCK, columns, np.float32)
    matrix, work = uncounted(tiles), uncounted(room)
    rng, scale = np.empty(2, np.uint64), np.empty(BLOCK)
    current = -1
    for block in range(start, stop):
        r, first = block // blocks, block % blocks * BLOCK
        rows = min(BLOCK, size - first)
        current = load_matrix(matrix, phi, r, current)
        contract_rows(theta[r], first, rows, matrix)
        prior, factor = matrix.out, matrix.sums
        _bound(pointer(prior), np.uint64(prior.size))
        for i in range(factor.size):
            factor[i] *= coefficient
        restart(rng, key, block)
        layer = uncounted(_Layer(m[r], rate[r], out[r], sums[r]))
        _draw_rows(rng, work, first, rows, prior, factor, layer, scale)
    keep(tiles)
    keep(room)


@njit(cache=True, nogil=True)
def draw_top(key, start, stop, prior, m, rate, out, sums):
    """The same where the rows of a replicate share their prior shapes (R, V)."""
    _, size, columns = out.shape
    blocks = (size + BLOCK - 1) // BLOCK
    room = workspace(BLOCK, columns, np.float32)
    rng, scale, once, work = np.empty(2, np.uint64), np.empty(BLOCK), np.empty(1), uncounted(room)
    once[0] = 1.0
    for block in range(start, stop):
        r, first = block // blocks, block % blocks * BLOCK
        rows = min(BLOCK, size - first)
        restart(rng, key, block)
        layer = uncounted(_Layer(m[r], rate[r], out[r], sums[r]))
        _draw_rows(rng, work, first, rows, prior[r : r + 1], once, layer, scale)
    keep(room)
