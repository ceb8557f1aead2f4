"""Gamma variates, and their logarithms, at any shape.

Division is that of numpy (x / 0 is inf), as in all kernels: the test of each divisor, for Python's
exception, would take a fifth of the time.
"""

import math
from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import LN_2, exp, fused, log, log1p, log_factorial
from pgbn.samplers.from_numba import overload, types
from pgbn.samplers.lanes import (
    LANES,
    exp2,
    exp2_single,
    filled,
    find_above,
    find_outside,
    log2,
    log2_single,
    pointer,
)
from pgbn.samplers.random import exponential, mix, normal, uniform


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


# ---- row gammas ---------------------------------------------------------------------------------
#
# Rows of gamma variates, each with a shape of its own; cheap for small shapes.
#
#     f(x) ∝ x^(a-1) e^-x,  a < 1
#
# by rejection (Ahrens and Dieter, 1974): propose x = (u (1 + a/e))^(1/a), accepted below 1 with
# probability e^-x; above 1 it is replaced by 1 + E, E ~ Exp(1), accepted with probability x^(a-1).
# Nearly all proposals are accepted because v < 1 - x < e^-x, and need only a power, computed for
# the entire row in loops that the compiler turns into vector instructions. The others wait until
# there are some hundreds of them, and are then settled, and proposed anew, in such loops too.
# Shapes from 1 on are drawn one at a time.


_0, _1, _LANES = np.uint64(0), np.uint64(1), np.uint64(LANES)
_BELOW_ONE = float(np.nextafter(np.float32(1.0), np.float32(0.0)))
_12, _32 = np.uint64(12), np.uint64(32)
_LOW = np.uint64(4095)
_NOTHING, _HALF, _ONE, _LN_2 = (np.float32(c) for c in (0.0, 0.5, 1.0, LN_2))
_CELL, _GRID, _FINE = (np.float32(c) for c in (2.0**-12, 2.0**-32, 2.0**-44))
# log2(1 + t) = t (T1 + T2 t + … + T6 t^5) to 7e-8 for 0 <= t <= 1/e, by Chebyshev's points
_T1, _T2, _T3, _T4, _T5, _T6 = (
    np.float32(c)
    for c in (1.44269494, -0.72132767, 0.48024438, -0.35263732, 0.24207382, -0.10405888)
)
_LOG2_E, _OVER_E = np.float32(math.log2(math.e)), np.float32(1.0 / math.e)
TINY = 2.2250738585072014e-308  # the smallest normal double
HUGE = 1e300  # the largest gamma: sums and products of some of them are still finite
_ROOM = np.uint64(512)  # variates that wait, and one row more


class Workspace(NamedTuple):
    """The shapes of some rows of ``columns`` gammas, or of one that all share; scratch for the
    variates of a row; and the proposals that wait: their shapes, values and ceilings, the place
    of the variate in the output and what it is multiplied by there. ``below_one`` is a bound,
    sixteen times, and ``found`` the places in a row where something is above a bound.

    Rows are filled up to a multiple of sixteen with shapes of 1/2: then loops have no remainder,
    whose entries would be computed one by one.
    """

    columns: int
    shape: np.ndarray
    x: np.ndarray
    ceiling: np.ndarray
    place: np.ndarray
    scale: np.ndarray
    waiting_shape: np.ndarray
    waiting_x: np.ndarray
    waiting_ceiling: np.ndarray
    below_one: np.ndarray
    found: np.ndarray


@njit(cache=True, nogil=True)
def workspace(rows, columns, kind):
    """Scratch for rows of gammas, drawn as numbers of a kind: float64, or float32 if a relative
    error of 1e-5 and 0 in place of 1e-38 do no harm."""
    padded = (columns + LANES - 1) // LANES * LANES
    room = padded + np.int64(_ROOM) + LANES
    return Workspace(
        columns,
        filled(np.empty(rows * padded, kind), 0.5).reshape((rows, padded)),
        np.empty(padded, kind),
        np.empty(padded, kind),
        np.empty(room, np.uint64),
        np.empty(room, np.float64),
        np.empty(room, kind),
        np.empty(room, kind),
        np.empty(room, kind),
        filled(np.empty(LANES, kind), _BELOW_ONE),
        np.empty(padded + 1, np.uint64),
    )


