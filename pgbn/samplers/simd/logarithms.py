"""Logarithms and powers of two without branches or calls: loops over them become vector
instructions."""

import math

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import LN_2, bits_of, fused, number_of

__all__ = ["exp2", "exp2_single", "log2", "log2_single"]

_FRACTION = np.uint64(0x000FFFFFFFFFFFFF)
_HALF_ROOT = np.uint64(0x3FE6A09E00000000)  # the bits of a number close to sqrt(1/2)
_SHIFT = np.uint64(0x3FF0000000000000 - 0x3FE6A09E00000000)
_52 = np.uint64(52)
# log2 m = Σ_i L_i s^(2i + 1), s = (m - 1) / (m + 1), |s| < 0.172: the rest is below 1e-17.
_L0, _L1, _L2, _L3, _L4, _L5, _L6, _L7, _L8, _L9 = (2.0 / ((2 * i + 1) * LN_2) for i in range(10))
# 2^f = Σ_i E_i f^i, |f| <= 1/2: the rest is below 1e-17.
_E1, _E2, _E3, _E4, _E5, _E6, _E7, _E8, _E9, _E10, _E11, _E12, _E13 = (
    LN_2**i / math.factorial(i) for i in range(1, 14)
)


@njit(cache=True, nogil=True, forceinline=True)
def log2(x):
    """log2 of a positive normal double."""
    word = bits_of(x) + _SHIFT
    whole = np.float64(np.int64(word >> _52) - 1023)
    fraction = number_of((word & _FRACTION) + _HALF_ROOT)
    s = (fraction - 1.0) / (fraction + 1.0)
    t = s * s
    p = fused(fused(fused(_L9, t, _L8), t, _L7), t, _L6)
    p = fused(fused(fused(p, t, _L5), t, _L4), t, _L3)
    p = fused(fused(fused(p, t, _L2), t, _L1), t, _L0)
    return fused(p, s, whole)


@njit(cache=True, nogil=True, forceinline=True)
def exp2(y):
    """2^y; 0 below the normal doubles, and 2^1000 at most."""
    clipped = min(max(y, -1080.0), 1000.0)
    whole = math.floor(clipped + 0.5)
    f = clipped - whole
    p = fused(fused(fused(_E13, f, _E12), f, _E11), f, _E10)
    p = fused(fused(fused(p, f, _E9), f, _E8), f, _E7)
    p = fused(fused(fused(p, f, _E6), f, _E5), f, _E4)
    p = fused(fused(fused(p, f, _E3), f, _E2), f, _E1)
    scale = number_of(np.uint64(max(np.int64(whole) + 1023, 0)) << _52)
    return fused(p, f, 1.0) * scale


# ---- the same in single precision. Sums of 32-bit integers are 64 bits wide in numba, and are
# cut; every number is a single, or the sum would be a double. ----

_FRACTION_1 = np.uint32(0x007FFFFF)
_HALF_ROOT_1 = np.uint32(0x3F3504F3)
_SHIFT_1 = np.uint32(0x3F800000 - 0x3F3504F3)
_23, _BIAS = np.uint32(23), np.float32(127.0)
_S0, _S1, _S2, _S3, _S4 = (np.float32(c) for c in (_L0, _L1, _L2, _L3, _L4))
_D1, _D2, _D3, _D4, _D5, _D6, _D7 = (np.float32(c) for c in (_E1, _E2, _E3, _E4, _E5, _E6, _E7))
_HALF, _ONE, _LEAST, _MOST = (np.float32(c) for c in (0.5, 1.0, -127.0, 126.0))


@njit(cache=True, nogil=True, forceinline=True)
def log2_single(x):
    """log2 of a positive normal single; the rest of the series is below 1e-8."""
    word = np.uint32(bits_of(x) + _SHIFT_1)
    whole = np.float32(np.int32(word >> _23)) - _BIAS
    fraction = number_of(np.uint32((word & _FRACTION_1) + _HALF_ROOT_1))
    s = (fraction - _ONE) / (fraction + _ONE)
    t = s * s
    p = fused(fused(fused(fused(_S4, t, _S3), t, _S2), t, _S1), t, _S0)
    return fused(p, s, whole)


@njit(cache=True, nogil=True, forceinline=True)
def exp2_single(y):
    """2^y; 0 below the normal singles, and 2^126 at most."""
    clipped = min(max(y, _LEAST), _MOST)
    whole = np.floor(clipped + _HALF)
    f = clipped - whole
    p = fused(fused(fused(_D7, f, _D6), f, _D5), f, _D4)
    p = fused(fused(fused(p, f, _D3), f, _D2), f, _D1)
    scale = number_of(np.uint32(np.uint32(np.int32(whole + _BIAS)) << _23))
    return fused(p, f, _ONE) * scale
