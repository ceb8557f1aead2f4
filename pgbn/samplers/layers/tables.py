"""Tables and their split in one pass: what a gamma layer passes up to a mix φ·θ.

    ℓ_jv ~ CRT(m_jv, a_jv),  a_jv = c Σ_k φ_vk θ_jk,   (ℓ_jvk)_k ~ Mult(ℓ_jv; ∝ φ_vk θ_jk)

The weights of the split add up to the shape of the tables, so only the non-zero m cost
anything.
"""

import math
from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.filled import filled
from pgbn.samplers.random import restart
from pgbn.samplers.simd.contract import NEGLIGIBLE
from pgbn.samplers.simd.lanes import pointer
from pgbn.samplers.simd.pick import ROOM, pick, weigh
from pgbn.samplers.simd.places import find_nonzero
from pgbn.samplers.simd.sums import row_total
from pgbn.samplers.uncounted import keep, uncounted
from pgbn.samplers.variates.crt import draw_crt
from pgbn.samplers.variates.multinomial import draw_multinomial

__all__ = ["count_tables", "share_tables"]

_MANY = 64  # from this many tables on, a cell is split by binomials
_0, _ROOM = np.uint64(0), np.uint64(ROOM)


@njit(cache=True, nogil=True)
def _split(rng, tables, phi, begin, score, split):
    """Share out many tables, or tables that no unit can have caused: then any may have."""
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
    """What `share_tables` reads and writes, flat."""

    m: np.ndarray
    theta: np.ndarray
    phi: np.ndarray
    n_phi: np.ndarray
    n_theta: np.ndarray


class _Scratch(NamedTuple):
    """θ_k / θ_·; and for the cells of a row: running sums of φ_vk θ_k / θ_· and of their lanes (see
    `weigh`), the column, the whole sum, the tables; and a split."""

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
    rng = np.empty(2, np.uint64)
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
    rng, cells = np.empty(2, np.uint64), np.empty(m.shape[1] + 1, np.uint64)
    counts, places = pointer(m), pointer(cells)
    for row in range(start, stop):
        replicate = row // documents
        found = find_nonzero(counts, np.uint64(row) * columns, columns, places)
        if found:
            restart(rng, key, row)
        for p in range(found):
            v = cells[p]
            n[replicate, v] += draw_crt(rng, np.int64(m[row, v]), shape[replicate, v])
