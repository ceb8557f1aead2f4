"""Tables and their split in one pass: what a gamma layer passes up to a mix φ·θ.

    ℓ_jv ~ CRT(m_jv, a_jv),  a_jv = c Σ_k φ_vk θ_jk,   (ℓ_jvk)_k ~ Mult(ℓ_jv; ∝ φ_vk θ_jk)

The weights of the split add up to the shape of the tables, so only the non-zero m cost
anything. Weights are added in sixteen lanes, unit k in lane k mod 16: a table first picks a
lane, then a unit of it.
"""

import math

import numpy as np
from numba import njit

from pgbn.random import restart, uniform
from pgbn.samplers.contract import NEGLIGIBLE, total
from pgbn.samplers.crt import crt
from pgbn.samplers.lanes import add_product, load, store, zeros
from pgbn.samplers.multinomial import multinomial

__all__ = ["LANES", "share_tables"]

LANES = 16
_MANY = 64  # from this many tables on, a cell is split by binomials
_0, _1, _2, _4, _8 = (np.uint64(i) for i in (0, 1, 2, 4, 8))
_STEP = np.uint64(LANES)


@njit(cache=True, nogil=True, forceinline=True)
def _weigh(phi, begin, score, size, lanes):
    """lanes_i = Σ_{k mod 16 = i} φ_k θ_k, φ at the places ``begin`` … of a flat array, and the
    sums of four lanes each in lanes_16 … lanes_19; their sum."""
    a, b = zeros(), zeros()
    k = _0
    while k < size:
        a = add_product(a, load(phi, begin + k), load(score, k))
        b = add_product(b, load(phi, begin + k + _8), load(score, k + _8))
        k += _STEP
    store(lanes, _0, a)
    store(lanes, _8, b)
    for i in range(4):
        lanes[16 + i] = (lanes[4 * i] + lanes[4 * i + 1]) + (lanes[4 * i + 2] + lanes[4 * i + 3])
    return (lanes[16] + lanes[17]) + (lanes[18] + lanes[19])


@njit(cache=True, nogil=True, forceinline=True)
def _quarter(lanes, first, target):
    """Which of four neighbours the running sum passes ``target`` in, and what is left of it."""
    s0 = lanes[first]
    s1 = s0 + lanes[first + _1]
    s2 = s1 + lanes[first + _2]
    chosen = np.uint64(target >= s0) + np.uint64(target >= s1) + np.uint64(target >= s2)
    before = s0 if chosen == _1 else (s1 if chosen == _2 else s2)
    return chosen, target - (0.0 if chosen == _0 else before)


@njit(cache=True, nogil=True, forceinline=True)
def _pick(phi, begin, score, size, lanes, target):
    """The unit where the running sum, lane after lane, passes ``target``.

    Without branches, which would be guessed wrongly. Rounding may lead beyond the end, to a unit
    that is impossible: then the size is returned.
    """
    four, target = _quarter(lanes, np.uint64(LANES), target)
    lane, target = _quarter(lanes, four * _4, target)
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


@njit(cache=True, nogil=True)
def _split(rng, tables, phi, begin, score, split):
    """Share out many tables, or tables that no unit can have caused: then any may have."""
    weight = np.empty(split.size)
    for k in range(split.size):
        weight[k] = phi[begin + np.uint64(k)] * score[k]
    split[:] = 0
    multinomial(rng, tables, weight, split)


@njit(cache=True, nogil=True)
def share_tables(key, start, stop, documents, coefficient, m, theta, phi, n_phi, n_theta):
    """Rows start…stop of m (rows, V) and theta (rows, K), with phi (R, V, K filled with zeros to
    a multiple of 16). Writes the split tables to n_theta (rows, K), and adds them to n_phi
    (R, V, K).
    """
    topics, columns = theta.shape[1], m.shape[1]
    size = np.uint64(phi.shape[2])
    loadings = phi.reshape(-1)
    rng = np.empty(2, np.uint64)
    score = np.zeros(phi.shape[2])
    lanes = np.empty(LANES + 4)
    split = np.empty(topics, np.int64)
    for row in range(start, stop):
        fresh = True
        replicate = row // documents
        own = n_theta[row]
        own[:] = 0
        for v in range(columns):
            count = m[row, v]
            if count == 0:
                continue
            if fresh:
                restart(rng, key, row)
                least = total(theta[row]) * NEGLIGIBLE
                for k in range(topics):
                    score[k] = theta[row, k] if theta[row, k] > least else 0.0
                fresh = False
            begin = np.uint64(replicate * columns + v) * size
            weight = _weigh(loadings, begin, score, size, lanes)
            tables = crt(rng, count, coefficient * weight)
            if not 0.0 < weight < math.inf or tables > _MANY:
                _split(rng, tables, loadings, begin, score, split)
                for k in range(topics):
                    own[k] += split[k]
                    n_phi[replicate, v, k] += split[k]
                continue
            while tables > 0:
                unit = _pick(loadings, begin, score, size, lanes, uniform(rng) * weight)
                if unit < size:
                    own[unit] += 1
                    n_phi[replicate, v, unit] += 1
                    tables -= 1
