"""Labels of a row with Φ held and θ marginalised, by the bytes of all topics (`value_codes`):

    P(z_i = k | z_-i, Φ) ∝ value_wk q_k,   q_k = (m_jk + a_jk) scale_k

Proposals come from the bounds u in place of the values, sixteen topics at a time: topic k is in
lane k mod 16, a lane is picked first and then a topic of it. Sums are singles, with errors of 1e-7
in a probability; where they would underflow or overflow, a topic is drawn from products in double.
This takes the same time for all rows, and less than `row_topics` where a row has many topics.
"""

from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.filled import filled
from pgbn.samplers.first_layer.pseudo import draw_pseudo, pseudo_weight
from pgbn.samplers.first_layer.topic_draw import BEYOND
from pgbn.samplers.first_layer.topic_lists import (
    Pointer,
    pick_weight,
    prefetch_number,
    sum_weights,
    weights_in,
    weights_room,
)
from pgbn.samplers.first_layer.value_codes import bounds_of
from pgbn.samplers.random import uniform
from pgbn.samplers.simd.lanes import (
    LANES,
    above,
    add_product,
    broadcast,
    last,
    load_lanes,
    lowest_bit,
    pointer,
    running_sum,
    store_lanes,
    zeros,
)

__all__ = [
    "MOST_BEYOND",
    "CodedValues",
    "LaneRoom",
    "accepts",
    "allocate_all",
    "draw_by_products",
    "lane_room",
    "prefetch_codes",
]

MOST_BEYOND = 1e300  # a weight beyond the topics, in units of a word whose values are all 0
_0, _1, _4, _64, _LANES = (np.uint64(i) for i in (0, 1, 4, 64, LANES))
_NOTHING, _LEAST, _MOST = np.float32(0.0), 1e-25, 1e30


class CodedValues(NamedTuple):
    """What a draw reads of all words: bytes, in lines of ``stride``, units, values, the table of
    bounds; and a_jk scale_k of the row, with zeros up to a multiple of eight."""

    byte: Pointer
    unit: Pointer
    dense: Pointer
    bound: Pointer
    smooth: Pointer
    stride: np.uint64
    topics: np.uint64


class LaneRoom(NamedTuple):
    """q_k as singles; the running sums of u q within lanes, and over the lanes, of one word."""

    weight: np.ndarray
    reached: np.ndarray
    lanes: np.ndarray


@njit(cache=True, nogil=True)
def lane_room(stride):
    """Room for a row, zeros."""
    return LaneRoom(
        filled(np.empty(stride, np.float32), 0.0),
        filled(np.empty(stride + LANES, np.float32), 0.0),
        filled(np.empty(2 * LANES, np.float32), 0.0),
    )


@njit(cache=True, nogil=True, forceinline=True)
def accepts(values, slot, k, rest, whole):
    """Whether a topic, proposed where ``rest`` of its ``whole`` proposals is left, is accepted:
    with probability value / u, mostly without a look at the value."""
    c = np.uint64(values.byte[slot * values.stride + k])
    reached = rest * values.bound[c + _1]
    if reached < whole * values.bound[c]:
        return True
    return reached * values.unit[slot] < whole * values.dense[slot * values.topics + k]


@njit(cache=True, nogil=True, forceinline=True)
def prefetch_codes(values, slot):
    """Ask for the bytes of a word: they are too many for the caches."""
    for k in range(_0, values.stride, _64):
        prefetch_number(values.byte, slot * values.stride + k)


@njit(cache=True, nogil=True)
def draw_by_products(rng, values, slot, counts, scale, beyond):
    """A topic from all products, or `BEYOND` with the weight ``beyond``, in units of the word; the
    number of topics if nothing is possible. ``counts`` are m_jk without the token."""
    room, first = weights_room(values.topics), slot * values.topics
    for k in range(values.topics):
        room[k] = values.dense[first + k] * (counts[k] * scale[k] + values.smooth[k])
    products = weights_in(room)
    total = sum_weights(products)
    target = uniform(rng) * (total + beyond * values.unit[slot])
    chosen = BEYOND if beyond > 0.0 and target >= total else pick_weight(products, target)
    if chosen == products.size:
        chosen = values.topics
    room[0] = 0.0  # used after its pointer, which does not keep it
    return chosen


