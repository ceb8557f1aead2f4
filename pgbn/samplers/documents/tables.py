"""Tables of a document, each given to one of many units with probability ∝ φ_k θ_k."""

import math
from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.documents.units import expected_weights
from pgbn.samplers.filled import filled
from pgbn.samplers.random import mix
from pgbn.samplers.simd.lanes import aligned
from pgbn.samplers.simd.pick import ROOM, pick, weigh
from pgbn.samplers.variates.crt import draw_crt
from pgbn.samplers.variates.multinomial import draw_multinomial

__all__ = ["Sums", "pass_up", "sums_of"]

_MANY = 64  # from this many tables on, they are split by binomials
_DIRECT = 64  # so many customers are seated at once
_0, _12 = np.uint64(0), np.uint64(12)


class Sums(NamedTuple):
    """Running sums of products, see `pick.weigh`."""

    reached: np.ndarray
    lanes: np.ndarray


def sums_of(size):
    """Room for up to ``size`` units."""
    return Sums(aligned(size), aligned(ROOM))


@njit(cache=True, nogil=True)
def _tables(rng, customers, a):
    """`draw_crt`, for a few customers in one loop without branches."""
    if customers > _DIRECT or not 0.0 < a < math.inf:
        return draw_crt(rng, customers, a)
    state, step = rng[0], rng[1]
    tables = 1
    for i in range(1, customers):
        word = mix(state + step * np.uint64(i))
        u = (np.float64(np.int64(word >> _12)) + 0.5) * 2.0**-52
        tables += np.int64(u * (a + i) < a)
    rng[0] += step * np.uint64(customers - 1)
    return tables


@njit(cache=True, nogil=True)
def pass_up(rng, m_below, seated_below, a_below, phi, theta, expected, m, seated, sums):
    """CRT(m_k, a_k) tables of every unit k below, each given to a unit l here ∝ φ_kl θ_l → m_l.

    ``seated`` lists the units with counts, in places 1 … seated[0]; ``phi`` has a line for
    every unit below, filled with zeros like theta beyond the units, of which ``expected`` has E θ.
    """
    for p in range(1, seated[0] + 1):
        m[seated[p]] = 0.0
    found = 0
    size = np.uint64(theta.size)
    for p in range(1, seated_below[0] + 1):
        k = seated_below[p]
        begin = np.uint64(k) * size
        tables = _tables(rng, np.int64(m_below[k]), a_below[k])
        weight = weigh(phi, begin, theta, size, sums.reached, _0, sums.lanes, _0)
        if 0.0 < weight < math.inf and tables <= _MANY:
            for _ in range(tables):
                unit = pick(rng, size, sums.reached, _0, sums.lanes, _0, weight)
                if m[unit] == 0.0:
                    found += 1
                    seated[found] = unit
                m[unit] += 1.0
        else:  # many; or all products underflowed
            line = phi[begin : begin + size]
            found = _split(rng, tables, line, theta, expected, m, seated, found)
    seated[0] = found


@njit(cache=True, nogil=True)
def _split(rng, tables, line, theta, expected, m, seated, found):
    width, total = expected.size, 0.0
    product, parts = np.empty(width), filled(np.empty(width, np.int64), 0)
    for i in range(width):
        product[i] = line[i] * theta[i]
        total += product[i]
    if total == 0.0:
        expected_weights(line, expected, product)
    draw_multinomial(rng, tables, product, parts)
    for i in range(width):
        if parts[i] > 0:
            if m[i] == 0.0:
                found += 1
                seated[found] = i
            m[i] += parts[i]
    return found
