"""The first layer of one document with Φ^(1) held: labels of tokens, splits of cells.

    P(z_i = k | z_-i) ∝ φ_wk (m_k + a_k)          counts, θ^(1) marginalised
    (n_w1 … n_wK) ~ Mult(n_w; φ_wk θ_k)            other links, n_w drawn given the datum

``rows`` are the rows of Φ^(1) of the document's terms, filled with zeros to a multiple of eight.
"""

import math

import numpy as np
from numba import njit

from pgbn.random import uniform
from pgbn.samplers.bessel import bessel
from pgbn.samplers.multinomial import multinomial
from pgbn.samplers.poisson import truncated_poisson

__all__ = ["BERNOULLI", "GAMMA", "POISSON", "label_tokens", "split_cells", "sum_prior"]

POISSON, BERNOULLI, GAMMA = 0, 1, 2
# Unsigned, or numba would allow for negative indices in the innermost loops.
_1, _2, _3, _4, _5, _6, _7 = (np.uint64(i) for i in range(1, 8))


@njit(cache=True, nogil=True)
def sum_prior(rows, terms, a, edges):
    """edges[i, b] = Σ φ_wk a_k over the first b + 1 blocks of eight topics, w the i-th term."""
    for i in range(terms):
        row, edge = rows[i], edges[i]
        total = 0.0
        for block in range(np.uint64(edge.size)):
            k = block << _3
            total += (
                (row[k] * a[k] + row[k + _1] * a[k + _1])
                + (row[k + _2] * a[k + _2] + row[k + _3] * a[k + _3])
            ) + (
                (row[k + _4] * a[k + _4] + row[k + _5] * a[k + _5])
                + (row[k + _6] * a[k + _6] + row[k + _7] * a[k + _7])
            )
            edge[block] = total


@njit(cache=True, nogil=True)
def _pick_prior(row, edge, a, target):
    """The topic where the running sum of φ_wk a_k passes ``target``; -1 if all are 0."""
    block = np.uint64(0)
    last = np.uint64(edge.size - 1)
    while block < last and edge[block] <= target:
        block += _1
    if block > np.uint64(0):
        target -= edge[block - _1]
    chosen = -1
    for k in range(block << _3, (block + _1) << _3):
        mass = row[k] * a[k]
        if mass > 0.0:
            chosen = np.int64(k)
            target -= mass
            if target < 0.0:
                break
    if chosen < 0:  # rounding led to a block without mass
        for k in range(row.size):
            if row[k] * a[k] > 0.0:
                chosen = k
    return chosen


@njit(cache=True, nogil=True)
def label_tokens(rng, first, last, data, rows, edges, a, z, used, held, place, running):
    """One pass over the tokens of a document; z = -1 for a token without a label yet.

    φ_wk (m_k + a_k) is the sum over the few topics with counts and the prior's part, of which
    ``edges`` has the running sums. The topics with counts are used[1 … used[0]], their counts
    ``held`` beside them, and place[k] is where k is listed, 0 if it is not.
    """
    token = 0
    active = used[0]
    for cell in range(first, last):
        row, edge = rows[cell - first], edges[cell - first]
        smooth = edge[edge.size - 1]
        for _ in range(np.int64(data[cell])):
            old = z[token]
            if old >= 0:
                spot = place[old]
                held[spot] -= 1.0
                if held[spot] == 0.0:
                    moved = used[active]
                    used[spot], held[spot] = moved, held[active]
                    place[moved] = spot
                    place[old] = 0
                    active -= 1
            listed = 0.0
            for i in range(np.uint64(1), np.uint64(active + 1)):
                listed += row[np.uint64(used[i])] * held[i]
                running[i] = listed
            target = uniform(rng) * (listed + smooth)
            if target < listed:
                i = np.uint64(1)
                while running[i] <= target:
                    i += _1
                held[i] += 1.0
                new = used[i]
            else:
                new = _pick_prior(row, edge, a, target - listed)
                if new < 0:  # all products underflowed
                    new = max(old, 0)
                if place[new] == 0:
                    active += 1
                    used[active], held[active] = new, 0.0
                    place[new] = active
                held[place[new]] += 1.0
            z[token] = new
            token += 1
    used[0] = active


@njit(cache=True, nogil=True)
def split_cells(rng, first, last, data, link, noise, rows, theta, m, product):
    """n_w given the data and the rate λ_w = Σ_k φ_wk θ_k, then a multinomial split of n_w."""
    m[:] = 0
    for cell in range(first, last):
        value = rows[cell - first]
        rate = 0.0
        for k in range(m.size):
            product[k] = value[k] * theta[k]
            rate += product[k]
        if link == BERNOULLI:
            count = truncated_poisson(rng, rate)
        else:
            safe = max(rate, 1e-300)
            log_alpha = math.log(2.0) + 0.5 * (math.log(noise * data[cell]) + math.log(safe))
            count = bessel(rng, log_alpha)
        multinomial(rng, count, product[: m.size], m)
