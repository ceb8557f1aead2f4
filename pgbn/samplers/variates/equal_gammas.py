"""Many gamma variates of one small shape, by inversion.

    P(g < y) = y^a M(y) / Γ(1 + a),   g ~ Gam(a, 1),  0 < a < 1
    M(y) = a ∫_0^1 t^(a-1) e^(-yt) dt = 1 - a y / (a + 1) + a y² / (2 (a + 2)) - …

For a uniform u, x = (u Γ(1 + a))^(1/a) = y M(y)^(1/a) is y itself where y is small, as it mostly
is. Up to y = 1/2 a polynomial of the shape takes x to y; the few variates above are drawn from
their own law. A word of 64 random bits serves two variates, 23 bits each, and the power is taken in
single precision: errors of 1e-7 / a in x. What single precision cannot hold is drawn again in
double, from its law given that it is small:

    P(g < y | g < ε) = (y / ε)^a,  ε = 2^-120
"""

from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import LN_2, exp, fused, log, log1p, log_factorial
from pgbn.samplers.filled import filled
from pgbn.samplers.random import mix
from pgbn.samplers.simd.lanes import LANES, pointer
from pgbn.samplers.simd.logarithms import exp2, exp2_single, log2, log2_single
from pgbn.samplers.simd.places import find_outside

__all__ = ["EQUAL_SHAPES", "EqualRoom", "equal_room", "fill_equal"]

EQUAL_SHAPES = (0.02, 0.99)  # where these draws are exact enough, and quicker than others
_0, _1, _LANES = np.uint64(0), np.uint64(1), np.uint64(LANES)
_9, _12, _32 = np.uint32(9), np.uint64(12), np.uint64(32)
_HALF, _ONE = np.float32(0.5), np.float32(1.0)
_GRID, _FINE, _LN_2 = np.float32(2.0**-23), np.float32(2.0**-32), np.float32(LN_2)
_SMALL, _LARGE = 2.0**-120, 0.5
_ROOM = np.uint64(512)  # variates that wait, and one row more
# The polynomial is exact at so many points: between them it errs by 2e-7 of y at most.
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
    """Room for rows, which are filled up to a multiple of 32: then loops have no remainder."""
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

    In several short loops: in a long one every number waits for many steps, one after another, and
    the processor does not look far enough ahead to work on others meanwhile.
    """
    words, halves, size = pointer(room.words), pointer(room.halves), np.uint64(room.halves.size)
    for i in range(np.uint64(room.words.size)):
        words[i] = mix(state + step * (i + _1))
    power, shift = np.float32(1.0 / curve[0]), np.float32(curve[1])
    for k in range(size):
        u = (np.float32(np.int32(np.uint32(halves[k] >> _9))) + _HALF) * _GRID
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
            u = (np.float32(np.uint32(word)) + _HALF) * _FINE
            v = (np.float32(np.uint32(word >> _32)) + _HALF) * _FINE
            y = _HALF - log2_single(u) * _LN_2
            values[p] = y
            test[p] = log2_single(v) - power * (log2_single(y) + _ONE)
        rng[0] += rng[1] * size
        number, left = left, _0
        for p in range(number):
            out[places[p]] = values[p]  # replaced later if it is refused
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
