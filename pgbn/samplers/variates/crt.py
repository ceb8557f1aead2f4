"""Tables of a Chinese restaurant."""

import math

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import log1p
from pgbn.samplers.random import exponential, uniform
from pgbn.samplers.variates.multinomial import draw_binomial

_DIRECT = 16  # up to this many customers are seated one by one
_MANY = 8192.0  # from this many candidates in a block on, customers are seated by binomials
_SLICE = 80.0  # twice the customers of a slice, on average, that are looked at one by one


@njit(cache=True, nogil=True, forceinline=True)
def draw_crt(rng, m, r):
    """l = [m > 0] + sum_{i=1}^{m-1} Bernoulli(r / (r + i)): l ~ CRT(m, r), Zhou and Carin (2015).

    The first table is certain, also at r = 0. Later customers come in blocks [s, 2s). If tables are
    rare (r << s), the candidates for a new table are reached by geometric jumps with probability r
    / (r + s), and customer i of them opens one with probability (r + s) / (r + i). If tables are
    common (r >> s), the customers who join a table are found in the same way. If there are many of
    either, see `seat_many`. Exact, and of cost √min(m, r) + log m at most.
    """
    if m <= 1 or r <= 0.0:
        return 1 if m > 0 else 0
    if r == math.inf:
        return m
    tables = 1
    for i in range(1, min(m, _DIRECT)):
        if uniform(rng) * (r + i) < r:
            tables += 1
    start = _DIRECT
    while start < m:
        stop = min(2 * start, m)
        if start * min(r, float(start)) > _MANY * (r + start):
            tables += seat_many(rng, start, stop, r)
        elif 4.0 * r < start:
            # ln of 1 / (1 - r / (r + s)). Floats throughout: a jump may exceed any integer.
            step = log1p(r / start)
            position = float(start)
            while step > 0.0:
                position += np.floor(exponential(rng) / step)
                if position >= stop:
                    break
                if uniform(rng) * (r + position) < r + start:
                    tables += 1
                position += 1.0
        elif r > 8.0 * start:
            # Joining has probability i / (r + i), at most that of the block's last customer.
            last = float(stop - 1)
            step = log1p(last / r)
            position = float(start)
            tables += stop - start
            while step > 0.0:
                position += np.floor(exponential(rng) / step)
                if position >= stop:
                    break
                if uniform(rng) * last * (r + position) < position * (r + last):
                    tables -= 1
                position += 1.0
        else:
            for i in range(start, stop):
                if uniform(rng) * (r + i) < r:
                    tables += 1
        start = stop
    return tables


@njit(cache=True, nogil=True)
def seat_many(rng, start, stop, r):
    """The tables that customers start … stop - 1 open: Σ_i Bernoulli(p_i), p_i = r / (r + i).

    In a slice u <= i <= v, with p = r / (r + v) its least, p_i = q_i + (1 - q_i) p with
    q_i = r (v - i) / ((r + i) v): a customer opens a table by q_i, or else by p. Few do so by q_i;
    they are reached by geometric jumps. p is the same for all others, whose number is a binomial.
    """
    tables, u = 0, float(start)
    while u < stop:
        width = max(1.0, np.floor(math.sqrt(_SLICE * u * (1.0 + u / r))))
        v = min(u + width, float(stop)) - 1.0
        few = 0
        if v > u:
            step = -log1p(-(v - u) / v * (r / (r + u)))
            position = u + np.floor(exponential(rng) / step)
            while position < v:  # q_v = 0
                if uniform(rng) * (v - u) * (r + position) < (v - position) * (r + u):
                    few += 1
                position += 1.0 + np.floor(exponential(rng) / step)
        tables += few + draw_binomial(rng, np.int64(v - u) + 1 - few, r / (r + v))
        u = v + 1.0
    return tables
