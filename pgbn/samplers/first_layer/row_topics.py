"""The topics of a row, k with m_jk > 0, as a list that is kept up to date while labels are drawn:

    Σ_k u_wk · m_jk scale_k

with the bounds u of the values of a word w (`value_codes`). A row has few topics, whatever their
number, and no other value of the word is read.
"""

from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.filled import filled
from pgbn.samplers.first_layer.topic_lists import Pointer
from pgbn.samplers.simd.lanes import pointer

__all__ = [
    "RowRoom",
    "RowTopics",
    "change_weight",
    "clear_row",
    "count_off",
    "count_on",
    "place_in_row",
    "row_room",
    "row_topics",
    "sum_of_row",
]

_0, _1, _2, _3, _4 = (np.uint64(i) for i in range(5))


class RowRoom(NamedTuple):
    """The arrays of `RowTopics`, which the caller keeps."""

    topic: np.ndarray
    weight: np.ndarray
    place: np.ndarray
    running: np.ndarray


class RowTopics(NamedTuple):
    """Entry i < size is the topic ``topic[i]`` with the weight m_jk scale_k; ``place[k]`` is i. All
    other weights are 0. ``running[i]`` is the sum before entry i, of the last word that was asked
    for."""

    topic: Pointer
    weight: Pointer
    place: Pointer
    running: Pointer


@njit(cache=True, nogil=True)
def row_room(topics):
    """Room for a row without tokens."""
    return RowRoom(
        filled(np.empty(topics + 4, np.uint16), 0),
        filled(np.empty(topics + 4), 0.0),
        filled(np.empty(topics, np.uint16), 0),
        filled(np.empty(topics + 5), 0.0),
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
        row.weight[i] = 0.0


@njit(cache=True, nogil=True, forceinline=True)
def count_on(row, size, k, weight):
    """Append a topic that has its first token; the size of the list."""
    row.topic[size], row.weight[size], row.place[k] = k, weight, size
    return size + _1


@njit(cache=True, nogil=True, forceinline=True)
def count_off(row, size, k):
    """Take a topic without tokens off: the last one gets its place; the size of the list."""
    size -= _1
    i, moved = np.uint64(row.place[k]), row.topic[size]
    row.topic[i], row.weight[i], row.place[moved] = moved, row.weight[size], i
    row.weight[size] = 0.0
    return size


@njit(cache=True, nogil=True, forceinline=True)
def change_weight(row, k, weight):
    """Set the weight of a listed topic; returns the old one."""
    i = np.uint64(row.place[k])
    before = row.weight[i]
    row.weight[i] = weight
    return before


@njit(cache=True, nogil=True, forceinline=True)
def _product(values, begin, row, i):
    """u_wk · m_jk scale_k for entry i."""
    c = np.uint64(values.byte[begin + np.uint64(row.topic[i])])
    return values.bound[c + _1] * row.weight[i]


@njit(cache=True, nogil=True, forceinline=True)
def sum_of_row(values, slot, row, size):
    """Σ u · weight over the topics of the row; the running sums are kept for `place_in_row`. Four
    at a time, since each sum waits for the one before."""
    begin, total = slot * values.stride, 0.0
    for i in range(_0, size, _4):
        first = _product(values, begin, row, i)
        second = first + _product(values, begin, row, i + _1)
        third = _product(values, begin, row, i + _2)
        row.running[i + _1] = total + first
        row.running[i + _2] = total + second
        row.running[i + _3] = total + (second + third)
        total += second + (third + _product(values, begin, row, i + _3))
        row.running[i + _4] = total
    return total


@njit(cache=True, nogil=True, forceinline=True)
def place_in_row(row, size, target):
    """The entry where the running sum passes ``target`` < `sum_of_row`."""
    i = _0
    for j in range(_1, size):
        i += np.uint64(row.running[j] <= target)
    return i