@njit(cache=True, nogil=True, forceinline=True)
def _weigh(values, slot, room):
    """Σ_k u_wk q_k; fills the running sums."""
    weight, reached = pointer(room.weight), pointer(room.reached)
    total, k, begin = zeros(room.weight), _0, slot * values.stride
    while k < values.stride:
        total = add_product(total, bounds_of(values.byte, begin + k), load_lanes(weight, k))
        store_lanes(reached, k + _LANES, total)
        k += _LANES
    total = running_sum(total)
    store_lanes(pointer(room.lanes), _1, total)
    return np.float64(last(total))


@njit(cache=True, nogil=True, forceinline=True)
def _draw(rng, values, slot, room, total, counts, scale, beyond):
    """A topic, or `BEYOND`, by rejection; the number of topics if nothing is possible."""
    weight, reached, lanes = pointer(room.weight), pointer(room.reached), pointer(room.lanes)
    tries = 32 if _LEAST < total < _MOST else 0
    for _ in range(tries):
        target = uniform(rng) * (total + beyond)
        if beyond > 0.0 and target >= total:
            return BEYOND
        passed = above(load_lanes(lanes, _1), broadcast(np.float32(target)))
        if not passed:  # by rounding
            continue
        k = lane = lowest_bit(passed)
        rest = np.float32(target) - lanes[lane]
        while lane < values.stride:  # reached is one line ahead: sums before a topic
            k += _LANES * np.uint64(rest >= reached[lane + _LANES])
            lane += _LANES
        if k < values.topics and rest >= _NOTHING:
            c = np.uint64(values.byte[slot * values.stride + k])
            whole = values.bound[c + _1] * weight[k]
            if accepts(values, slot, k, np.float64(rest - reached[k]), whole):
                return k
    return draw_by_products(rng, values, slot, counts, scale, beyond)


@njit(cache=True, nogil=True)
def allocate_all(rng, row, base, last_token, tokens, z, values, scale, counts, room, pseudo):
    """One sweep over the tokens of a row; z and its ``counts`` change in place. ``base`` is the
    first word of its replicate, ``rng`` a pointer.

    Tokens of one word and topic that follow each other have the same law until one of them leaves.
    """
    word, topics, weight, smooth = tokens.word, values.topics, room.weight, values.smooth
    token, end = np.uint64(tokens.row_start[row]), np.uint64(tokens.row_start[row + 1])
    for k in range(topics):
        weight[k] = counts[k] * scale[k] + smooth[k]
    while token < end:
        slot = base + np.uint64(word[token])
        old = np.uint64(z[token])
        is_topic = old < topics
        if is_topic:
            counts[old] -= 1
            weight[old] = counts[old] * scale[old] + smooth[old]
        beyond = min(pseudo_weight(pseudo, row, slot) / values.unit[slot], MOST_BEYOND)
        total = _weigh(values, slot, room)
        new, same = old, True
        while same:
            prefetch_codes(values, base + np.uint64(word[min(token + _4, last_token - _1)]))
            new = _draw(rng, values, slot, room, total, counts, scale, beyond)
            if new == BEYOND:
                new = topics + draw_pseudo(rng, pseudo, row, slot, beyond * values.unit[slot])
            elif new == topics:  # nothing is possible without this token
                new = old
            if new != old:
                break
            token += _1
            same = token < end and word[token] == word[token - _1] and z[token] == old
        if new < topics:
            counts[new] += 1
            weight[new] = counts[new] * scale[new] + smooth[new]
        if new != old:
            z[token] = new
            token += _1
