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
from numba import njit

from pgbn.samplers.first_layer.tokens import Tokens, WordOrder, word_order
from pgbn.samplers.first_layer.topic_lists import (
    padded,
    pick_in_list,
    pick_weight,
    prefetch_list,
    sum_list,
    sum_weights,
)
from pgbn.samplers.random import mix, restart

__all__ = ["WordTopics", "allocate_collapsed", "allocate_rows", "dense_counts", "word_topics"]

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


@njit(cache=True, nogil=True)
def _fill(word_start, token, z, start, length, topic, count, place, topics):
    """Write the lists of all words from the labels, large counts first."""
    counts = np.zeros(topics, np.int32)
    where = np.empty(topics, np.uint16)
    for slot in range(word_start.size - 1):
        begin = start[slot]
        size = 0
        for index in range(word_start[slot], word_start[slot + 1]):
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
        for index in range(word_start[slot], word_start[slot + 1]):
            place[token[index]] = where[z[token[index]]]
        length[slot] = size


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
    _fill(order.start, order.token, z, *table, topics)
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


@njit(cache=True, nogil=True, error_model="numpy")
def allocate_rows(key, low, high, documents, row_start, word, z, table, n_k, m, prior, share, eta):
    """One sweep over the tokens of rows low..high of one replicate, low // documents; z, table,
    n_k, m change in place. ``n_k`` is (R, K), ``m`` (rows, K); row j has ``prior[j // share]``.
    """
    replicates, topics = n_k.shape
    replicate = low // documents
    vocabulary = table.start.size // replicates
    smoothing = vocabulary * eta
    topic = table.topic
    count = table.count
    rng = np.empty(2, np.uint64)
    inverse = np.empty(topics)
    weight = np.zeros((topics + 7) // 8 * 8)
    before = np.empty(weight.size // 8)
    totals = n_k[replicate]
    for k in range(topics):
        inverse[k] = 1.0 / (smoothing + totals[k])
    base = np.uint64(replicate * vocabulary)
    for row in range(low, high):
        token = np.uint64(row_start[row])
        end = np.uint64(row_start[row + 1])
        if token == end:
            continue
        counts = m[row]
        shape = prior[row // share]
        for k in range(topics):
            weight[k] = (counts[k] + shape[k]) * inverse[k]
        total = sum_weights(weight)
        restart(rng, key, row)
        state = rng[0]
        step = rng[1]
        while token < end:
            # The lists are too many for the caches: fetch what will be read four tokens on.
            later = np.uint64(table.start[base + np.uint64(word[min(token + _4, end - _1)])])
            prefetch_list(topic, count, later)
            # The weights without this token, put back if its label does not change.
            old = np.uint64(z[token])
            weight_before = weight[old]
            total_before = total
            inverse_old = 1.0 / (smoothing + (totals[old] - 1))
            weight[old] = (counts[old] - 1 + shape[old]) * inverse_old
            total += weight[old] - weight_before
            if total < 1e-6 * weight_before:
                # Nearly all was cancelled: sum anew, lest rounding decide.
                total = sum_weights(weight)
            slot = base + np.uint64(word[token])
            begin = np.uint64(table.start[slot])
            length = np.uint64(table.length[slot])
            place_old = begin + np.uint64(table.place[token])
            if place_old >= begin + length or topic[place_old] != old:
                place_old = begin
                while topic[place_old] != old:
                    place_old += _1
            count[place_old] -= 1
            list_sum = sum_list(topic, count, begin, length, weight, before)
            state += step
            target = (np.float64(mix(state) >> np.uint64(12)) + 0.5) * 2.0**-52
            target *= list_sum + eta * total
            if target < list_sum:
                place = pick_in_list(topic, count, begin, length, weight, before, target)
                new = np.uint64(topic[place])
            else:
                new = pick_weight(weight, (target - list_sum) / eta)
                if new == np.uint64(weight.size):  # no topic is possible without the token
                    new = old
                place = begin
                while place < begin + length and topic[place] != new:
                    place += _1
            if new == old:
                count[place_old] += 1
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
            if place == begin + length:
                if count[place_old] == 0:
                    place = place_old
                else:
                    length += _1
                topic[place] = new
                count[place] = 1
            else:
                count[place] += 1
                if count[place_old] == 0:
                    length -= _1
                    last = begin + length
                    topic[place_old] = topic[last]
                    count[place_old] = count[last]
                    count[last] = 0
                    if place == last:
                        place = place_old
            table.place[token] = place - begin
            table.length[slot] = length
            token += _1


@njit(cache=True, nogil=True)
def allocate_collapsed(
    key, start, stop, documents, row_start, word, z, table, n_k, m, prior, share, eta
):
    """`allocate_rows` for all rows of replicates start..stop.

    Replicates are independent, the documents of one are not: a thread takes whole replicates.
    """
    for replicate in range(start, stop):
        allocate_rows(
            key, replicate * documents, (replicate + 1) * documents, documents, row_start, word, z,
            table, n_k, m, prior, share, eta,
        )  # fmt: skip
