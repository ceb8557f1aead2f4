"""A topic of a word with Φ fixed, the same for all samplers that fix Φ:

    P(k) ∝ value_wk · weight_k

The large values of a word are listed; the others are below a bound and are found by rejection.
There may be something else of a known weight, ``beyond``: a draw of it is `EXTRA_TERM`.
"""

from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.first_layer.topic_lists import (
    Pointer,
    pick_in_list,
    pick_weight,
    prefetch_list,
    prefetch_number,
    sum_list,
    sum_on,
    sum_weights,
    weights_in,
    weights_room,
)
from pgbn.samplers.lanes import pointer
from pgbn.samplers.random import uniform

EXTRA_TERM = np.uint64(2**32)  # no topic has this number


class HeldValues(NamedTuple):
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
def held_values(loadings):
    """The values of `Loadings`, which must be an argument of the kernel that asks for them."""
    return HeldValues(
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
    """Ask for the list of a word that will be read soon: the lists are too many for the caches."""
    prefetch_list(values, np.uint64(values.start[slot]))


@njit(cache=True, nogil=True, forceinline=True)
def prefetch_head(values, slot):
    """Ask for where the list of a word is, some time before `prefetch_word`."""
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
    most draws end; ``rng`` is a pointer. What is below the top has at most (high + bound) · Σ
    weight. Only where a target lies there is the sum of the other places found.
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
    """`draw_topic` for a ``target`` between the sum of the top and the bound of what is below.

    A candidate comes from the list or, with bound · weight_k, from all topics. The latter is
    accepted with probability value_k / bound, and never if k is listed. If it is rejected, or the
    target is where nothing is, the next target may be anywhere. That is rejection sampling: exact
    for any bound.
    """
    begin, length = np.uint64(values.start[slot]), np.uint64(values.length[slot])
    list_sum = sum_on(values, begin, np.uint64(values.top[slot]), length, weights, top_sum)
    bound, first = values.bound[slot], slot * values.topics
    topics = list_sum + bound * total
    if target >= topics and values.high[slot] > 0.0:  # where nothing is
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
