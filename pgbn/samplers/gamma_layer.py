"""A layer of gammas whose shape is a mix of the layer above, drawn in one pass over its rows:

    θ_jv ~ Gam(a_jv + m_jv, rate c_j + q_j),   a_jv = s Σ_k φ_vk θ'_jk

The shapes never leave the cache. A block of rows has one stream.
"""

import numpy as np
from numba import njit

from pgbn.random import restart
from pgbn.samplers.contract import BLOCK, contract_rows, load_matrix, product
from pgbn.samplers.row_gammas import TINY, fill_row, is_full, settle, workspace

__all__ = ["BLOCK", "draw_layer", "draw_top"]


@njit(cache=True, nogil=True, error_model="numpy")
def _draw_rows(rng, work, first, rows, coefficient, prior, m, rate, out):
    """Rows first … first + rows of ``out``; row i has the line i, or the only one, of prior."""
    columns = out.shape[1]
    shape, flat = work.shape, out.reshape(-1)
    for i in range(rows):
        row = first + i
        line, counts = prior[min(i, prior.shape[0] - 1)], m[row]
        for v in range(columns):
            shape[v] = coefficient * line[v] + counts[v]
        fill_row(rng, work, 1.0 / rate[row], TINY, row * columns, out[row])
        if is_full(work):
            settle(rng, work, TINY, flat)
    settle(rng, work, TINY, flat)


@njit(cache=True, nogil=True)
def draw_layer(key, start, stop, coefficient, theta, phi, m, rate, out):
    """Blocks start…stop of 32 rows of ``out`` (R, J, V), numbered r · ⌈J / 32⌉ + block; given
    theta (R, J, K), phi (R, V, K), the counts m (R, J, V) and the rates c + q (R, J)."""
    _, size, columns = out.shape
    blocks = (size + BLOCK - 1) // BLOCK
    matrix = product(columns, theta.shape[2])
    work = workspace(columns)
    rng = np.empty(2, np.uint64)
    current = -1
    for block in range(start, stop):
        r, first = block // blocks, block % blocks * BLOCK
        rows = min(BLOCK, size - first)
        current = load_matrix(matrix, phi, r, current)
        contract_rows(theta[r], first, rows, matrix)
        restart(rng, key, block)
        _draw_rows(rng, work, first, rows, coefficient, matrix.out, m[r], rate[r], out[r])


@njit(cache=True, nogil=True)
def draw_top(key, start, stop, prior, m, rate, out):
    """The same where the rows of a replicate share their prior shapes (R, V)."""
    _, size, columns = out.shape
    blocks = (size + BLOCK - 1) // BLOCK
    work = workspace(columns)
    rng = np.empty(2, np.uint64)
    for block in range(start, stop):
        r, first = block // blocks, block % blocks * BLOCK
        restart(rng, key, block)
        rows = min(BLOCK, size - first)
        _draw_rows(rng, work, first, rows, 1.0, prior[r : r + 1], m[r], rate[r], out[r])