def _log_proposal(word, shape):
    """log2 of (u (1 + a / e))^(1 / a), u from the high bits of a word, in the precision of the
    shape."""
    raise NotImplementedError


def _double(word, shape):
    u = (np.float64(np.int64(word >> _12)) + 0.5) * 2.0**-52
    return log2(fused(u * shape, 1.0 / math.e, u)) / shape


def _single(word, shape):
    # 1 - u matters if the shape is small: it has all its digits, and a correction of the logarithm
    # restores the digits that u itself lost.
    rest = (np.float32(np.uint32(word >> _32)) + _HALF) * _GRID
    u = _ONE - rest
    log_u = fused((_ONE - u) - rest, _LOG2_E, log2_single(u))
    t = shape * _OVER_E  # log2(1 + t), t < 0.37
    p = fused(fused(fused(fused(fused(_T6, t, _T5), t, _T4), t, _T3), t, _T2), t, _T1)
    return fused(p, t, log_u) / shape


@overload(_log_proposal, inline="always")
def _choose_proposal(word, shape):
    return _single if shape == types.float32 else _double


def _power(logarithm):
    """2^logarithm, in its precision."""
    raise NotImplementedError


def _power_double(logarithm):
    return exp2(logarithm)


def _power_single(logarithm):
    return exp2_single(logarithm)


@overload(_power, inline="always")
def _choose_power(logarithm):
    return _power_single if logarithm == types.float32 else _power_double


@njit(cache=True, nogil=True, forceinline=True)
def _propose(state, step, size, shape, first, ceiling, out):
    """out_k = (u_k (1 + a_k / e))^(1 / a_k), and ceiling_k = 1 - v_k rounded down to 12 bits: u
    and v are the high and the low bits of the next words of the stream."""
    for k in range(size):
        word = mix(state + step * np.uint64(k + 1))
        ceiling[k] = _ONE - (np.float32(np.uint32(word & _LOW)) + _ONE) * _CELL
        out[k] = _log_proposal(word, shape[first + k])
    for k in range(size):  # separate: in one long loop every number waits for the previous steps
        out[k] = _power(out[k])


@njit(cache=True, nogil=True, forceinline=True)
def _judge(state, step, size, fine, shape, x, ceiling):
    """Replace the proposals above 1, and ceiling_p by a number that is positive if x_p is rejected:
    v less the probability of accepting it.

    v is uniform on 2^32 steps of ``fine`` below 1 - ceiling. The decisive digits are needed rarely
    enough for single precision.
    """
    for p in range(size):
        word = mix(state + step * np.uint64(p + 1))
        v = (_ONE - np.float32(ceiling[p])) - (np.float32(np.uint32(word)) + _HALF) * fine
        u = (np.float32(np.uint32(word >> _32)) + _HALF) * _GRID
        beyond = _ONE - log2_single(u) * _LN_2
        below = x[p] < _ONE
        power = np.float32(shape[p]) - _ONE
        log_chance = -np.float32(x[p]) * _LOG2_E if below else power * log2_single(beyond)
        ceiling[p] = v - exp2_single(log_chance)
        x[p] = x[p] if below else beyond


@njit(cache=True, nogil=True)
def settle(rng, work, left, least, fine, out):
    """Accept the ``left`` proposals that wait, or propose anew until they are; ``out`` is flat, and
    ``fine`` · 2^32 what their ceilings were rounded to."""
    x, ceiling, shape = (
        pointer(work.waiting_x),
        pointer(work.waiting_ceiling),
        pointer(work.waiting_shape),
    )
    place, scale, result = pointer(work.place), pointer(work.scale), pointer(out)
    while left > _0:
        size = (left + _LANES - _1) // _LANES * _LANES
        for p in range(left, size):
            shape[p] = x[p] = ceiling[p] = _HALF
        _judge(rng[0], rng[1], size, fine, shape, x, ceiling)
        rng[0] += rng[1] * size
        number, left = left, _0
        for p in range(number):
            result[place[p]] = min(
                max(x[p] * scale[p], least), HUGE
            )  # replaced later if it is rejected
            place[left], scale[left], shape[left] = place[p], scale[p], shape[p]
            left += np.uint64(ceiling[p] >= _NOTHING)
        size = (left + _LANES - _1) // _LANES * _LANES
        for p in range(left, size):
            shape[p] = _HALF
        _propose(rng[0], rng[1], size, shape, _0, ceiling, x)
        rng[0] += rng[1] * size
        fine = _FINE


