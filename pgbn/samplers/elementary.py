"""ln, exp, ln(1 + x), exp(x) - 1 and ln n!, bit-identical on every machine.

    ln(1 + f) = f - s (f - P),   s = f / (2 + f),   P = Σ_{i>=1} 2 s^2i / (2i + 1)
    exp(k ln 2 + r) = 2^k (1 + r + r² Q),           Q = Σ_{i>=0} r^i / (i + 2)!

A library's functions differ in the last place from one library to the next, and from one processor
to another, as those with fused multiplication have code of their own. The functions here use only
additions, multiplications and divisions, which are rounded alike everywhere, and the bits of a
number. The error is below four units in the last place, mostly below one.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pgbn.samplers.compiled import njit
from pgbn.samplers.from_numba import COMPILES, intrinsic, ir, types

LN_2 = 0.6931471805599453
_LN_2_HIGH = 0.6931471803691238  # the first 32 bits of ln 2: times an exponent it is exact
_LN_2_LOW = 1.9082149292705877e-10
_LOG2_E = 1.4426950408889634
_FRACTION = np.uint64(0x000FFFFFFFFFFFFF)
_HALF_ROOT = np.uint64(0x3FE6A09E00000000)  # the bits of a number close to sqrt(1/2)
_SHIFT = np.uint64(0x3FF0000000000000 - 0x3FE6A09E00000000)
_52 = np.uint64(52)
_TINY = 2.2250738585072014e-308
# |s| < 0.172: the rest of P is below 1e-17 of f
_P1, _P2, _P3, _P4, _P5, _P6, _P7, _P8, _P9 = (2.0 / (2 * i + 1) for i in range(1, 10))
# |r| < 0.35: the rest of Q is below 1e-17
_Q0, _Q1, _Q2, _Q3, _Q4, _Q5, _Q6, _Q7, _Q8, _Q9, _Q10, _Q11 = (
    1.0 / math.factorial(i + 2) for i in range(12)
)
_NEAR = 0.34  # this close to 0 the series are taken of x itself
_HALF_LN_2_PI = 0.9189385332046728


@intrinsic
def bits_of(typing_context, number):
    """The bits of a double or a single."""
    word = types.uint64 if number == types.float64 else types.uint32

    def code(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(word.bitwidth))

    return word(number), code


@intrinsic
def number_of(typing_context, bits):
    """The double of 64 bits, or the single of 32."""
    number = types.float64 if bits == types.uint64 else types.float32

    def code(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(number))

    return number(bits), code


@intrinsic
def fused(typing_context, a, b, c):
    """a · b + c, rounded once, on every machine: one instruction on those since about 2013, a call
    of the C library on older ones."""

    def code(context, builder, signature, arguments):
        return builder.fma(*arguments)

    return c(c, c, c), code


@njit(cache=True, nogil=True, forceinline=True)
def _log_near_one(f):
    """ln(1 + f), -0.3 < f < 0.42."""
    s = f / (2.0 + f)
    t = s * s
    t2 = t * t
    t4 = t2 * t2
    low = (_P1 + _P2 * t) + (_P3 + _P4 * t) * t2
    high = (_P5 + _P6 * t) + (_P7 + _P8 * t) * t2 + _P9 * t4
    return f - s * (f - t * (low + high * t4))


@njit(cache=True, nogil=True, forceinline=True)
def _exp_near_zero(r):
    """r + r² Q(r) = exp(r) - 1, |r| < 0.35."""
    r2 = r * r
    r4 = r2 * r2
    low = (_Q0 + _Q1 * r) + (_Q2 + _Q3 * r) * r2
    middle = (_Q4 + _Q5 * r) + (_Q6 + _Q7 * r) * r2
    high = (_Q8 + _Q9 * r) + (_Q10 + _Q11 * r) * r2
    return r + r2 * (low + r4 * (middle + r4 * high))


@njit(cache=True, nogil=True)
def log(x):
    """ln x; -inf at 0, NaN below."""
    if not x > 0.0:
        return -math.inf if x == 0.0 else math.nan
    if x == math.inf:
        return x
    exponent = -1023.0
    if x < _TINY:
        x, exponent = x * 2.0**54, -1077.0
    word = bits_of(x) + _SHIFT
    exponent += np.float64(np.int64(word >> _52))
    part = _log_near_one(number_of((word & _FRACTION) + _HALF_ROOT) - 1.0)
    return exponent * _LN_2_HIGH + (exponent * _LN_2_LOW + part)


@njit(cache=True, nogil=True)
def log1p(x):
    """ln(1 + x); -inf at -1, NaN below."""
    return _log_near_one(x) if -0.29 < x < _NEAR else log(1.0 + x)


@njit(cache=True, nogil=True)
def log1p_quotient(x, y):
    """ln(1 + x / y), also if x / y overflows."""
    return log1p(x / y) if x / y < math.inf else log(x) - log(y)


@njit(cache=True, nogil=True)
def exp(x):
    """exp x; 0 far below 0 and inf above 709.78."""
    if not -746.0 < x < 710.0:
        return 0.0 if x < 0.0 else x * math.inf
    whole = math.floor(x * _LOG2_E + 0.5)
    part = _exp_near_zero((x - whole * _LN_2_HIGH) - whole * _LN_2_LOW)
    exponent = np.int64(whole)
    half = exponent >> 1  # 2^k in two steps: alone it may be no number, though the result is
    first = number_of(np.uint64(half + 1023) << _52)
    return (1.0 + part) * first * number_of(np.uint64(exponent - half + 1023) << _52)


@njit(cache=True, nogil=True)
def expm1(x):
    """exp(x) - 1."""
    return _exp_near_zero(x) if -_NEAR < x < _NEAR else exp(x) - 1.0


@njit(cache=True, nogil=True)
def log_factorial(n):
    """ln n! of an integer, by Stirling's series from 10 on: to 4e-15 of its value."""
    if n < 10.0:
        product = 1.0
        while n > 1.0:
            product *= n
            n -= 1.0
        return log(product)
    x = 1.0 / (n * n)
    series = 1.0 / 1260.0 - x * (1.0 / 1680.0 - x * (1.0 / 1188.0))
    series = (1.0 / 12.0 - x * (1.0 / 360.0 - x * series)) / n
    return (n + 0.5) * log(n) - n + _HALF_LN_2_PI + series


