"""Draws from Σ_k value_k · weight_k with only a few large values: lists of (topic, value).

A list occupies the places begin .. begin + length of two flat arrays; places up to the next
multiple of eight have the value 0, so that loops run over full blocks of eight. Weights are dense
over topics, filled with zeros to a multiple of eight.

Indices are unsigned throughout: for a signed index numba must allow for negative ones, which
nearly doubles the time of these loops. Bundles have pointers: bundles of arrays would count
references at every call, which doubles the time as well (see `pointer`).
"""

from typing import Any, NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.from_numba import intrinsic, ir, types
from pgbn.samplers.lanes import filled, pointer
from pgbn.samplers.random import uniform

_0, _1, _2, _3, _4, _5, _6, _7, _8 = (np.uint64(i) for i in range(9))
_BYTES = ir.IntType(8).as_pointer()
Pointer = Any  # of `pointer`; has no type outside of kernels


class TopicLists(NamedTuple):
    """Lists one after another: ``value[p]`` belongs to the topic ``topic[p]``."""

    topic: Pointer
    value: Pointer


class TopicWeights(NamedTuple):
    """A weight for each of the topics, zeros up to ``size``; from there on scratch: the sum of a
    list before each of its blocks."""

    weight: Pointer
    size: np.uint64


def padded(length):
    """The least multiple of eight that is not less than ``length``."""
    return (length + 7) // 8 * 8


@njit(cache=True, nogil=True)
def weights_room(topics):
    """The array of `weights_in`, zeros: the caller keeps it, and writes the weights there."""
    size = (np.int64(topics) + 7) // 8 * 9 + 1  # a divided list may have a block more
    return filled(np.empty(size), 0.0)