@njit(cache=True, nogil=True)
def fill_rows(rng, work, rows, scale, least, place, out):
    """out[place + i · columns + k] = scale_i · x_ik, x_ik ~ Gam(shape_ik, 1), or ``least`` if that
    is more, and `HUGE` at most; the shape itself if it is 0 or NaN. Row i has the line i of
    ``work.shape``, or the only one; ``out`` is flat.
    """
    columns, padded = np.uint64(work.columns), np.uint64(work.x.size)
    x, ceiling, result = pointer(work.x), pointer(work.ceiling), pointer(out)
    places, scales, shapes = pointer(work.place), pointer(work.scale), pointer(work.waiting_shape)
    waiting_x, waiting_ceiling = pointer(work.waiting_x), pointer(work.waiting_ceiling)
    every, below_one, found = pointer(work.shape), pointer(work.below_one), pointer(work.found)
    infinity, waiting = np.float32(np.inf), _0
    for row in range(np.uint64(rows)):
        first = min(row, np.uint64(work.shape.shape[0] - 1)) * padded
        begin, times = np.uint64(place) + row * columns, scale[row]
        _propose(rng[0], rng[1], padded, every, first, ceiling, x)
        rng[0] += rng[1] * padded
        large = find_above(every, first, below_one, _0, _0, columns, found, _0)
        for p in range(large):
            i = found[p]
            x[i], ceiling[i] = draw_gamma_from_one(rng, np.float64(every[first + i])), infinity
        refused = find_above(x, _0, ceiling, _0, _1, columns, found, _0)
        for p in range(refused):
            i, w = found[p], waiting + p
            places[w], scales[w] = begin + i, times
            shapes[w], waiting_x[w], waiting_ceiling[w] = every[first + i], x[i], ceiling[i]
        waiting += refused
        for i in range(columns):
            shape = every[first + i]
            value = min(max(x[i] * times, least), HUGE)
            result[begin + i] = value if shape > 0.0 else np.float64(shape)
        if waiting > _ROOM:
            settle(rng, work, waiting, least, _FINE, out)
            waiting = _0
    settle(rng, work, waiting, least, _FINE, out)


# ---- equal gammas -------------------------------------------------------------------------------
#
# Many gamma variates of one small shape, by inversion.
#
#     P(g < y) = y^a M(y) / Γ(1 + a),   g ~ Gam(a, 1),  0 < a < 1
#     M(y) = a ∫_0^1 t^(a-1) e^(-yt) dt = 1 - a y / (a + 1) + a y² / (2 (a + 2)) - …
#
# For a uniform u, x = (u Γ(1 + a))^(1/a) = y M(y)^(1/a) is y itself for small y, the usual case. Up
# to y = 1/2 a polynomial of the shape maps x to y; the few variates above are drawn from their own
# law. A word of 64 random bits serves two variates, 23 bits each, and the power is taken in single
# precision: errors of 1e-7 / a in x. Values below the range of single precision are drawn again in
# double, from their law given that they are small:
#
#     P(g < y | g < ε) = (y / ε)^a,  ε = 2^-120


EQUAL_SHAPES = (0.02, 0.99)  # shapes for which these draws are exact enough, and faster than others
_9, _GRID_23 = np.uint32(9), np.float32(2.0**-23)
_SMALL, _LARGE = 2.0**-120, 0.5
# The polynomial is exact at this many points; between them its error is at most 2e-7 of y.
_POINTS = 9
# cos(π (2i + 1) / 18): Chebyshev's points
_COSINES = tuple(float(c) for c in np.round(np.cos(np.pi * (np.arange(9) + 0.5) / 9), 12))


