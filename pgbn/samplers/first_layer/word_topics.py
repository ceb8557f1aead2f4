"""The topics of the words, n_wk where it is not 0, as lists that are kept up to date while labels
are drawn. A word has few topics, whatever their number.
"""

from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.filled import filled
from pgbn.samplers.first_layer.tokens import Tokens, WordOrder, word_order
from pgbn.samplers.first_layer.topic_lists import padded

__all__ = [
    "WordTopics",
    "add_to_list",
    "dense_counts",
    "find_topic",
    "join_list",
    "leave_list",
    "word_topics",
]

_1 = np.uint64(1)


class WordTopics(NamedTuple):
    """The non-zero n_wk, one list for each word (see `topic_lists`): a word has few topics.

    Word w = replicate · V + v has topics ``topic[start[w] : start[w] + length[w]]`` with counts
    ``count`` at the same places, all positive. Room is min(K, tokens of the word), to a multiple
    of eight. ``place[i]`` is where in its word's list the label of token i was last seen: a hint,
    checked before use.
    """

    start: np.ndarray
    length: np.ndarray
    topic: np.ndarray
    count: np.ndarray  # type: ignore[assignment]  # hides tuple.count, which nobody needs
    place: np.ndarray


@njit(cache=True, nogil=True)
def _fill(order, z, table, topics):
    """Write the lists of all words from the labels, large counts first."""
    token, topic, count = order.token, table.topic, table.count
    counts = filled(np.empty(topics, np.int32), 0)
    where = np.empty(topics, np.uint16)
    for slot in range(order.start.size - 1):
        begin = table.start[slot]
        size = 0
        for index in range(order.start[slot], order.start[slot + 1]):
            label = z[token[index]]
            if label >= topics:  # a pseudo-topic
                continue
            if counts[label] == 0:
                topic[begin + size] = label
                size += 1
            counts[label] += 1
        for position in range(size):
            label = topic[begin + position]
            free = position
            while free > 0 and count[begin + free - 1] < counts[label]:
                topic[begin + free] = topic[begin + free - 1]
                count[begin + free] = count[begin + free - 1]
                free -= 1
            topic[begin + free] = label
            count[begin + free] = counts[label]
        for position in range(size):
            where[topic[begin + position]] = position
            counts[topic[begin + position]] = 0
        for index in range(order.start[slot], order.start[slot + 1]):
            if z[token[index]] < topics:
                table.place[token[index]] = where[z[token[index]]]
        table.length[slot] = size


def word_topics(
    tokens: Tokens, z, documents: int, vocabulary: int, topics: int, order: WordOrder | None = None
) -> WordTopics:
    """The lists of non-zero n_wk that belong to the labels ``z``."""
    if order is None:
        order = word_order(tokens, documents, vocabulary)
    room = padded(np.minimum(np.diff(order.start), topics))
    start = np.concatenate(([0], np.cumsum(room)))
    table = WordTopics(
        start[:-1],
        np.zeros(room.size, np.int32),
        np.zeros(start[-1], np.uint16),
        np.zeros(start[-1], np.int32),
        np.zeros(tokens.word.size, np.uint16),
    )
    _fill(order, z, table, topics)
    return table


@njit(cache=True, nogil=True)
def dense_counts(table, n_wk):
    """Write the lists out as the dense array n_wk (R, V, K)."""
    filled(n_wk.reshape(-1), 0)
    vocabulary = n_wk.shape[1]
    for slot in range(table.start.size):
        counts = n_wk[slot // vocabulary, slot % vocabulary]
        for place in range(table.start[slot], table.start[slot] + table.length[slot]):
            counts[table.topic[place]] = table.count[place]


@njit(cache=True, nogil=True, forceinline=True)
def find_topic(topic, place, end, wanted):
    """The place from ``place`` on where ``wanted`` is listed; ``end`` if it is not."""
    while place < end and topic[place] != wanted:
        place += _1
    return place


@njit(cache=True, nogil=True, forceinline=True)
def leave_list(lists, begin, length, left):
    """Free the place of a topic that lost its last token; returns the length of the list."""
    topic, count = lists.topic, lists.value
    if count[left] == 0:
        length -= _1
        last = begin + length
        topic[left] = topic[last]
        count[left] = count[last]
        count[last] = 0
    return length


@njit(cache=True, nogil=True, forceinline=True)
def join_list(lists, begin, length, place, new):
    """Count a token of the topic ``new``, listed at ``place`` or, at the end, not yet; returns the
    length of the list."""
    if place == begin + length:
        lists.topic[place] = new
        lists.value[place] = 1
        return length + _1
    lists.value[place] += 1
    return length


@njit(cache=True, nogil=True, forceinline=True)
def add_to_list(lists, begin, length, left, place, new):
    """Count a token of the topic ``new``, listed at ``place`` or, at the end, not yet; ``left`` is
    the place of the topic that lost the token, and is free if nothing is left there.

    Returns the place of ``new`` and the length of the list.
    """
    topic, count = lists.topic, lists.value
    if place == begin + length:
        if count[left] == 0:
            place = left
        else:
            length += _1
        topic[place] = new
        count[place] = 1
    else:
        count[place] += 1
        if count[left] == 0:
            length -= _1
            last = begin + length
            topic[left] = topic[last]
            count[left] = count[last]
            count[last] = 0
            if place == last:
                place = left
    return place, length
