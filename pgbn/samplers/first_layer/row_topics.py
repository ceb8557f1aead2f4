"""The topics of a row, k with m_jk > 0, as a list that is kept up to date while labels are drawn:

    Σ_k value_wk · m_jk scale_k

over the large values of a word w (`value_lists`). A row has few topics, whatever their number, and
a word's value of a topic is found by the bits of its head; no other value is read.
"""

from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.filled import filled
from pgbn.samplers.first_layer.topic_lists import Pointer
from pgbn.samplers.simd.lanes import number_of_bits, pointer

__all__ = [
    "RowRoom",
    "RowTopics",
    "change_weight",
    "clear_row",
    "count_off",
    "count_on",
    "pick_of_row",
    "pick_weight_of_row",
    "row_room",
    "row_topics",
    "sum_of_row",
    "sum_row_weights",
]

_0, _1, _2, _3, _4, _5 = (np.uint64(i) for i in range(6))
_31, _32 = np.uint64(31), np.uint64(32)
_NONE = np.uint64(2**32)  # no topic has this number


class RowRoom(NamedTuple):
    """The arrays of `RowTopics`, which the caller keeps."""

    topic: np.ndarray
    weight: np.ndarray
    place: np.ndarray
    running: np.ndarray


class RowTopics(NamedTuple):
    """Entry i < size is the topic ``topic[i]`` with the weight m_jk scale_k at ``weight[i + 1]``;
    ``place[k]`` is i. All other weights are 0, ``weight[0]`` too. ``running`` is scratch."""

    topic: Pointer
    weight: Pointer
    place: Pointer
    running: Pointer


@njit(cache=True, nogil=True)
def row_room(topics):
    """Room for a row without tokens."""
    return RowRoom(
        filled(np.empty(topics + 4, np.uint16), 0),
        filled(np.empty(topics + 5), 0.0),
        filled(np.empty(topics, np.uint16), 0),
        filled(np.empty(topics + 4), 0.0),
    )


@njit(cache=True, nogil=True, forceinline=True)
def row_topics(room):
    """The topics in a `RowRoom`."""
    return RowTopics(
        pointer(room.topic), pointer(room.weight), pointer(room.place), pointer(room.running)
    )


@njit(cache=True, nogil=True, forceinline=True)
def clear_row(row, size):
    """Empty the list."""
    for i in range(_0, size):
        row.weight[i + _1] = 0.0


@njit(cache=True, nogil=True, forceinline=True)
def count_on(row, size, k, weight):
    """Append a topic that has its first token; the size of the list."""
    row.topic[size], row.weight[size + _1], row.place[k] = k, weight, size
    return size + _1


@njit(cache=True, nogil=True, forceinline=True)
def count_off(row, size, k):
    """Take a topic without tokens off: the last one gets its place; the size of the list."""
    size -= _1
    i, moved = np.uint64(row.place[k]), row.topic[size]
    row.topic[i], row.weight[i + _1], row.place[moved] = moved, row.weight[size + _1], i
    row.weight[size + _1] = 0.0
    return size


@njit(cache=True, nogil=True, forceinline=True)
def change_weight(row, k, weight):
    """Set the weight of a listed topic; returns the old one."""
    i = np.uint64(row.place[k]) + _1
    before = row.weight[i]
    row.weight[i] = weight
    return before


@njit(cache=True, nogil=True)
def sum_row_weights(row, size):
    """Σ_k m_jk scale_k."""
    total = 0.0
    for i in range(_0, size):
        total += row.weight[i + _1]
    return total


@njit(cache=True, nogil=True, forceinline=True)
def _product(values, heads, row, i):
    """value_wk · m_jk scale_k for entry i; 0 where k is not listed for the word, by the weight at
    place 0: a branch would be guessed wrongly every other time."""
    k = np.uint64(row.topic[i])
    head, bit = values.head[heads + (k >> _5)], k & _31
    place = (head >> _32) + number_of_bits(head & ((_1 << bit) - _1))
    return values.value[place] * row.weight[(i + _1) * ((head >> bit) & _1)]


@njit(cache=True, nogil=True, forceinline=True)
def sum_of_row(values, slot, row, size):
    """Σ value · weight over the topics of the row that are listed for a word; the running sums are
    kept for `pick_of_row`. Four at a time, since each sum waits for the one before."""
    heads, total = slot * values.groups, 0.0
    for i in range(_0, size, _4):
        first = _product(values, heads, row, i)
        second = first + _product(values, heads, row, i + _1)
        third = _product(values, heads, row, i + _2)
        row.running[i] = total + first
        row.running[i + _1] = total + second
        row.running[i + _2] = total + (second + third)
        total += second + (third + _product(values, heads, row, i + _3))
        row.running[i + _3] = total
    return total


@njit(cache=True, nogil=True, forceinline=True)
def pick_of_row(row, size, target):
    """The topic where the running sum passes ``target`` < `sum_of_row`."""
    i = _0
    for j in range(_0, size - _1):
        i += np.uint64(row.running[j] <= target)
    return np.uint64(row.topic[i])


@njit(cache=True, nogil=True)
def pick_weight_of_row(row, size, target):
    """The topic where the running sum of the weights passes ``target`` < `sum_row_weights`; the
    last one if only rounding keeps the sum below it. No topic if the row has none."""
    if size == _0:
        return _NONE
    i = _0
    while i + _1 < size:
        target -= row.weight[i + _1]
        if target < 0.0:
            break
        i += _1
    return np.uint64(row.topic[i])
