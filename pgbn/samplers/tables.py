"""Tables and their split in one pass: what a gamma layer passes up to a mix φ·θ.

    ℓ_jv ~ CRT(m_jv, a_jv),  a_jv = c Σ_k φ_vk θ_jk,   (ℓ_jvk)_k ~ Mult(ℓ_jv; ∝ φ_vk θ_jk)

The weights of the split add up to the shape of the tables, so only the non-zero m cost
anything. Weights are added in sixteen lanes, unit k in lane k mod 16: a table first picks a
lane, then a unit of it. They are float32 numbers: a relative error of 1e-7 in a probability.
"""

import math

import numpy as np
from numba import njit

from pgbn.random import restart, uniform
from pgbn.samplers.contract import NEGLIGIBLE
from pgbn.samplers.crt import crt
from pgbn.samplers.lanes import (
    LANES,
    add,
    add_product,
    load,
    lowest_bit,
    nonzero,
    pointer,
    store,
    zeros,
)
from pgbn.samplers.multinomial import multinomial
from pgbn.samplers.sums import row_total

__all__ = ["count_tables", "share_tables"]

_MANY = 64  # from this many tables on, a cell is split by binomials
_0, _1, _2, _3, _4 = (np.uint64(i) for i in range(5))
_STEP = np.uint64(LANES)
_PLACES = np.uint64(LANES + 4)


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def _list_cells(m, begin, columns, cells):
    """List the columns whose count, at the places ``begin`` … of a flat array, is not 0."""
    found, v = _0, _0
    while v + _STEP <= columns:
        word = nonzero(m, begin + v)
        while word:
            cells[found] = v + lowest_bit(word)
            found += _1
            word &= word - _1
        v += _STEP
    while v < columns:
        cells[found] = v
        found += np.uint64(m[begin + v] != 0)
        v += _1
    return found


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def _weigh(phi, begin, score, size, lanes, at):
    """lanes_i = Σ_{k mod 16 = i} φ_k θ_k, i = 0 … 15, from the place ``at`` on, φ from
    ``begin`` on; then the sums of four lanes each. Their sum."""
    a, b = zeros(score), zeros(score)
    k = _0
    while k + _STEP < size:
        a = add_product(a, load(phi, begin + k), load(score, k))
        b = add_product(b, load(phi, begin + k + _STEP), load(score, k + _STEP))
        k += _STEP + _STEP
    if k < size:
        a = add_product(a, load(phi, begin + k), load(score, k))
    store(lanes, at, add(a, b))
    fours = at + _STEP
    for i in range(_4):
        q = at + _4 * i
        lanes[fours + i] = (lanes[q] + lanes[q + _1]) + (lanes[q + _2] + lanes[q + _3])
    return np.float64((lanes[fours] + lanes[fours + _1]) + (lanes[fours + _2] + lanes[fours + _3]))


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def _quarter(lanes, first, target):
    """Which of four neighbours the running sum passes ``target`` in, and what is left of it."""
    s0 = np.float64(lanes[first])
    s1 = s0 + lanes[first + _1]
    s2 = s1 + lanes[first + _2]
    # By arithmetic: a branch would be guessed wrongly.
    a, b, c = np.int64(target >= s0), np.int64(target >= s1), np.int64(target >= s2)
    return np.uint64(a + b + c), target - max(s0 * a, max(s1 * b, s2 * c))


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def _pick(phi, begin, score, size, lanes, at, target):
    """The unit where the running sum, lane after lane, passes ``target``.

    Without branches, which would be guessed wrongly. Rounding may lead beyond the end, to a unit
    that is impossible: then the size is returned.
    """
    four, target = _quarter(lanes, at + _STEP, target)
    lane, target = _quarter(lanes, at + four * _4, target)
    first = k = four * _4 + lane
    reached = 0.0
    chosen = first
    while k < size:
        reached += phi[begin + k] * score[k]
        chosen += _STEP * np.uint64(target >= reached)
        k += _STEP
    if chosen < size and phi[begin + chosen] * score[chosen] > 0.0:
        return chosen
    return size


@njit(cache=True, nogil=True, error_model="numpy")
def _split(rng, tables, phi, begin, score, split):
    """Share out many tables, or tables that no unit can have caused: then any may have."""
    weight = np.empty(split.size)
    for k in range(split.size):
        weight[k] = phi[begin + np.uint64(k)] * score[k]
    split[:] = 0
    multinomial(rng, tables, weight, split)


@njit(cache=True, nogil=True, error_model="numpy")
def _share_rows(
    key, start, stop, documents, coefficient, columns, topics, size, m, theta, phi, n_phi, n_theta,
    score, lanes, cells, weight, tables, split,
):  # fmt: skip
    """The work of `share_tables` on flat arrays and given scratch."""
    rng = np.empty(2, np.uint64)
    phi_, score_, lanes_ = pointer(phi), pointer(score), pointer(lanes)
    m_, cells_, theta_ = pointer(m), pointer(cells), pointer(theta)
    for row in range(np.uint64(start), np.uint64(stop)):
        first = row // documents * columns
        own = row * topics
        n_theta[own : own + topics] = 0
        found = _list_cells(m_, row * columns, columns, cells_)
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
            weight[p] = _weigh(phi_, begin, score_, size, lanes_, p * _PLACES)
        many = False
        for p in range(found):
            count = m[row * columns + cells[p]]
            tables[p] = 1
            if count > 1:
                tables[p] = crt(rng, count, coefficient * sum_ * weight[p])
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
            begin, target = (first + cells[p]) * size, (first + cells[p]) * topics
            left = tables[p]
            while left > 0:
                chance = uniform(rng) * weight[p]
                unit = _pick(phi_, begin, score_, size, lanes_, p * _PLACES, chance)
                if unit < size:
                    n_theta[own + unit] += 1
                    n_phi[target + unit] += 1
                    left -= 1


@njit(cache=True, nogil=True)
def share_tables(key, start, stop, documents, coefficient, m, theta, phi, n_phi, n_theta):
    """Rows start…stop of m (rows, V) and theta (rows, K), with phi (R, V, K filled with zeros to
    a multiple of 16) in float32. Writes the split tables to n_theta (rows, K), and adds them to
    n_phi (R, V, K).

    The cells of a row are listed, weighed, given tables and split in four loops: one cell does
    not wait for another.
    """
    topics, columns = np.uint64(theta.shape[1]), np.uint64(m.shape[1])
    size = np.uint64(phi.shape[2])
    _share_rows(
        key, start, stop, np.uint64(documents), coefficient, columns, topics, size, m.reshape(-1),
        theta.reshape(-1), phi.reshape(-1), n_phi.reshape(-1), n_theta.reshape(-1),
        np.zeros(size, np.float32), np.empty(columns * _PLACES, np.float32),
        np.empty(columns + _1, np.uint64), np.empty(columns), np.empty(columns, np.int64),
        np.empty(topics, np.int64),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def count_tables(key, start, stop, documents, shape, m, n):
    """The tables of rows start…stop of m (rows, V), whose replicate has the shapes (R, V); they
    are added to n (R, V)."""
    columns = np.uint64(m.shape[1])
    rng, cells = np.empty(2, np.uint64), np.empty(m.shape[1] + 1, np.uint64)
    counts, listed = pointer(m), pointer(cells)
    for row in range(start, stop):
        replicate = row // documents
        found = _list_cells(counts, np.uint64(row) * columns, columns, listed)
        if found:
            restart(rng, key, row)
        for p in range(found):
            v = cells[p]
            n[replicate, v] += crt(rng, m[row, v], shape[replicate, v])
