"""Layer-1 labels with both Φ and θ marginalised: the collapsed Gibbs sampler.

    P(z_i = k | z_-i) ∝ (η + n_wk) / (Vη + n_k) · (m_jk + a_jk)

(Zhou, Cong and Chen 2016, eq. (z)), with n, m the counts without token i. With
q_k = (m_jk + a_jk) / (Vη + n_k), kept for the document at hand, this is the sum

    n_wk q_k   over the topics that the word has (few: a list that is kept up to date)
  + η q_k      over all topics (Σ_k q_k is kept up to date; chosen in a few draws of a hundred).

Both parts are exact, and the prior a_jk may differ from row to row at no cost.
"""

from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.first_layer.tokens import Tokens, WordOrder, word_order
from pgbn.samplers.first_layer.topic_lists import (
    TopicLists,
    padded,
    pick_in_list,
    pick_weight,
    prefetch_list,
    sum_list,
    sum_weights,
    weights_in,
    weights_room,
)
from pgbn.samplers.random import mix, restart
from pgbn.samplers.simd.lanes import pointer

__all__ = [
    "Labelling",
    "WordTopics",
    "allocate_collapsed",
    "allocate_rows",
    "dense_counts",
    "word_topics",
]

_1 = np.uint64(1)
_4 = np.uint64(4)


class WordTopics(NamedTuple):
    """The non-zero n_wk, a list a word (see `topic_lists`): sparse, since a word has few topics.

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


class Labelling(NamedTuple):
    """A label z for every token, and the counts that belong to the labels: n_wk as lists, n_k
    (R, K) and m (rows, K)."""

    z: np.ndarray
    table: WordTopics
    n_k: np.ndarray
    m: np.ndarray


@njit(cache=True, nogil=True)
def _fill(order, z, table, topics):
    """Write the lists of all words from the labels, large counts first."""
    token, topic, count = order.token, table.topic, table.count
    counts = np.zeros(topics, np.int32)
    where = np.empty(topics, np.uint16)
    for slot in range(order.start.size - 1):
        begin = table.start[slot]
        size = 0
        for index in range(order.start[slot], order.start[slot + 1]):
            label = z[token[index]]
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
    n_wk[...] = 0
    vocabulary = n_wk.shape[1]
    for slot in range(table.start.size):
        counts = n_wk[slot // vocabulary, slot % vocabulary]
        for place in range(table.start[slot], table.start[slot] + table.length[slot]):
            counts[table.topic[place]] = table.count[place]


@njit(cache=True, nogil=True, forceinline=True)
def _find(topic, place, end, wanted):
    """The place from ``place`` on where ``wanted`` is listed; ``end`` if it is not."""
    while place < end and topic[place] != wanted:
        place += _1
    return place


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def _pick(lists, begin, length, weights, total, eta, u):
    """k with probability ∝ (n_wk + η) q_k for a uniform u, and its place in the list or the end of
    it; ``weights.size`` if all are 0. The weights are the q_k, ``total`` is their sum."""
    list_sum = sum_list(lists, begin, length, weights)
    target = u * (list_sum + eta * total)
    if target < list_sum:
        place = pick_in_list(lists, begin, length, weights, target)
        k = np.uint64(lists.topic[place])
    else:
        k = pick_weight(weights, (target - list_sum) / eta)
        place = _find(lists.topic, begin, begin + length, k)
    return k, place


@njit(cache=True, nogil=True, forceinline=True)
def _add_to_list(lists, begin, length, left, place, new):
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


@njit(cache=True, nogil=True, error_model="numpy")
def allocate_rows(key, low, high, tokens, labelling, priors, eta):
    """One sweep over the tokens of rows low..high, all of one replicate; the labels and their
    counts change in place."""
    z, table, n_k, m = labelling
    word = tokens.word
    replicates, topics = n_k.shape
    replicate = low // (m.shape[0] // replicates)
    vocabulary = table.start.size // replicates
    smoothing = vocabulary * eta
    lists = TopicLists(pointer(table.topic), pointer(table.count))
    topic, count = lists.topic, lists.value
    rng, inverse, weight = np.empty(2, np.uint64), np.empty(topics), weights_room(topics)
    weights = weights_in(weight)
    totals = n_k[replicate]
    for k in range(topics):
        inverse[k] = 1.0 / (smoothing + totals[k])
    base = np.uint64(replicate * vocabulary)
    for row in range(low, high):
        token = np.uint64(tokens.row_start[row])
        end = np.uint64(tokens.row_start[row + 1])
        if token == end:
            continue
        counts = m[row]
        shape = priors.shape[row // priors.share]
        for k in range(topics):
            weight[k] = (counts[k] + shape[k]) * inverse[k]
        total = sum_weights(weights)
        restart(rng, key, row)
        state = rng[0]
        step = rng[1]
        while token < end:
            # The lists are too many for the caches: fetch what will be read four tokens on.
            later = np.uint64(table.start[base + np.uint64(word[min(token + _4, end - _1)])])
            prefetch_list(lists, later)
            # The weights without this token, put back if its label does not change.
            old = np.uint64(z[token])
            weight_before = weight[old]
            total_before = total
            inverse_old = 1.0 / (smoothing + (totals[old] - 1))
            weight[old] = (counts[old] - 1 + shape[old]) * inverse_old
            total += weight[old] - weight_before
            if total < 1e-6 * weight_before:
                # Nearly all was cancelled: sum anew, lest rounding decide.
                total = sum_weights(weights)
            slot = base + np.uint64(word[token])
            begin = np.uint64(table.start[slot])
            length = np.uint64(table.length[slot])
            left = begin + np.uint64(table.place[token])
            if left >= begin + length or topic[left] != old:
                left = _find(topic, begin, begin + length, old)
            count[left] -= 1
            state += step
            u = (np.float64(mix(state) >> np.uint64(12)) + 0.5) * 2.0**-52
            new, place = _pick(lists, begin, length, weights, total, eta, u)
            if new == old or new == weights.size:  # the latter: no topic is possible without it
                count[left] += 1
                weight[old] = weight_before
                total = total_before
                token += _1
                continue
            z[token] = new
            counts[old] -= 1
            counts[new] += 1
            totals[old] -= 1
            totals[new] += 1
            inverse[old] = inverse_old
            inverse[new] = 1.0 / (smoothing + totals[new])
            weight_new = (counts[new] + shape[new]) * inverse[new]
            total += weight_new - weight[new]
            weight[new] = weight_new
            place, length = _add_to_list(lists, begin, length, left, place, new)
            table.place[token] = place - begin
            table.length[slot] = length
            token += _1


@njit(cache=True, nogil=True)
def allocate_collapsed(key, start, stop, tokens, labelling, priors, eta):
    """`allocate_rows` for all rows of replicates start..stop.

    Replicates are independent, the documents of one are not: a thread takes whole replicates.
    """
    documents = labelling.m.shape[0] // labelling.n_k.shape[0]
    for replicate in range(start, stop):
        low = replicate * documents
        allocate_rows(key, low, low + documents, tokens, labelling, priors, eta)