@njit(cache=True, nogil=True, forceinline=True)
def weights_in(room):
    """The weights in an array of `weights_room`."""
    return TopicWeights(pointer(room), np.uint64(room.size // 9 * 8))


@intrinsic
def _prefetch(typing_context, numbers, index):
    """Prefetch the cache line of ``numbers[index]``, which may be beyond the end; no wait."""

    def code(context, builder, signature, arguments):
        place = builder.bitcast(builder.gep(arguments[0], [arguments[1]]), _BYTES)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [_BYTES, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [_BYTES], kind)
        builder.call(function, [place, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(numbers, types.uint64), code


@njit(cache=True, nogil=True, forceinline=True)
def prefetch_number(numbers, index):
    """Prefetch one number."""
    _prefetch(numbers, index)


@njit(cache=True, nogil=True, forceinline=True)
def prefetch_list(lists, begin):
    """Prefetch the first 64 places of a list, of 2 and 4 bytes each: few lists are longer."""
    _prefetch(lists.topic, begin)
    _prefetch(lists.topic, begin + np.uint64(32))
    _prefetch(lists.value, begin)
    _prefetch(lists.value, begin + np.uint64(16))
    _prefetch(lists.value, begin + np.uint64(32))
    _prefetch(lists.value, begin + np.uint64(48))


@njit(cache=True, nogil=True)
def sum_weights(weights):
    """Σ_k weight_k; four sums at a time: one alone would wait for each addition."""
    weight = weights.weight
    a = b = c = d = 0.0
    for k in range(_0, weights.size, _4):
        a += weight[k]
        b += weight[k + _1]
        c += weight[k + _2]
        d += weight[k + _3]
    return (a + b) + (c + d)


@njit(cache=True, nogil=True, forceinline=True)
def sum_list(lists, begin, length, weights):
    """Σ value · weight over a list; the scratch of the weights is filled for `pick_in_list`."""
    return sum_on(lists, begin, _0, length, weights, 0.0)


@njit(cache=True, nogil=True, forceinline=True)
def sum_on(lists, begin, known, length, weights, total):
    """The same, if the first ``known`` places, up to a full block, have the sum ``total`` and their
    scratch is filled."""
    topic, value, weight = lists.topic, lists.value, weights.weight
    block, blocks = (known + _7) >> _3, (length + _7) >> _3
    while block < blocks:
        p = begin + (block << _3)
        weight[weights.size + block] = total
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
def pick_in_list(lists, begin, length, weights, target):
    """The place where the running sum of value · weight passes ``target`` < `sum_list`."""
    topic, value, weight = lists.topic, lists.value, weights.weight
    block = ((length + _7) >> _3) - _1
    while weight[weights.size + block] > target:
        block -= _1
    target -= weight[weights.size + block]
    p = begin + (block << _3)
    # Seven comparisons without a branch are cheaper than one mispredicted branch.
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
def pick_weight(weights, target):
    """The k where the running sum of the weights passes ``target``; ``size`` if all are 0.

    A target beyond the sum, which only rounding can cause, gives the last positive weight.
    """
    weight, size = weights.weight, weights.size
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


# ---- a topic of a word with Φ fixed ---------------------------------------------------------
#
#     P(k) ∝ value_wk · weight_k
#
# The large values of a word are listed; the others are below a bound and are found by rejection.
# There may be another term of a given weight, ``beyond``: a draw of it is `EXTRA_TERM`.


EXTRA_TERM = np.uint64(2**32)  # no topic has this number


class GivenValues(NamedTuple):
    """`Loadings` by pointers: the lists of the large values, and all of them, ``dense``."""

    start: Pointer
    length: Pointer
    bound: Pointer
    high: Pointer
    top: Pointer
    topic: Pointer
    value: Pointer
    dense: Pointer
    topics: np.uint64


@njit(cache=True, nogil=True, forceinline=True)
def given_values(loadings):
    """The values of `Loadings`, which must be an argument of the calling kernel."""
    return GivenValues(
        pointer(loadings.start),
        pointer(loadings.length),
        pointer(loadings.bound),
        pointer(loadings.high),
        pointer(loadings.top),
        pointer(loadings.topic),
        pointer(loadings.large),
        pointer(loadings.value),
        np.uint64(loadings.value.shape[2]),
    )


@njit(cache=True, nogil=True, forceinline=True)
def prefetch_word(values, slot):
    """Prefetch the list of a word that will be read soon: the lists are too many for the caches."""
    prefetch_list(values, np.uint64(values.start[slot]))


@njit(cache=True, nogil=True, forceinline=True)
def prefetch_head(values, slot):
    """Prefetch the place of a word's list, some time before `prefetch_word`."""
    prefetch_number(values.start, slot)
    prefetch_number(values.top, slot)
    prefetch_number(values.bound, slot)
    prefetch_number(values.high, slot)


@njit(cache=True, nogil=True, forceinline=True)
def sum_top(values, slot, weights):
    """Σ value · weight over the top of a word's list."""
    return sum_list(values, np.uint64(values.start[slot]), np.uint64(values.top[slot]), weights)


@njit(cache=True, nogil=True, forceinline=True)
def draw_topic(rng, values, slot, weights, total, beyond, top_sum):
    """k with probability ∝ value_k · weight_k, `EXTRA_TERM` with that of the weight ``beyond``;
    ``weights.size`` if all of these are 0.

    ``total`` is the sum of the weights, ``top_sum`` that of the top of the list (`sum_top`), where
    most draws end; ``rng`` is a pointer. The entries below the top have at most (high + bound) · Σ
    weight. Their sum is computed only if a target is there.
    """
    begin, top = np.uint64(values.start[slot]), np.uint64(values.top[slot])
    end = top_sum + (values.high[slot] + values.bound[slot]) * total
    target = uniform(rng) * (end + beyond)
    if target < top_sum:
        place = pick_in_list(values, begin, top, weights, target)
        k = np.uint64(values.topic[place])
    elif beyond > 0.0 and target >= end:
        k = EXTRA_TERM
    else:
        k = _draw_below_top(rng, values, slot, weights, total, beyond, top_sum, target)
    return k


@njit(cache=True, nogil=True)
def _draw_below_top(rng, values, slot, weights, total, beyond, top_sum, target):
    """`draw_topic` for a ``target`` between the sum of the top and the bound of the entries below.

    A candidate comes from the list or, with bound · weight_k, from all topics. The latter is
    accepted with probability value_k / bound, and never if k is listed. If it is rejected, or no
    entry is at the target, the next target may be anywhere. That is rejection sampling: exact for
    any bound.
    """
    begin, length = np.uint64(values.start[slot]), np.uint64(values.length[slot])
    list_sum = sum_on(values, begin, np.uint64(values.top[slot]), length, weights, top_sum)
    bound, first = values.bound[slot], slot * values.topics
    topics = list_sum + bound * total
    if target >= topics and values.high[slot] > 0.0:  # no entry is there
        target = uniform(rng) * (topics + beyond)
    for _ in range(32):
        if target < list_sum:
            place = pick_in_list(values, begin, length, weights, target)
            return np.uint64(values.topic[place])
        if beyond > 0.0 and target >= topics:
            return EXTRA_TERM
        k = pick_weight(weights, (target - list_sum) / bound)
        if k < values.topics:
            value = values.dense[first + k]
            if value <= bound and uniform(rng) * bound < value:
                return k
        target = uniform(rng) * (topics + beyond)
    # Nearly all candidates are rejected here: sum all products instead.
    return _draw_by_products(rng, values, slot, weights, beyond, weights_room(values.topics))


@njit(cache=True, nogil=True)
def _draw_by_products(rng, values, slot, weights, beyond, room):
    """`draw_topic` from all products, which are written to ``room``."""
    first = slot * values.topics
    for k in range(values.topics):
        room[k] = values.dense[first + k] * weights.weight[k]
    products = weights_in(room)
    total = sum_weights(products)
    target = uniform(rng) * (total + beyond)
    if beyond > 0.0 and target >= total:
        return EXTRA_TERM
    return pick_weight(products, target)
