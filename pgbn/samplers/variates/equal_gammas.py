"""Many gamma variates of one small shape.

    g ~ Gam(a, 1),  0 < a < 1

by the rejection of `row_gammas`: x = (u (1 + a/e))^(1/a), nearly always accepted at once. Since all
have one shape, a word of 64 random bits serves two of them, 23 bits for u and 9 for the test, and
the power is taken in single precision: errors of 1e-7 / a in x. What single precision cannot hold
is drawn again in double, from its law given that it is small:

    P(g < y | g < ε) = (y / ε)^a,  ε = 2^-120
"""

import math

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import LN_2, log1p
from pgbn.samplers.filled import filled
from pgbn.samplers.random import mix
from pgbn.samplers.simd.lanes import LANES, pointer
from pgbn.samplers.simd.logarithms import exp2, exp2_single, log2, log2_single
from pgbn.samplers.simd.places import find_above, find_below
from pgbn.samplers.variates.row_gammas import settle

__all__ = ["EQUAL_SHAPES", "fill_equal"]

EQUAL_SHAPES = (0.02, 0.99)  # where these draws are exact enough, and quicker than others
_0, _1 = np.uint64(0), np.uint64(1)
_9, _LOW, _12, _32 = np.uint32(9), np.uint32(511), np.uint64(12), np.uint64(32)
_HALF, _ONE = np.float32(0.5), np.float32(1.0)
_GRID, _CELL, _FINE = np.float32(2.0**-23), np.float32(2.0**-9), np.float32(2.0**-41)
_SMALL = 2.0**-120
_ROOM = np.uint64(512)  # proposals that wait, and one row more: that of `workspace`


@njit(cache=True, nogil=True, forceinline=True)
def _propose_two(state, step, half, shape, x, ceiling):
    """x_k = (u_k (1 + a / e))^(1 / a), and ceiling_k = 1 - v_k rounded down to 9 bits, for
    k < 2 half: word i of the stream serves k = i and k = half + i."""
    power, shift = np.float32(1.0 / shape), np.float32(log1p(shape / math.e) / LN_2)
    for i in range(half):
        word = mix(state + step * (i + _1))
        low, high = np.uint32(word), np.uint32(word >> _32)
        u = (np.float32(np.uint32(low >> _9)) + _HALF) * _GRID
        x[i] = exp2_single((log2_single(u) + shift) * power)
        ceiling[i] = _ONE - (np.float32(np.uint32(low & _LOW)) + _ONE) * _CELL
        u = (np.float32(np.uint32(high >> _9)) + _HALF) * _GRID
        x[half + i] = exp2_single((log2_single(u) + shift) * power)
        ceiling[half + i] = _ONE - (np.float32(np.uint32(high & _LOW)) + _ONE) * _CELL


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
def _refine(rng, work, shape, rows, place, out):
    """Draw what is below ε in some rows again, in double precision."""
    columns, begin = np.uint64(work.columns), np.uint64(place)
    small = filled(np.empty(LANES), _SMALL)
    found, places = pointer(work.found), pointer(work.place)
    values, result, bound, number = pointer(work.scale), pointer(out), pointer(small), _0
    for _ in range(rows):
        below = find_below(result, begin, bound, columns, found)
        for p in range(below):
            places[number + p] = begin + found[p]
        number += below
        if number > _ROOM:
            _draw_small(rng, shape, number, places, values, result)
            number = _0
        begin += columns
    _draw_small(rng, shape, number, places, values, result)
    small[0] = 0.0  # used after its pointer, which does not keep it


@njit(cache=True, nogil=True)
def fill_equal(rng, work, shape, rows, place, out):
    """out[place + i · columns + k] ~ Gam(shape, 1) for i < rows; ``work`` is a `workspace` of
    single precision, ``out`` flat and of double."""
    columns, half = np.uint64(work.columns), np.uint64(work.x.size // 2)
    x, ceiling, result = pointer(work.x), pointer(work.ceiling), pointer(out)
    places, scales, shapes = pointer(work.place), pointer(work.scale), pointer(work.waiting_shape)
    waiting_x, waiting_ceiling = pointer(work.waiting_x), pointer(work.waiting_ceiling)
    found, begin, waiting = pointer(work.found), np.uint64(place), _0
    for _ in range(rows):
        _propose_two(rng[0], rng[1], half, shape, x, ceiling)
        rng[0] += rng[1] * half
        refused = find_above(x, _0, ceiling, _0, _1, columns, found, _0)
        for p in range(refused):
            i, w = found[p], waiting + p
            places[w], scales[w], shapes[w] = begin + i, 1.0, shape
            waiting_x[w], waiting_ceiling[w] = x[i], ceiling[i]
        waiting += refused
        for i in range(columns):
            result[begin + i] = x[i]
        if waiting > _ROOM:
            settle(rng, work, waiting, 0.0, _FINE, out)
            waiting = _0
        begin += columns
    settle(rng, work, waiting, 0.0, _FINE, out)
    _refine(rng, work, shape, rows, place, out)
