"""Gamma variates, and their logarithms, at any shape.

Division is that of numpy (x / 0 is inf), as in all kernels: the test of each divisor, for Python's
exception, would take a fifth of the time.
"""

import math

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import exp, log, log1p
from pgbn.samplers.random import exponential, normal, uniform

__all__ = ["draw_gamma", "draw_gamma_from_one", "draw_gamma_rate", "draw_log_gamma"]


@njit(cache=True, nogil=True, forceinline=True)
def draw_gamma_from_one(rng, shape):
    """x ~ Gam(a, 1) for a >= 1: Marsaglia and Tsang, "A simple method..." (2000).

    x = d (1 + t)^3 with t = z / sqrt(9 d), d = a - 1/3, z a standard normal.
    """
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        z = normal(rng)
        t = c * z
        if t <= -1.0:
            continue
        cube = (1.0 + t) * (1.0 + t) * (1.0 + t)
        u = uniform(rng)
        square = z * z
        if u < 1.0 - 0.0331 * square * square:
            return d * cube
        # d (1 - v + ln v) with v = (1 + t)^3, written so that nothing cancels at a = 1e12.
        excess = 3.0 * (log1p(t) - t) - t * t * (3.0 + t)
        if log(u) < 0.5 * square + d * excess:
            return d * cube


@njit(cache=True, nogil=True, forceinline=True)
def draw_log_gamma(rng, shape):
    """ln x, x ~ Gam(a, 1), as ln Gam(a + 1) - E / a with E ~ Exp(1) where a < 1.

    Good from a = 1e-300 (where x itself underflows) to 1e12; -inf at a = 0.
    """
    if not shape > 0.0:  # a NaN is handed on: the rejection loop would never end
        return math.nan if math.isnan(shape) else -math.inf
    small = shape < 1.0
    log_x = log(draw_gamma_from_one(rng, shape + 1.0 if small else shape))
    return log_x - exponential(rng) / shape if small else log_x


@njit(cache=True, nogil=True, forceinline=True)
def draw_gamma_rate(rng, shape, rate):
    """x ~ Gam(a, rate c); 0 at a = 0, inf at c = 0.

    For a < 1, x = Gam(a + 1, c) exp(-E / a), E ~ Exp(1) (Stuart's theorem): exact as long as
    x itself can be represented, however small exp(-E / a) is.
    """
    if not shape > 0.0:  # a NaN is handed on: the rejection loop would never end
        return math.nan if math.isnan(shape) else 0.0
    decay, small = 0.0, shape < 1.0
    if small:
        decay = exponential(rng) / shape
        # Most gammas of tiny shape are below the smallest double: seen before the rest is drawn.
        if decay > 760.0 and (rate >= 1.0 or decay + log(rate) > 760.0):
            return 0.0
    x = draw_gamma_from_one(rng, shape + 1.0 if small else shape) / rate  # inlined, so only once
    if not small:
        return x
    if decay < 600.0:
        return x * exp(-decay)
    return exp(log(x) - decay)


@njit(cache=True, nogil=True)
def draw_gamma(rng, shape):
    """x ~ Gam(a, 1); 0 at a = 0. See `draw_gamma_rate`."""
    return draw_gamma_rate(rng, shape, 1.0)
