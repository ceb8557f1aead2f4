"""Rows of gamma variates, each with a shape of its own; cheap where the shapes are small.

    f(x) ∝ x^(a-1) e^-x,  a < 1

by rejection (Ahrens and Dieter, 1974): propose x = (u (1 + a/e))^(1/a), accepted below 1 with
probability e^-x; above 1 it is replaced by 1 + E, E ~ Exp(1), accepted with probability x^(a-1).
Nearly all proposals are accepted because v < 1 - x < e^-x, and need only a power, computed for
the whole row in loops that the compiler turns into vector instructions. The others wait until
there are some hundreds of them, and are then settled, and proposed anew, in such loops too.
Shapes from 1 on are drawn one at a time.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from pgbn.random import mix, uniform
from pgbn.samplers.gamma import gamma_from_one
from pgbn.samplers.logarithms import exp2, log2

__all__ = ["TINY", "Workspace", "fill_row", "is_full", "settle", "workspace"]

_0 = np.uint64(0)
_12 = np.uint64(12)
_LOW = np.uint64(4095)
_LOG2_E = math.log2(math.e)
TINY = 2.2250738585072014e-308  # the smallest normal double
_ROOM = 512  # proposals that wait, and one row more


class Workspace(NamedTuple):
    """The shapes of the row at hand, and scratch for its variates. The proposals that wait, in
    number ``number[0]``: their shapes, values and ceilings, the place of the variate in the
    output and what it is multiplied by there.

    All are filled up to a multiple of eight: then loops have no remainder, whose entries would
    be computed one by one.
    """

    shape: np.ndarray
    x: np.ndarray
    ceiling: np.ndarray
    listed: np.ndarray
    number: np.ndarray
    place: np.ndarray
    scale: np.ndarray
    waiting_shape: np.ndarray
    waiting_x: np.ndarray
    waiting_ceiling: np.ndarray
    weight: np.ndarray


@njit(cache=True, nogil=True)
def workspace(size):
    """Room for rows of ``size`` gammas."""
    row = (size + 7) // 8 * 8
    room = row + _ROOM + 8
    return Workspace(
        np.full(row, 0.5),
        np.empty(row),
        np.empty(row),
        np.empty(row + 1, np.uint64),
        np.zeros(1, np.int64),
        np.empty(room, np.int64),
        np.empty(room),
        np.empty(room),
        np.empty(room),
        np.empty(room),
        np.empty(room),
    )


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _propose(state, step, size, shape, ceiling, out):
    """out_k = (u_k (1 + a_k / e))^(1 / a_k), and ceiling_k = 1 - v_k rounded down to 12 bits: u
    and v are the high and the low bits of the next words of the stream."""
    for k in range(size):
        word = mix(state + step * np.uint64(k + 1))
        ceiling[k] = 1.0 - np.float64(np.int64(word & _LOW) + 1) * 2.0**-12
        u = (np.float64(np.int64(word >> _12)) + 0.5) * 2.0**-52
        out[k] = exp2(log2(u + u * shape[k] * (1.0 / math.e)) / shape[k])


@njit(cache=True, nogil=True, error_model="numpy")
def fill_row(rng, work, scale, least, place, line):
    """line_k = scale · x_k, x_k ~ Gam(shape_k, 1), or ``least`` where that is more; the shape
    where it is 0 or NaN. Entries that wait are written by `settle`, at ``place`` + k.
    """
    shape, x, ceiling, listed = work.shape, work.x, work.ceiling, work.listed
    waiting_place, waiting_scale, waiting_shape = work.place, work.scale, work.waiting_shape
    waiting_x, waiting_ceiling = work.waiting_x, work.waiting_ceiling
    _propose(rng[0], rng[1], x.size, shape, ceiling, x)
    rng[0] += rng[1] * np.uint64(x.size)
    # Lists are made without branches, which would be guessed wrongly at every entry listed.
    found = _0
    for k in range(np.uint64(line.size)):
        listed[found] = k
        found += np.uint64((shape[k] >= 1.0) | (x[k] > ceiling[k]))
    waiting, large = np.uint64(work.number[0]), _0
    for p in range(found):
        k = listed[p]
        waiting_place[waiting] = place + np.int64(k)
        waiting_scale[waiting] = scale
        waiting_shape[waiting] = shape[k]
        waiting_x[waiting] = x[k]
        waiting_ceiling[waiting] = ceiling[k]
        waiting += np.uint64(shape[k] < 1.0)
        listed[large] = k
        large += np.uint64(shape[k] >= 1.0)
    for p in range(large):
        x[listed[p]] = gamma_from_one(rng, shape[listed[p]])
    work.number[0] = waiting
    for k in range(line.size):
        line[k] = max(x[k] * scale, least) if shape[k] > 0.0 else shape[k]


@njit(cache=True, nogil=True)
def is_full(work):
    """Whether there may be no room for the proposals of another row."""
    return work.number[0] > _ROOM


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _weigh(state, step, size, shape, x, weight):
    """The probability of accepting the proposal x_p, where those above 1 are replaced."""
    for p in range(size):
        word = mix(state + step * np.uint64(p + 1))
        beyond = 1.0 - log2((np.float64(np.int64(word >> _12)) + 0.5) * 2.0**-52) * math.log(2.0)
        below = x[p] < 1.0
        weight[p] = exp2(-x[p] * _LOG2_E if below else (shape[p] - 1.0) * log2(beyond))
        x[p] = x[p] if below else beyond


@njit(cache=True, nogil=True, error_model="numpy")
def settle(rng, work, least, out):
    """Accept the proposals that wait, or propose anew until they are; ``out`` is flat."""
    x, ceiling, shape = work.waiting_x, work.waiting_ceiling, work.waiting_shape
    place, scale, weight = work.place, work.scale, work.weight
    left = work.number[0]
    while left > 0:
        size = (left + 7) // 8 * 8
        shape[left:size] = x[left:size] = 0.5
        _weigh(rng[0], rng[1], size, shape, x, weight)
        rng[0] += rng[1] * np.uint64(size)
        number, left = left, 0
        for p in range(number):
            # v is uniform on its 2^-12 below 1 - ceiling
            v = 1.0 - ceiling[p] - uniform(rng) * 2.0**-12
            out[place[p]] = max(x[p] * scale[p], least)  # replaced later if it is refused
            place[left], scale[left], shape[left] = place[p], scale[p], shape[p]
            left += np.int64(v >= weight[p])
        size = (left + 7) // 8 * 8
        shape[left:size] = 0.5
        _propose(rng[0], rng[1], size, shape, ceiling, x)
        rng[0] += rng[1] * np.uint64(size)
    work.number[0] = 0
