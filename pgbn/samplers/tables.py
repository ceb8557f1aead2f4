"""Tables and their split in one pass: what a gamma layer passes up to a mix φ·θ.

    ℓ_jv ~ CRT(m_jv, a_jv),  a_jv = c Σ_k φ_vk θ_jk,   (ℓ_jvk)_k ~ Mult(ℓ_jv; ∝ φ_vk θ_jk)

The weights of the split add up to the shape of the tables, so only the non-zero m cost
anything; hidden units that are negligible in a row (see `contract`) are left out of it once.
"""

import numpy as np
from numba import njit

from pgbn.random import restart, uniform
from pgbn.samplers.contract import find_active
from pgbn.samplers.crt import crt
from pgbn.samplers.multinomial import multinomial

__all__ = ["share_tables"]

_MANY = 64  # from this many tables on, a cell is split by binomials


@njit(cache=True, nogil=True)
def _weigh(line, active, score, found, weight, before):
    """weight_p = φ_p θ_p over the active units; ``before[b]`` = Σ before block b of eight.

    Eight summands are added as a tree: a running sum would wait for itself at every step.
    """
    total = 0.0
    for block in range((found + 7) // 8):
        p = block * 8
        for q in range(p, p + 8):
            weight[q] = line[active[q]] * score[q]
        before[block] = total
        total += (
            (weight[p] + weight[p + 1]) + (weight[p + 2] + weight[p + 3])
        ) + ((weight[p + 4] + weight[p + 5]) + (weight[p + 6] + weight[p + 7]))
    return total


@njit(cache=True, nogil=True)
def _pick(weight, before, found, target):
    """The place where the running sum of the weights passes ``target``."""
    block = (found + 7) // 8 - 1
    while before[block] > target:
        block -= 1
    target -= before[block]
    p = block * 8
    last = min(p + 8, found) - 1
    while p < last:
        target -= weight[p]
        if target < 0.0:
            return p
        p += 1
    while p > 0 and weight[p] == 0.0:  # rounding must not choose an impossible unit
        p -= 1
    return p


@njit(cache=True, nogil=True)
def share_tables(key, start, stop, documents, coefficient, m, theta, phi, n_phi, n_theta):
    """Rows start…stop of m (rows, V) and theta (rows, K), with phi (R, V, K).

    Adds the split tables to n_phi (R, V, K) and n_theta (rows, K).
    """
    topics = theta.shape[1]
    rng = np.empty(2, np.uint64)
    active = np.zeros(topics + 8, np.int64)
    score = np.zeros(topics + 8)
    weight = np.zeros(topics + 8)
    before = np.zeros(topics // 8 + 1)
    split = np.empty(topics, np.int64)
    for row in range(start, stop):
        found = 0
        for v in range(m.shape[1]):
            count = m[row, v]
            if count == 0:
                continue
            if found == 0:
                restart(rng, key, row)
                replicate = row // documents
                scores = theta[row]
                found = find_active(scores, active)
                if found == 0:  # all underflowed: any unit may have caused the count
                    found = topics
                    for k in range(topics):
                        active[k] = k
                        score[k] = 1.0
                else:
                    for p in range(found):
                        score[p] = scores[active[p]]
                for p in range(found, (found + 7) // 8 * 8):
                    active[p] = 0
                    score[p] = 0.0
            total = _weigh(phi[replicate, v], active, score, found, weight, before)
            tables = crt(rng, count, coefficient * total)
            if total == 0.0 or tables > _MANY:
                split[:found] = 0
                multinomial(rng, tables, weight[:found], split[:found])
                for p in range(found):
                    n_theta[row, active[p]] += split[p]
                    n_phi[replicate, v, active[p]] += split[p]
                continue
            for _ in range(tables):
                k = active[_pick(weight, before, found, uniform(rng) * total)]
                n_theta[row, k] += 1
                n_phi[replicate, v, k] += 1
