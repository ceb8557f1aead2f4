"""Tables of a Chinese restaurant."""

import math

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import log1p
from pgbn.samplers.random import exponential, uniform

__all__ = ["draw_crt"]

_DIRECT = 16  # so many customers are seated one by one


@njit(cache=True, nogil=True, forceinline=True)
def draw_crt(rng, m, r):
    """l = [m > 0] + sum_{i=1}^{m-1} Bernoulli(r / (r + i)): l ~ CRT(m, r), Zhou and Carin (2015).

    The first table is certain, also at r = 0. Later customers come in blocks [s, 2s). Where tables
    are rare (r << s) the candidates for a new table are reached by geometric jumps with
    probability r / (r + s), and customer i of them opens one with probability (r + s) / (r + i);
    where they are common (r >> s) the customers who join a table are found in the same way.
    Exact, and of cost min(m, r) + l + log m at most.
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
        if 4.0 * r < start:
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