# ---- arrays ------------------------------------------------------------------------------------
#
# The same functions of every entry of an array that draws depend on. Numbers that are only
# reported, such as a density, may use numpy's functions.


def _loop(name: str, function: Any) -> Any:
    """The kernel of a function of one number. The name is that of its files on disk."""

    def kernel(x, out):
        for i in range(x.size):
            out[i] = function(x[i])

    kernel.__name__ = kernel.__qualname__ = name
    return njit(cache=True, nogil=True)(kernel)


_exp, _expm1 = _loop("exp_numbers", exp), _loop("expm1_numbers", expm1)
_log, _log1p = _loop("log_numbers", log), _loop("log1p_numbers", log1p)


def exp_of(x: ArrayLike) -> Any:
    """exp x of each number; a number for a number."""
    return _each(_exp, np.exp, x)


def expm1_of(x: ArrayLike) -> Any:
    """exp(x) - 1 of each number; a number for a number."""
    return _each(_expm1, np.expm1, x)


def log_of(x: ArrayLike) -> Any:
    """ln x of each number, -inf of 0; a number for a number."""
    return _each(_log, np.log, x)


def log1p_of(x: ArrayLike) -> Any:
    """ln(1 + x) of each number; a number for a number."""
    return _each(_log1p, np.log1p, x)


def log1p_ratio(x: ArrayLike, y: ArrayLike) -> Any:
    """ln(1 + x / y) of each pair; ln x - ln y if x / y overflows."""
    if _is_formula(x) or _is_formula(y):
        return log1p_of(x / y)  # type: ignore[operator]
    with np.errstate(over="ignore"):
        ratio = np.asarray(np.divide(x, y))
    out = log1p_of(ratio)
    beyond = np.isinf(ratio)
    return np.where(beyond, log_of(x) - log_of(y), out)[()] if beyond.any() else out


def _is_formula(x: Any) -> bool:
    """Whether a value is a formula, which derivations use in place of numbers."""
    return hasattr(x, "__array_ufunc__") and not isinstance(x, (np.ndarray, np.generic))


def _each(kernel: Callable[..., None], function: np.ufunc, x: Any) -> Any:
    if _is_formula(x) or not COMPILES:
        return function(x)
    numbers = np.asarray(x, np.float64, order="C")
    out = np.empty(numbers.shape)
    kernel(numbers.reshape(-1), out.reshape(-1))
    return out[()]