class EqualRoom(NamedTuple):
    """Scratch for rows of ``columns`` variates: a row, the places of those that wait, with values
    and tests, the bounds ε and 1/2, sixteen times each, and the ``curve`` of a shape (`_bend`)."""

    columns: int
    words: np.ndarray
    halves: np.ndarray
    x: np.ndarray
    found: np.ndarray
    small: np.ndarray
    large: np.ndarray
    value: np.ndarray
    test: np.ndarray
    bounds: np.ndarray
    curve: np.ndarray


@njit(cache=True, nogil=True)
def equal_room(columns):
    """Scratch for rows, which are filled up to a multiple of 32: then loops have no remainder."""
    padded = (columns + 2 * LANES - 1) // (2 * LANES) * (2 * LANES)
    waiting = padded + np.int64(_ROOM) + LANES
    bounds = filled(np.empty(2 * LANES, np.float32), _SMALL)
    filled(bounds[LANES:], _LARGE)
    words = np.empty(padded // 2, np.uint64)
    return EqualRoom(
        columns,
        words,
        words.view(np.uint32),
        np.empty(padded, np.float32),
        np.empty(padded + 1, np.uint64),
        np.empty(waiting, np.uint64),
        np.empty(waiting, np.uint64),
        np.empty(waiting, np.float64),
        np.empty(waiting, np.float32),
        bounds,
        filled(np.empty(_POINTS + 2), 0.0),
    )


# ---- from a power of u to the variate -------------------------------------------------


@njit(cache=True, nogil=True)
def _log_m(shape, y):
    """ln M(y), 0 <= y <= 1/2."""
    term, total = 1.0, 0.0
    for n in range(1, 16):
        term *= -y / n
        total += term * shape / (shape + n)
    return log1p(total)


@njit(cache=True, nogil=True)
def _value_at(shape, x):
    """The y with y M(y)^(1/a) = x, by Newton's method: d ln(y M(y)^(1/a)) / dy = e^-y / (y M)."""
    y = x
    for _ in range(8):
        log_m = _log_m(shape, y)
        y -= (log(y / x) + log_m / shape) * y * exp(log_m + y)
    return y


@njit(cache=True, nogil=True)
def _bend(shape, curve):
    """The shape, log2 Γ(1 + a), and c_0, c_1, … with y = x (c_0 + c_1 x + …) up to y = 1/2."""
    product = 1.0
    for i in range(1, 11):
        product *= shape + i
    curve[0], curve[1] = shape, (log_factorial(shape + 10.0) - log(product)) / LN_2
    end = _LARGE * exp(_log_m(shape, _LARGE) / shape)
    points, differences = np.empty(_POINTS), np.empty(_POINTS)
    for i in range(_POINTS):
        points[i] = end * (0.5 + 0.5 * _COSINES[i])
        differences[i] = _value_at(shape, points[i]) / points[i]
    for order in range(1, _POINTS):  # Newton's divided differences
        for i in range(_POINTS - 1, order - 1, -1):
            differences[i] = (differences[i] - differences[i - 1]) / (points[i] - points[i - order])
    coefficients = filled(curve[2:], 0.0)
    for i in range(_POINTS - 1, -1, -1):  # times (x - x_i), and the next difference
        for power in range(_POINTS - 1, 0, -1):
            coefficients[power] = coefficients[power - 1] - points[i] * coefficients[power]
        coefficients[0] = differences[i] - points[i] * coefficients[0]


@njit(cache=True, nogil=True, forceinline=True)
def _invert(state, step, room, curve, out):
    """A row of variates, as far as they are below 1/2, from the next words of the stream.

    There are several short loops. In a long one every number waits for many steps, one after
    another. The processor does not look far enough ahead to work on others meanwhile.
    """
    words, halves, size = pointer(room.words), pointer(room.halves), np.uint64(room.halves.size)
    for i in range(np.uint64(room.words.size)):
        words[i] = mix(state + step * (i + _1))
    power, shift = np.float32(1.0 / curve[0]), np.float32(curve[1])
    for k in range(size):
        u = (np.float32(np.int32(np.uint32(halves[k] >> _9))) + _HALF) * _GRID_23
        out[k] = (log2_single(u) + shift) * power
    for k in range(size):
        out[k] = exp2_single(out[k])
    c0, c1, c2 = np.float32(curve[2]), np.float32(curve[3]), np.float32(curve[4])
    c3, c4, c5 = np.float32(curve[5]), np.float32(curve[6]), np.float32(curve[7])
    c6, c7, c8 = np.float32(curve[8]), np.float32(curve[9]), np.float32(curve[10])
    for k in range(size):
        x = out[k]
        p = fused(fused(fused(fused(c8, x, c7), x, c6), x, c5), x, c4)
        out[k] = fused(fused(fused(fused(p, x, c3), x, c2), x, c1), x, c0) * x


# ---- those that wait ------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _draw_small(rng, shape, number, places, values, out):
    """Draw the variates at ``places`` from their law below ε; ``values`` is scratch."""
    state, step = rng[0], rng[1]
    for p in range(number):
        u = (np.float64(np.int64(mix(state + step * (p + _1)) >> _12)) + 0.5) * 2.0**-52
        values[p] = exp2(log2(u) / shape - 120.0)
    rng[0] += step * number
    for p in range(number):
        out[places[p]] = values[p]


@njit(cache=True, nogil=True)
def _draw_large(rng, shape, left, places, values, test, out):
    """Draw the ``left`` variates at ``places`` from their law above 1/2, y^(a-1) e^-y: y = 1/2 + E,
    E ~ Exp(1), is accepted with probability (2y)^(a-1); ``values`` and ``test`` are scratch."""
    power = np.float32(shape) - _ONE
    while left > _0:
        size = (left + _LANES - _1) // _LANES * _LANES
        for p in range(size):
            word = mix(rng[0] + rng[1] * (p + _1))
            u = (np.float32(np.uint32(word)) + _HALF) * _GRID
            v = (np.float32(np.uint32(word >> _32)) + _HALF) * _GRID
            y = _HALF - log2_single(u) * _LN_2
            values[p] = y
            test[p] = log2_single(v) - power * (log2_single(y) + _ONE)
        rng[0] += rng[1] * size
        number, left = left, _0
        for p in range(number):
            out[places[p]] = values[p]  # replaced later if it is rejected
            places[left] = places[p]
            left += np.uint64(test[p] >= 0.0)


@njit(cache=True, nogil=True)
def fill_equal(rng, room, shape, rows, place, out):
    """out[place + i · columns + k] ~ Gam(shape, 1) for i < rows; ``room`` is an `equal_room`,
    ``out`` flat and of double."""
    if room.curve[0] != shape:
        _bend(shape, room.curve)
    columns, words = np.uint64(room.columns), np.uint64(room.words.size)
    x, curve, result = pointer(room.x), pointer(room.curve), pointer(out)
    small, large, found = pointer(room.small), pointer(room.large), pointer(room.found)
    values, test, bounds = pointer(room.value), pointer(room.test), pointer(room.bounds)
    begin, below, above = np.uint64(place), _0, _0
    for _ in range(rows):
        _invert(rng[0], rng[1], room, curve, x)
        rng[0] += rng[1] * words
        for p in range(find_outside(x, bounds, columns, found)):
            i = found[p]
            small[below] = large[above] = begin + i
            is_large = np.uint64(x[i] > _HALF)
            above += is_large
            below += _1 - is_large
        for i in range(columns):
            result[begin + i] = x[i]
        if below > _ROOM:
            _draw_small(rng, shape, below, small, values, result)
            below = _0
        if above > _ROOM:
            _draw_large(rng, shape, above, large, values, test, result)
            above = _0
        begin += columns
    _draw_small(rng, shape, below, small, values, result)
    _draw_large(rng, shape, above, large, values, test, result)
