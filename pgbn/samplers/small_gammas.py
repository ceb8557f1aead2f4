"""Many gamma variates of one small shape at once: Gam(η, 1), η < 1, a row at a time.

    f(x) ∝ x^(η-1) e^-x

by rejection (Ahrens and Dieter, 1974): propose x = u^(1/η) below 1, accepted with probability
e^-x, and x = 1 + E, E ~ Exp(1), above, accepted with probability x^(η-1). Nineteen in twenty
proposals of shape 0.05 are accepted because v < 1 - x < e^-x: for these a row needs only the
powers u^(1/η), computed in loops that the compiler turns into vector instructions.
"""

import math

import numpy as np
from numba import njit

from pgbn.random import mix, uniform

__all__ = ["small_gammas"]

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


@njit(cache=True, nogil=True, error_model="numpy")
def _powers(state, step, exponent, factor, words, ceiling, out):
    """out_k = (factor · u_k)^exponent; ``ceiling`` = 1 - v rounded down to 12 bits.

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
        uniforms[k] = (np.float64(np.int64(word >> _12)) + 0.5) * 2.0**-52
    for k in range(size):
        word = words[0, k] + _SHIFT
        out[k] = np.float64(np.int64(word >> _52) - 1023)
        words[1, k] = (word & _FRACTION) + _HALF_ROOT
    offset = math.log2(factor)
    for k in range(size):
        s = (fractions[k] - 1.0) / (fractions[k] + 1.0)
        t = s * s
        p = ((((((((_L9 * t) + _L8) * t + _L7) * t + _L6) * t + _L5) * t + _L4) * t) + _L3) * t
        p = (((p + _L2) * t) + _L1) * t + _L0
        y = max((out[k] + p * s + offset) * exponent, -1080.0)
        whole = math.floor(y + 0.5)
        f = y - whole
        p = ((((((_E13 * f) + _E12) * f + _E11) * f + _E10) * f + _E9) * f + _E8) * f
        p = ((((((p + _E7) * f) + _E6) * f + _E5) * f + _E4) * f + _E3) * f
        out[k] = ((p + _E2) * f + _E1) * f + 1.0
        words[2, k] = np.uint64(max(np.int64(whole) + 1023, 0)) << _52
    for k in range(size):
        out[k] *= scales[k]


@njit(cache=True, nogil=True)
def _decide(rng, eta, above, x, high):
    """Accept x, or draw anew; v is uniform between high - 2^-12 and high."""
    v = high - uniform(rng) * 2.0**-12
    while True:
        if x < 1.0:
            if v < math.exp(-x):
                return x
        else:
            x = 1.0 - math.log(uniform(rng))
            if v < math.pow(x, eta - 1.0):
                return x
        u = uniform(rng) / (1.0 - above)
        x = math.pow(u, 1.0 / eta) if u < 1.0 else 2.0
        v = uniform(rng)


@njit(cache=True, nogil=True)
def small_gammas(rng, eta, words, ceiling, out):
    """out_k ~ Gam(η, 1), independently; scratch ``words`` (3, K) uint64, ``ceiling`` (K,)."""
    # The proposals above 1 are those with u > 1 - above, whose power exceeds 1.
    above = eta / (eta + math.e)
    _powers(rng[0], rng[1], 1.0 / eta, 1.0 / (1.0 - above), words, ceiling, out)
    rng[0] += rng[1] * np.uint64(out.size)
    for k in range(out.size):
        if out[k] > ceiling[k]:
            out[k] = _decide(rng, eta, above, out[k], 1.0 - ceiling[k])
