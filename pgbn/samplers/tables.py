"""Tables and their split in one pass: what a gamma layer passes up to a mix φ·θ.

    ℓ_jv ~ CRT(m_jv, a_jv),  a_jv = c Σ_k φ_vk θ_jk,   (ℓ_jvk)_k ~ Mult(ℓ_jv; ∝ φ_vk θ_jk)

The weights of the split add up to the shape of the tables, so only the non-zero m cost
anything; hidden units that underflowed are left out of a row once.
"""

import numpy as np
from numba import njit

from pgbn.random import restart, uniform
from pgbn.samplers.contract import NEGLIGIBLE
from pgbn.samplers.crt import crt
from pgbn.samplers.multinomial import multinomial

__all__ = ["share_tables"]

_MANY = 64  # from this many tables on, a cell is split by binomials


@njit(cache=True, nogil=True)
def _active(theta, active, score):
    """The units of a row that can have caused a count (all, if every one underflowed)."""
    found = 0
    for k in range(theta.size):
        if theta[k] > NEGLIGIBLE:
            active[found] = k
            score[found] = theta[k]
            found += 1
    if found == 0:
        for k in range(theta.size):
            active[k] = k
            score[k] = 1.0
        found = theta.size
    return found


@njit(cache=True, nogil=True)
def share_tables(key, start, stop, documents, coefficient, m, theta, phi, n_phi, n_theta):
    """Rows start…stop of m (rows, V) and theta (rows, K), with phi (R, V, K).

    Adds the split tables to n_phi (R, V, K) and n_theta (rows, K).
    """
    topics = theta.shape[1]
    rng = np.empty(2, np.uint64)
    active = np.empty(topics, np.int64)
    score = np.empty(topics)
    running = np.empty(topics)
    split = np.empty(topics, np.int64)
    for row in range(start, stop):
        found = -1
        for v in range(m.shape[1]):
            count = m[row, v]
            if count == 0:
                continue
            if found < 0:
                restart(rng, key, row)
                found = _active(theta[row], active, score)
                replicate = row // documents
            weights = phi[replicate, v]
            total = 0.0
            for p in range(found):
                total += weights[active[p]] * score[p]
                running[p] = total
            tables = crt(rng, count, coefficient * total)
            if total == 0.0 or tables > _MANY:
                for p in range(found):
                    running[p] = weights[active[p]] * score[p]
                split[:found] = 0
                multinomial(rng, tables, running[:found], split[:found])
                for p in range(found):
                    n_theta[row, active[p]] += split[p]
                    n_phi[replicate, v, active[p]] += split[p]
                continue
            for _ in range(tables):
                target = uniform(rng) * total
                p = 0
                while p < found - 1 and running[p] <= target:
                    p += 1
                n_theta[row, active[p]] += 1
                n_phi[replicate, v, active[p]] += 1
