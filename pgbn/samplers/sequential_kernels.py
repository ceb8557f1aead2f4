"""Gammas that are drawn one entry after another, each given the sums of the others:

    E_ik = q_ik + Σ_l B_kl Σ_{j<i} φ_jl + Σ_l A_kl Σ_{j>i} φ_jl
    a_i ~ Gam(e_i + ℓ_i, f_i + Σ_k ln(1 + E_ik/c_ik)),  φ_ik ~ Gam(a_i + m_ik, c_ik + E_ik)

The sums of the new entries before i grow along the scan. Those of the old ones after i are made
from the back: subtracting the own entry from the sum of all would lose digits. With `Edges`, the
sums are over the entries at the other ends of the edges of i instead, where i is the second of an
edge (B) or the first (A). Entry i of replicate r has the stream of (key, r·N + i). N·K draws,
whatever the number of pairs; with weights that are no diagonal, N·K² multiplications.
"""

from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import log1p_quotient
from pgbn.samplers.random import new_rng, restart
from pgbn.samplers.variates.gamma import HUGE, TINY, draw_gamma_rate


class Entries(NamedTuple):
    """The gammas φ and their inputs, each (replicates, N, K): counts m, shapes (empty if they have
    `Parents`), rates c, and exposures q that do not depend on other entries (or empty)."""

    value: np.ndarray
    received: np.ndarray
    shape: np.ndarray
    rate: np.ndarray
    fixed: np.ndarray


class Parents(NamedTuple):
    """The shapes a of the entries, each (replicates, N): gammas with shape e, rate f and counts ℓ.
    All empty if the shapes are given."""

    value: np.ndarray
    received: np.ndarray
    shape: np.ndarray
    rate: np.ndarray


class Weights(NamedTuple):
    """How much each sum over other entries counts, (replicates or 1, K, K), or (…, K, 1) for a
    diagonal: B for the entries before, A for those after."""

    before: np.ndarray
    after: np.ndarray


class Edges(NamedTuple):
    """For entry i, the entries first[start_first[i] : start_first[i + 1]] at the other ends of the
    edges of which i is the second, and the same of those of which it is the first. All empty: all
    pairs."""

    start_first: np.ndarray
    first: np.ndarray
    start_second: np.ndarray
    second: np.ndarray


@njit(cache=True, nogil=True)
def _sum_of(value, start, stop, others, out):
    out[:] = 0.0
    for at in range(start, stop):
        for k in range(out.size):
            out[k] += value[others[at], k]


@njit(cache=True, nogil=True)
def _add_weighted(weights, sums, out):
    """out_k += Σ_l weights_kl sums_l; one column is a diagonal."""
    if weights.shape[1] == 1:
        for k in range(out.size):
            out[k] += weights[k, 0] * sums[k]
        return
    for k in range(out.size):
        total = 0.0
        for i in range(sums.size):
            total += weights[k, i] * sums[i]
        out[k] += total


@njit(cache=True, nogil=True)
def _gamma_within(rng, shape, rate):
    if not shape > 0.0:
        return shape
    return min(max(draw_gamma_rate(rng, shape, rate), TINY), HUGE)


@njit(cache=True, nogil=True)
def draw_entries(key, entries, parents, weights, edges):
    """Draw all entries, and their parents, in place."""
    value = entries.value
    replicates, size, width = value.shape
    rng = new_rng()
    exposure, before = np.empty(width), np.empty(width)
    listed = edges.start_first.size > 0
    after = np.zeros((1 if listed else size, width))
    for r in range(replicates):
        early, into = weights.before[min(r, len(weights.before) - 1)], value[r]
        late = weights.after[min(r, len(weights.after) - 1)]
        if not listed:
            after[size - 1] = 0.0
            for i in range(size - 1, 0, -1):
                after[i - 1] = after[i] + into[i]
            before[:] = 0.0
        for i in range(size):
            restart(rng, key, r * size + i)
            if entries.fixed.size:
                exposure[:] = entries.fixed[r, i]
            else:
                exposure[:] = 0.0
            if listed:
                _sum_of(into, edges.start_first[i], edges.start_first[i + 1], edges.first, before)
                _sum_of(
                    into, edges.start_second[i], edges.start_second[i + 1], edges.second, after[0]
                )
            _add_weighted(early, before, exposure)
            _add_weighted(late, after[0 if listed else i], exposure)
            rate = entries.rate[r, i]
            shape = 0.0
            if parents.value.size:
                told = parents.rate[r, i]
                for k in range(width):
                    told += log1p_quotient(exposure[k], rate[k])
                shape = _gamma_within(rng, parents.shape[r, i] + parents.received[r, i], told)
                parents.value[r, i] = shape
            for k in range(width):
                prior = shape if parents.value.size else entries.shape[r, i, k]
                into[i, k] = _gamma_within(
                    rng, prior + entries.received[r, i, k], rate[k] + exposure[k]
                )
                if not listed:
                    before[k] += into[i, k]
