"""Layer-1 labels with both Φ and θ marginalised: the collapsed Gibbs sampler.

    P(z_i = k | z_-i) ∝ (η + n_wk) / (Vη + n_k) · (m_jk + a_jk)

(Zhou, Cong and Chen 2016, eq. (z)), with n, m the counts without token i. With
q_k = (m_jk + a_jk) / (Vη + n_k), kept for the document at hand, this is the sum

    n_wk q_k   over the topics that the word has (few: a list that is kept up to date)
  + η q_k      over all topics (Σ_k q_k is kept up to date; chosen in a few draws of a hundred).

Both parts are exact, and the prior a_jk may differ from row to row at no cost, and η from word to
word, with Σ_v η_v in place of Vη. Further terms of the rate have weights of their own (`pseudo`).
"""

from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.first_layer.loadings import (
    EXTRA_TERM,
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
from pgbn.samplers.first_layer.tokens import (
    PseudoTopics,
    RowPriors,
    Tokens,
    WordOrder,
    draw_pseudo,
    pseudo_weight,
    word_order,
)
from pgbn.samplers.lanes import filled, pointer
from pgbn.samplers.random import mix, new_rng, restart

# ---- word topics --------------------------------------------------------------------------------
#
# The topics of the words, n_wk where it is not 0, as lists that are kept up to date while labels
# are drawn. A word has few topics, whatever their number.


_1 = np.uint64(1)


class WordTopics(NamedTuple):
    """The non-zero n_wk, one list for each word (see `topic_lists`): a word has few topics.

    Word w = replicate · V + v has topics ``topic[start[w] : start[w] + length[w]]`` with counts
    ``count`` at the same places, all positive. There is space for min(K, tokens of the word), to a
    multiple of eight. ``place[i]`` is where in its word's list the label of token i was last seen:
    a hint, checked before use.
    """

    start: np.ndarray
    length: np.ndarray
    topic: np.ndarray
    count: np.ndarray  # type: ignore[assignment]  # hides tuple.count, which is not used
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
    """Count a token of the topic ``new``, listed at ``place`` or, at the end, not yet. ``left`` is
    the place of the topic that lost the token; it is free if that topic has no token left.

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


# ---- collapsed ----------------------------------------------------------------------------------


_1 = np.uint64(1)
_4 = np.uint64(4)


class Labelling(NamedTuple):
    """A label z for every token, and the counts that belong to the labels: n_wk as lists, n_k
    (R, K) and m (rows, K)."""

    z: np.ndarray
    table: WordTopics
    n_k: np.ndarray
    m: np.ndarray


class Smoothing(NamedTuple):
    """η of the words, ``word`` (R, V), or (R, 1) if it is the same for all, and Σ_v η_v (R)."""

    word: np.ndarray
    total: np.ndarray


def smoothing_of(eta, replicates: int, vocabulary: int) -> Smoothing:
    """From η: a number, or an array (R or 1, V or 1)."""
    eta = np.asarray(eta, np.float64).reshape((1, 1) if np.ndim(eta) == 0 else np.shape(eta))
    word = np.ascontiguousarray(np.broadcast_to(eta, (replicates, eta.shape[1])))
    total = vocabulary * word[:, 0] if word.shape[1] == 1 else word.sum(axis=1)
    return Smoothing(word, total)


@njit(cache=True, nogil=True, forceinline=True)
def _pick(lists, begin, length, weights, list_sum, total, eta, beyond, u):
    """k with probability ∝ (n_wk + η) q_k for a uniform u, and its place in the list or the end of
    it; `EXTRA_TERM` with that of the weight ``beyond``; ``weights.size`` if all are 0. The weights
    are the q_k, ``total`` is their sum and ``list_sum`` that of the list."""
    target = u * ((list_sum + eta * total) + beyond)
    if target < list_sum:
        place = pick_in_list(lists, begin, length, weights, target)
        k = np.uint64(lists.topic[place])
    elif beyond > 0.0 and target >= list_sum + eta * total:
        k, place = EXTRA_TERM, begin + length
    else:
        k = pick_weight(weights, (target - list_sum) / eta)
        place = find_topic(lists.topic, begin, begin + length, k)
    return k, place


@njit(cache=True, nogil=True, forceinline=True)
def _place_of(lists, begin, length, hint, topic):
    """Where a topic of a word is listed: where it was last seen, or somewhere else."""
    place = begin + hint
    if place >= begin + length or lists.topic[place] != topic:
        place = find_topic(lists.topic, begin, begin + length, topic)
    return place


@njit(cache=True, nogil=True, forceinline=True)
def _list_new(lists, begin, length, left, from_topic, place, new):
    """Count a token of the topic ``new``, which comes from the one at ``left`` or from none; its
    place and the length of the list."""
    if from_topic:
        return add_to_list(lists, begin, length, left, place, new)
    return place, join_list(lists, begin, length, place, new)


class _Lines(NamedTuple):
    """`RowPriors` in single or double precision, the other array is empty: the kernel takes either,
    since two kinds of it would each be compiled."""

    single: np.ndarray
    double: np.ndarray
    share: int


def _lines_of(priors: RowPriors) -> _Lines:
    shape, single = priors.shape.view(), priors.shape.dtype == np.float32
    none = np.empty((1, 0), np.float64 if single else np.float32)
    shape.flags.writeable = none.flags.writeable = False
    return _Lines(shape if single else none, none if single else shape, priors.share)


@njit(cache=True, nogil=True, forceinline=True)
def _read_line(lines, row, out):
    """The prior shapes of a row."""
    at = row // lines.share
    if lines.single.size > 0:
        for k in range(out.size):
            out[k] = lines.single[at, k]
    else:
        for k in range(out.size):
            out[k] = lines.double[at, k]


def allocate_rows(
    key: np.uint64,
    low: int,
    high: int,
    tokens: Tokens,
    labelling: Labelling,
    priors: RowPriors,
    smoothing: Smoothing,
    pseudo: PseudoTopics | None = None,
) -> None:
    """One sweep over the tokens of rows low..high, all of one replicate; the labels and their
    counts change in place."""
    _allocate_rows(key, low, high, tokens, labelling, _lines_of(priors), smoothing, pseudo)


@njit(cache=True, nogil=True)
def _allocate_rows(key, low, high, tokens, labelling, lines, smoothing, pseudo):
    replicates, topics = labelling.n_k.shape
    replicate = low // (labelling.m.shape[0] // replicates)
    rng, inverse, weight = new_rng(), np.empty(topics), weights_room(topics)
    totals, shape = labelling.n_k[replicate], np.empty(topics)
    for k in range(topics):
        inverse[k] = 1.0 / (smoothing.total[replicate] + totals[k])
    for row in range(low, high):
        if tokens.row_start[row] == tokens.row_start[row + 1]:
            continue
        restart(rng, key, row)
        _read_line(lines, row, shape)
        _allocate_row(rng, row, replicate, tokens, labelling, shape, smoothing, pseudo, inverse,
                      weight)  # fmt: skip


@njit(cache=True, nogil=True)
def _allocate_row(
    rng, row, replicate, tokens, labelling, shape, smoothing, pseudo, inverse, weight
):
    """`allocate_rows` for one row, from its stream. ``inverse`` is 1 / (Vη + n_k), kept up to date;
    ``weight`` is scratch for the q_k. Tokens of one word and topic that follow each other have the
    same law until one of them leaves."""
    z, table, n_k, m = labelling
    word, counts, totals = tokens.word, m[row], n_k[replicate]
    prior_total, every_eta = smoothing.total[replicate], smoothing.word[replicate]
    topics, varies = np.uint64(totals.size), np.uint64(every_eta.size > 1)
    lists, weights = TopicLists(pointer(table.topic), pointer(table.count)), weights_in(weight)
    count = lists.value
    base = np.uint64(replicate * (table.start.size // n_k.shape[0]))
    token, end = np.uint64(tokens.row_start[row]), np.uint64(tokens.row_start[row + 1])
    for k in range(topics):
        weight[k] = (counts[k] + shape[k]) * inverse[k]
    total = sum_weights(weights)
    state, step = rng[0], rng[1]
    while token < end:
        slot = base + np.uint64(word[token])
        begin, length = np.uint64(table.start[slot]), np.uint64(table.length[slot])
        old = np.uint64(z[token])
        is_topic = pseudo is None or old < topics
        weight_before, total_before, inverse_old, left = 0.0, total, 0.0, begin
        if is_topic:
            # The weights without this token, put back if its label does not change.
            weight_before = weight[old]
            inverse_old = 1.0 / (prior_total + (totals[old] - 1))
            weight[old] = (counts[old] - 1 + shape[old]) * inverse_old
            total += weight[old] - weight_before
            if total < 1e-6 * weight_before:  # nearly all was cancelled: rounding must not decide
                total = sum_weights(weights)
            left = _place_of(lists, begin, length, np.uint64(table.place[token]), old)
            count[left] -= 1
        eta = every_eta[np.uint64(word[token]) * varies]
        beyond = pseudo_weight(pseudo, row, slot)
        list_sum = sum_list(lists, begin, length, weights)
        new, place, same = old, left, True
        while same:
            # The lists are too many for the caches: fetch those of four tokens ahead.
            later = np.uint64(table.start[base + np.uint64(word[min(token + _4, end - _1)])])
            prefetch_list(lists, later)
            state += step
            u = (np.float64(mix(state) >> np.uint64(12)) + 0.5) * 2.0**-52
            new, place = _pick(lists, begin, length, weights, list_sum, total, eta, beyond, u)
            if pseudo is not None and new == EXTRA_TERM:
                rng[0] = state
                new = topics + draw_pseudo(pointer(rng), pseudo, row, slot, beyond)
                state = rng[0]
            elif new == weights.size:  # nothing is possible without this token
                new = old
            if new != old:
                break
            token += _1
            same = token < end and word[token] == word[token - _1] and z[token] == old
        if new == old:
            if is_topic:
                count[left] += 1
                weight[old] = weight_before
                total = total_before
            continue
        z[token] = new
        if is_topic:
            counts[old] -= 1
            totals[old] -= 1
            inverse[old] = inverse_old
        if pseudo is None or new < topics:
            counts[new] += 1
            totals[new] += 1
            inverse[new] = 1.0 / (prior_total + totals[new])
            weight_new = (counts[new] + shape[new]) * inverse[new]
            total += weight_new - weight[new]
            weight[new] = weight_new
            place, length = _list_new(lists, begin, length, left, is_topic, place, new)
            table.place[token] = place - begin
        elif is_topic:
            length = leave_list(lists, begin, length, left)
        table.length[slot] = length
        token += _1


def allocate_collapsed(key, start, stop, tokens, labelling, priors, smoothing, pseudo=None):
    """`allocate_rows` for all rows of replicates start..stop.

    Replicates are independent, the documents of one are not: a thread takes complete replicates.
    """
    documents = labelling.m.shape[0] // labelling.n_k.shape[0]
    for replicate in range(start, stop):
        low = replicate * documents
        allocate_rows(key, low, low + documents, tokens, labelling, priors, smoothing, pseudo)
