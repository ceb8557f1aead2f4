"""Layer-1 labels with both Φ and θ marginalised: the collapsed Gibbs sampler.

    P(z_i = k | z_-i) ∝ (η + n_wk) / (Vη + n_k) · (m_jk + a_jk)

(Zhou, Cong and Chen 2016, eq. (z)), with n, m the counts without token i. With
q_k = (m_jk + a_jk) / (Vη + n_k), kept for the document at hand, this is the sum

    n_wk q_k   over the topics that the word has (few, a list that is kept up to date)
  + η q_k      over all topics (Σ_k q_k is kept up to date; chosen in a few draws of a hundred).

Both parts are exact; the prior a_jk may differ from row to row at no cost.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from pgbn.random import mix, restart
from pgbn.samplers.tokens import Tokens, WordOrder, word_order

__all__ = ["WordTopics", "allocate_collapsed", "dense_counts", "word_topics"]


class WordTopics(NamedTuple):
    """The non-zero n_wk, a list a word: sparse, since a word has few of the K topics.

    Word w = replicate · V + v has topics ``topic[start[w] : start[w] + length[w]]``, in no
    particular order, with counts ``count`` at the same places, all positive. Room is
    min(K, tokens of the word), so the lists together are no longer than the tokens.
    """

    start: np.ndarray
    length: np.ndarray
    topic: np.ndarray
    count: np.ndarray


@njit(cache=True, nogil=True)
def _fill(word_start, token, z, start, length, topic, count, topics):
    """Write the lists of all words from the labels."""
    counts = np.zeros(topics, np.int32)
    for slot in range(word_start.size - 1):
        free = start[slot]
        for index in range(word_start[slot], word_start[slot + 1]):
            label = z[token[index]]
            if counts[label] == 0:
                topic[free] = label
                free += 1
            counts[label] += 1
        length[slot] = free - start[slot]
        for place in range(start[slot], free):
            count[place] = counts[topic[place]]
            counts[topic[place]] = 0


def word_topics(
    tokens: Tokens, z, documents: int, vocabulary: int, topics: int, order: WordOrder | None = None
) -> WordTopics:
    """The lists of non-zero n_wk that belong to the labels ``z``."""
    if order is None:
        order = word_order(tokens, documents, vocabulary)
    room = np.minimum(np.diff(order.start), topics)
    start = np.concatenate(([0], np.cumsum(room)))
    table = WordTopics(
        start[:-1],
        np.zeros(room.size, np.int32),
        np.zeros(start[-1], np.int16),
        np.zeros(start[-1], np.int32),
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


@njit(cache=True, nogil=True)
def allocate_collapsed(
    key, start, stop, documents, row_start, word, z, table, n_k, m, prior, share, eta
):
    """One sweep over the tokens of replicates start..stop; z, table, n_k, m change in place.

    Replicates are independent, the documents of one are not: a thread takes whole replicates,
    that is rows start · documents .. stop · documents. Row j has the prior
    ``prior[j // share]``; ``n_k`` is (R, K), ``m`` (rows, K).
    """
    replicates, topics = n_k.shape
    vocabulary = table.start.size // replicates
    smoothing = vocabulary * eta
    rng = np.empty(2, np.uint64)
    inverse = np.empty(topics)
    weight = np.empty(topics)
    product = np.empty(topics)
    replicate = -1
    for row in range(start * documents, stop * documents):
        first_token = row_start[row]
        last_token = row_start[row + 1]
        if first_token == last_token:
            continue
        if row // documents != replicate:
            replicate = row // documents
            for k in range(topics):
                inverse[k] = 1.0 / (smoothing + n_k[replicate, k])
        totals = n_k[replicate]
        counts = m[row]
        shape = prior[row // share]
        total = 0.0
        for k in range(topics):
            weight[k] = (counts[k] + shape[k]) * inverse[k]
            total += weight[k]
        restart(rng, key, row)
        state = rng[0]
        step = rng[1]
        for token in range(first_token, last_token):
            old = z[token]
            slot = replicate * vocabulary + word[token]
            # Without the token itself; put back at the end if its label does not change.
            weight_before = weight[old]
            total_before = total
            inverse_old = 1.0 / (smoothing + (totals[old] - 1))
            weight[old] = (counts[old] - 1 + shape[old]) * inverse_old
            total += weight[old] - weight_before
            if total < 1e-6 * weight_before:
                # Nearly all was cancelled: sum anew, lest rounding decide.
                total = 0.0
                for k in range(topics):
                    total += weight[k]
            begin = table.start[slot]
            length = table.length[slot]
            position = 0
            listed = 0.0
            for place in range(length):
                k = table.topic[begin + place]
                count = table.count[begin + place]
                if k == old:
                    position = place
                    count -= 1
                listed += count * weight[k]
                product[place] = listed
            state += step
            target = (np.float64(mix(state) >> np.uint64(12)) + 0.5) * 2.0**-52
            target *= listed + eta * total
            new = old
            found = -1
            if target < listed:
                found = 0
                while product[found] <= target:
                    found += 1
                new = table.topic[begin + found]
            else:
                target = (target - listed) / eta
                for k in range(topics):
                    # Rounding may leave the target beyond the last weight: keep the last.
                    if weight[k] > 0.0:
                        new = k
                        target -= weight[k]
                        if target < 0.0:
                            break
            if new == old:
                weight[old] = weight_before
                total = total_before
                continue
            z[token] = new
            counts[old] -= 1
            counts[new] += 1
            totals[old] -= 1
            totals[new] += 1
            inverse[old] = inverse_old
            inverse[new] = 1.0 / (smoothing + totals[new])
            total -= weight[new]
            weight[new] = (counts[new] + shape[new]) * inverse[new]
            total += weight[new]
            count = table.count[begin + position] - 1
            table.count[begin + position] = count
            if count == 0:
                length -= 1
                table.topic[begin + position] = table.topic[begin + length]
                table.count[begin + position] = table.count[begin + length]
                if found == length:
                    found = position
            if found < 0:
                found = 0
                while found < length and table.topic[begin + found] != new:
                    found += 1
                if found == length:
                    table.topic[begin + length] = new
                    table.count[begin + length] = 0
                    length += 1
            table.count[begin + found] += 1
            table.length[slot] = length
