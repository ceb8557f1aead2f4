"""A row of gamma variates, each with a shape of its own; cheap where the shapes are small.

    f(x) ∝ x^(a-1) e^-x,  a < 1

by rejection (Ahrens and Dieter, 1974): propose x = (u (1 + a/e))^(1/a), accepted below 1 with
probability e^-x; above 1 it is replaced by 1 + E, E ~ Exp(1), accepted with probability x^(a-1).
Nearly all proposals are accepted because v < 1 - x < e^-x, and need only a power, computed for
the whole row in loops that the compiler turns into vector instructions. Shapes from 1 on are
drawn one at a time.
"""

import math

import numpy as np
from numba import njit

from pgbn.random import mix, uniform
from pgbn.samplers.gamma import gamma_from_one

__all__ = ["row_gammas"]

_FRACTION = np.uint64(0x000FFFFFFFFFFFFF)
_HALF_ROOT = np.uint64(0x3FE6A09E00000000)  # the bits of a number close to sqrt(1/2)
_SHIFT = np.uint64(0x3FF0000000000000 - 0x3FE6A09E00000000)
_52 = np.uint64(52)
_12 = np.uint64(12)
_LOW = np.uint64(4095)
# log2 m = Σ_i L_i s^(2i + 1), s = (m - 1) / (m + 1), |s| < 0.172: the rest is below 1e-17.
_L0, _L1, _L2, _L3, _L4, _L5, _L6, _L7, _L8, _L9 = (
    2.0 / ((2 * i + 1) * math.log(2.0)) for i in range(10)
)
# 2^f = Σ_i E_i f^i, |f| <= 1/2: the rest is below 1e-17.
_E1, _E2, _E3, _E4, _E5, _E6, _E7, _E8, _E9, _E10, _E11, _E12, _E13 = (
    math.log(2.0) ** i / math.factorial(i) for i in range(1, 14)
)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def powers(state, step, factor, exponent, words, ceiling, out):
    """out_k = (factor_k · u_k)^exponent_k; ``ceiling`` = 1 - v rounded down to 12 bits.

    u and v are the high and the low bits of the next words of the stream. ``words`` is scratch
    (3, K): a number's bits are read through a second array on the same memory, and each loop
    reads and writes different arrays, or the compiler would not vectorise it.
    """
    size = out.size
    uniforms = words[0].view(np.float64)
    fractions = words[1].view(np.float64)
    scales = words[2].view(np.float64)
    for k in range(size):
        word = mix(state + step * np.uint64(k + 1))
        ceiling[k] = 1.0 - np.float64(np.int64(word & _LOW) + 1) * 2.0**-12
        uniforms[k] = (np.float64(np.int64(word >> _12)) + 0.5) * 2.0**-52 * factor[k]
    for k in range(size):
        word = words[0, k] + _SHIFT
        out[k] = np.float64(np.int64(word >> _52) - 1023)
        words[1, k] = (word & _FRACTION) + _HALF_ROOT
    for k in range(size):
        s = (fractions[k] - 1.0) / (fractions[k] + 1.0)
        t = s * s
        p = (((((((((_L9 * t) + _L8) * t + _L7) * t + _L6) * t + _L5) * t + _L4) * t) + _L3) * t)
        p = (((p + _L2) * t) + _L1) * t + _L0
        y = min(max((out[k] + p * s) * exponent[k], -1080.0), 1000.0)
        whole = math.floor(y + 0.5)
        f = y - whole
        p = ((((((_E13 * f) + _E12) * f + _E11) * f + _E10) * f + _E9) * f + _E8) * f
        p = ((((((p + _E7) * f) + _E6) * f + _E5) * f + _E4) * f + _E3) * f
        out[k] = ((p + _E2) * f + _E1) * f + 1.0
        words[2, k] = np.uint64(max(np.int64(whole) + 1023, 0)) << _52
    for k in range(size):
        out[k] *= scales[k]


@njit(cache=True, nogil=True, error_model="numpy")
def decide(rng, shape, x, high):
    """Accept x, or draw anew; v is uniform between high - 2^-12 and high."""
    v = high - uniform(rng) * 2.0**-12
    while True:
        if x < 1.0:
            if v < math.exp(-x):
                return x
        else:
            x = 1.0 - math.log(uniform(rng))
            if v < math.pow(x, shape - 1.0):
                return x
        u = uniform(rng) * (1.0 + shape / math.e)
        x = math.pow(u, 1.0 / shape) if u < 1.0 else 2.0
        v = uniform(rng)


@njit(cache=True, nogil=True, error_model="numpy")
def row_gammas(rng, shape, factor, exponent, words, ceiling, out):
    """out_k ~ Gam(shape_k, 1), independently, 0 where the shape is 0 and where x underflows.

    Scratch: factor, exponent, ceiling (K,) and words (3, K) uint64.
    """
    small = False
    for k in range(out.size):
        a = shape[k]
        if a < 1.0:
            small = True
        factor[k] = 1.0 + a * (1.0 / math.e)
        exponent[k] = 1.0 / a
    if small:
        powers(rng[0], rng[1], factor, exponent, words, ceiling, out)
        rng[0] += rng[1] * np.uint64(out.size)
    for k in range(out.size):
        if shape[k] >= 1.0:
            out[k] = gamma_from_one(rng, shape[k])
        elif out[k] > ceiling[k]:
            if shape[k] > 0.0:
                out[k] = decide(rng, shape[k], out[k], 1.0 - ceiling[k])
        if not shape[k] > 0.0:  # a NaN is handed on
            out[k] = shape[k]
