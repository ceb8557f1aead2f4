"""Draws from Σ_k value_k · weight_k where only a few values are large: lists of (topic, value).

A list occupies the places begin .. begin + length of two flat arrays, ``topic`` and ``value``;
places up to the next multiple of eight hold the value 0, so that loops run over whole blocks
of eight. Weights are dense over topics, filled with zeros to a multiple of eight.

Indices are unsigned throughout: for a signed index numba must allow for negative ones, which
nearly doubles the time of these loops.
"""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from pgbn.samplers.random import uniform

__all__ = [
    "draw_beyond_list",
    "padded",
    "pick_in_list",
    "pick_weight",
    "prefetch_list",
    "sum_list",
    "sum_weights",
]

_0, _1, _2, _3, _4, _5, _6, _7, _8 = (np.uint64(i) for i in range(9))


def padded(length):
    """The least multiple of eight that is not less than ``length``."""
    return (length + 7) // 8 * 8


@intrinsic
def _prefetch(typing_context, array, index):
    """Ask for the cache line of ``array[index]``, which may lie beyond the end; no wait."""

    def code(context, builder, signature, arguments):
        structure = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = builder.gep(structure.data, [arguments[1]])
        pointer = builder.bitcast(pointer, ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], kind)
        builder.call(function, [pointer, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.uint64), code


@njit(cache=True, nogil=True, forceinline=True)
def prefetch_list(topic, value, begin):
    """Ask for the first 64 places of a list, of 2 and 4 bytes each: few lists are longer."""
    _prefetch(topic, begin)
    _prefetch(topic, begin + np.uint64(32))
    _prefetch(value, begin)
    _prefetch(value, begin + np.uint64(16))
    _prefetch(value, begin + np.uint64(32))
    _prefetch(value, begin + np.uint64(48))


@njit(cache=True, nogil=True)
def sum_weights(weight):
    """Σ_k weight_k; four sums at a time, since one would wait for itself."""
    a = b = c = d = 0.0
    for k in range(0, weight.size, 4):
        a += weight[k]
        b += weight[k + 1]
        c += weight[k + 2]
        d += weight[k + 3]
    return (a + b) + (c + d)


@njit(cache=True, nogil=True, forceinline=True)
def sum_list(topic, value, begin, length, weight, before):
    """Σ value · weight over a list; ``before[b]`` becomes the sum before block b."""
    total = 0.0
    blocks = (length + _7) >> _3
    block = _0
    while block < blocks:
        p = begin + (block << _3)
        before[block] = total
        total += (
            (value[p] * weight[topic[p]] + value[p + _1] * weight[topic[p + _1]])
            + (value[p + _2] * weight[topic[p + _2]] + value[p + _3] * weight[topic[p + _3]])
        ) + (
            (value[p + _4] * weight[topic[p + _4]] + value[p + _5] * weight[topic[p + _5]])
            + (value[p + _6] * weight[topic[p + _6]] + value[p + _7] * weight[topic[p + _7]])
        )
        block += _1
    return total


@njit(cache=True, nogil=True, forceinline=True)
def pick_in_list(topic, value, begin, length, weight, before, target):
    """The place where the running sum of value · weight passes ``target`` < `sum_list`."""
    block = ((length + _7) >> _3) - _1
    while before[block] > target:
        block -= _1
    target -= before[block]
    p = begin + (block << _3)
    # Seven comparisons without a branch: cheaper than one branch that is guessed wrongly.
    s0 = value[p] * weight[topic[p]]
    s1 = s0 + value[p + _1] * weight[topic[p + _1]]
    s2 = s1 + value[p + _2] * weight[topic[p + _2]]
    s3 = s2 + value[p + _3] * weight[topic[p + _3]]
    s4 = s3 + value[p + _4] * weight[topic[p + _4]]
    s5 = s4 + value[p + _5] * weight[topic[p + _5]]
    s6 = s5 + value[p + _6] * weight[topic[p + _6]]
    steps = (
        (np.int64(target >= s0) + np.int64(target >= s1))
        + (np.int64(target >= s2) + np.int64(target >= s3))
        + (np.int64(target >= s4) + np.int64(target >= s5) + np.int64(target >= s6))
    )
    place = p + np.uint64(steps)
    # Rounding may lead beyond the last positive term of the block; nothing else can.
    while place > p and value[place] * weight[topic[place]] == 0.0:
        place -= _1
    return place


@njit(cache=True, nogil=True)
def pick_weight(weight, target):
    """The k where the running sum of the weights passes ``target``; ``weight.size`` if all are 0.

    A target beyond the sum, which only rounding can cause, gives the last positive weight.
    """
    size = np.uint64(weight.size)
    k = _0
    while k < size:
        part = ((weight[k] + weight[k + _1]) + (weight[k + _2] + weight[k + _3])) + (
            (weight[k + _4] + weight[k + _5]) + (weight[k + _6] + weight[k + _7])
        )
        if target < part:
            break
        target -= part
        k += _8
    chosen = size
    end = min(k + _8, size)
    while k < end:
        if weight[k] > 0.0:
            chosen = k
            target -= weight[k]
            if target < 0.0:
                return k
        k += _1
    if chosen == size:
        k = size
        while k > _0:
            k -= _1
            if weight[k] > 0.0:
                return k
    return chosen


@njit(cache=True, nogil=True, error_model="numpy")
def draw_beyond_list(
    rng, topic, large, begin, length, values, slot, bound, weight, before, list_sum, total, target
):
    """k with probability ∝ value_k · weight_k, for a ``target`` that lies beyond the list.

    The values are ``values[slot]``; the list holds exactly those above ``bound``, ``list_sum`` is
    its `sum_list` and ``total`` the sum of the weights. ``target`` is uniform between 0 and
    list_sum + bound · total: a candidate comes from the list (`pick_in_list`, which the caller
    does itself) or, with bound · weight_k, from all topics; the latter is accepted with
    probability value_k / bound, and never if k is listed. If it is refused, the next target may
    be anywhere. That is rejection sampling: exact for any bound.
    Returns ``weight.size`` if all products are 0.
    """
    size = np.uint64(weight.size)
    value = values[slot]
    for _ in range(32):
        if target < list_sum:
            place = pick_in_list(topic, large, begin, length, weight, before, target)
            return np.uint64(topic[place])
        k = pick_weight(weight, (target - list_sum) / bound)
        if k < size and value[k] <= bound and uniform(rng) * bound < value[k]:
            return k
        target = uniform(rng) * (list_sum + bound * total)
    # Nearly all candidates are refused here: sum all products instead.
    product = np.zeros(weight.size)
    for k in range(value.size):
        product[k] = value[k] * weight[k]
    return pick_weight(product, uniform(rng) * sum_weights(product))
