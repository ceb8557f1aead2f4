"""One of many units with probability ∝ φ_k θ_k, and the tables that are shared out so.

Products are added in sixteen lanes, unit k in lane k mod 16: first a lane is picked, then a unit
of it. They are float32 numbers: a relative error of 1e-7 in a probability. Vectors are filled with
zeros to a multiple of 16; indices are those of flat arrays.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from pgbn.random import mix, uniform
from pgbn.samplers.crt import crt
from pgbn.samplers.infer_lanes import aligned
from pgbn.samplers.lanes import (
    LANES,
    above,
    add_product,
    broadcast,
    last,
    load,
    lowest_bit,
    running_sum,
    store,
    zeros,
)
from pgbn.samplers.multinomial import multinomial

__all__ = ["Sums", "pass_up", "pick", "sums_of", "weigh"]

_MANY = 64  # from this many tables on, they are split by binomials
_DIRECT = 64  # so many customers are seated at once
_0, _1, _12, _LANES = (np.uint64(i) for i in (0, 1, 12, LANES))


class Sums(NamedTuple):
    """Running sums of products: ``reached[k]`` within the lane of unit k, ``lanes[1 + i]`` over
    the lanes 0 … i."""

    reached: np.ndarray
    lanes: np.ndarray


@njit(cache=True, nogil=True)
def sums_of(size):
    """Room for up to ``size`` units."""
    return Sums(aligned(size), aligned(LANES + 1))


@njit(cache=True, nogil=True, forceinline=True)
def weigh(phi, begin, theta, size, sums):
    """Σ_k φ_k θ_k, φ at the places from ``begin`` on; fills ``sums``."""
    total = zeros(phi)
    k = _0
    while k < size:
        total = add_product(total, load(phi, begin + k), load(theta, k))
        store(sums.reached, k, total)
        k += _LANES
    total = running_sum(total)
    store(sums.lanes, _1, total)
    return np.float64(last(total))


@njit(cache=True, nogil=True, forceinline=True)
def pick(rng, phi, begin, theta, size, sums, weight):
    """The unit where the running sum, lane after lane, passes a random target; see `weigh`.

    Without branches, which would be guessed wrongly. Rounding may lead beyond the end or to a unit
    that is impossible: then another target is drawn.
    """
    while True:
        target = np.float32(uniform(rng) * weight)
        word = above(load(sums.lanes, _1), broadcast(target))
        if not word:
            continue
        chosen = k = lowest_bit(word)
        rest = target - sums.lanes[chosen]
        while k < size:
            chosen += _LANES * np.uint64(rest >= sums.reached[k])
            k += _LANES
        if chosen < size and phi[begin + chosen] * theta[chosen] > 0.0:
            return chosen


@njit(cache=True, nogil=True)
def _tables(rng, customers, a):
    """`crt`, for a few customers in one loop without branches."""
    if customers > _DIRECT or not 0.0 < a < math.inf:
        return crt(rng, customers, a)
    state, step = rng[0], rng[1]
    tables = 1
    for i in range(1, customers):
        word = mix(state + step * np.uint64(i))
        u = (np.float64(np.int64(word >> _12)) + 0.5) * 2.0**-52
        tables += np.int64(u * (a + i) < a)
    rng[0] += step * np.uint64(customers - 1)
    return tables


@njit(cache=True, nogil=True)
def pass_up(rng, m_below, seated_below, a_below, phi, theta, width, m, seated, sums):
    """CRT(m_k, a_k) tables of every unit k below, each given to a unit l here ∝ φ_kl θ_l → m_l.

    ``seated`` lists the units with counts, in places 1 … seated[0]; ``phi`` has a line for
    every unit below, filled with zeros from ``width`` on like theta.
    """
    for p in range(1, seated[0] + 1):
        m[seated[p]] = 0.0
    found = 0
    size = np.uint64(theta.size)
    for p in range(1, seated_below[0] + 1):
        k = seated_below[p]
        begin = np.uint64(k) * size
        tables = _tables(rng, np.int64(m_below[k]), a_below[k])
        weight = weigh(phi, begin, theta, size, sums)
        if 0.0 < weight < math.inf and tables <= _MANY:
            for _ in range(tables):
                unit = pick(rng, phi, begin, theta, size, sums, weight)
                if m[unit] == 0.0:
                    found += 1
                    seated[found] = unit
                m[unit] += 1.0
        else:  # many; or all products underflowed, then any unit will do
            found = _split(rng, tables, phi[begin : begin + size], theta[:width], m, seated, found)
    seated[0] = found


@njit(cache=True, nogil=True)
def _split(rng, tables, line, theta, m, seated, found):
    product, parts = np.zeros(theta.size), np.zeros(theta.size, np.int64)
    for i in range(theta.size):
        product[i] = line[i] * theta[i]
    multinomial(rng, tables, product, parts)
    for i in range(theta.size):
        if parts[i] > 0:
            if m[i] == 0.0:
                found += 1
                seated[found] = i
            m[i] += parts[i]
    return found
