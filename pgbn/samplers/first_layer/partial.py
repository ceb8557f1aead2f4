"""Layer-1 labels with Φ fixed and θ marginalised: the partially collapsed Gibbs sampler.

    P(z_i = k | z_-i, Φ) ∝ φ_wk (m_jk + a_jk)

with m the counts without token i (Zhou, Cong and Chen 2016, section 4). Given Φ the rows are
independent: threads over rows draw from exactly this law. Further terms of the rate have weights of
their own (`pseudo`). `allocate_partial` reads the lists of large φ; `allocate_shared` needs none,
and is for rows that share their prior.
"""

from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.executor import SERIAL, Executor
from pgbn.samplers.first_layer.extra_terms import draw_pseudo, pseudo_weight
from pgbn.samplers.first_layer.tokens import RowPriors
from pgbn.samplers.first_layer.topic_lists import (
    EXTRA_TERM,
    Pointer,
    draw_topic,
    given_values,
    pick_weight,
    prefetch_head,
    prefetch_number,
    prefetch_word,
    sum_top,
    sum_weights,
    weights_in,
    weights_room,
)
from pgbn.samplers.first_layer.value_lists import Loadings
from pgbn.samplers.lanes import filled, find_nonzero, pointer
from pgbn.samplers.random import new_rng, restart, uniform
from pgbn.samplers.uncounted import uncounted

_GROUP = 32  # topics whose prior weights are summed together
_0, _1, _2, _3, _4, _8, _32 = (np.uint64(i) for i in (0, 1, 2, 3, 4, 8, _GROUP))
_LEAST, _MOST = 1e-30, 1e30  # the range of sums that single precision represents well


@njit(cache=True, nogil=True)
def allocate_partial(key, start, stop, tokens, z, loadings, m, priors, pseudo=None):
    """One sweep over the tokens of rows start..stop; z and m change in place.

    Tokens of one word and topic that follow each other have the same law until one of them leaves.
    """
    rows, topics = m.shape
    replicates, vocabulary, _ = loadings.value.shape
    documents = rows // replicates
    word = tokens.word
    values = given_values(loadings)
    rng, weight = new_rng(), weights_room(topics)
    weights = weights_in(weight)
    for row in range(start, stop):
        token = np.uint64(tokens.row_start[row])
        end = np.uint64(tokens.row_start[row + 1])
        if token == end:
            continue
        replicate = row // documents
        base = np.uint64(replicate * vocabulary)
        scale = loadings.scale[replicate]
        shape = priors.shape[row // priors.share]
        counts = m[row]
        for k in range(topics):
            weight[k] = (counts[k] + shape[k]) * scale[k]
        total = sum_weights(weights)
        restart(rng, key, row)
        while token < end:
            slot = base + np.uint64(word[token])
            old = np.uint64(z[token])
            is_topic = old < np.uint64(topics)
            weight_before, total_before = 0.0, total
            if is_topic:
                # q_k = (m_jk + a_jk) · scale_k without this token.
                weight_before = weight[old]
                weight[old] = (counts[old] - 1 + shape[old]) * scale[old]
                total += weight[old] - weight_before
                if total < 1e-6 * weight_before:
                    # Nearly all was cancelled: sum again, so that rounding does not decide.
                    total = sum_weights(weights)
            beyond = pseudo_weight(pseudo, row, slot)
            top_sum = sum_top(values, slot, weights)
            new, same = old, True
            while same:
                prefetch_head(values, base + np.uint64(word[min(token + _8, end - _1)]))
                prefetch_word(values, base + np.uint64(word[min(token + _4, end - _1)]))
                new = draw_topic(pointer(rng), values, slot, weights, total, beyond, top_sum)
                if new == EXTRA_TERM:
                    new = np.uint64(topics) + draw_pseudo(pointer(rng), pseudo, row, slot, beyond)
                elif new == weights.size:  # nothing is possible without this token
                    new = old
                if new != old:
                    break
                token += _1
                same = token < end and word[token] == word[token - _1] and z[token] == old
            if new == old:
                if is_topic:
                    weight[old] = weight_before
                    total = total_before
                continue
            z[token] = new
            if is_topic:
                counts[old] -= 1
            if new < np.uint64(topics):
                counts[new] += 1
                weight_new = (counts[new] + shape[new]) * scale[new]
                total += weight_new - weight[new]
                weight[new] = weight_new
            token += _1


# ---- rows that share the prior --------------------------------------------------------------
#
#     P(z_i = k | z_-i, Φ) ∝ φ_wk m_jk + φ_wk a_k
#
# The first part is a sum over the topics of the row: few, whatever the number of all topics. The
# second part is computed for each word before the sweep. φ is read in single precision, as in the
# lists; if that is too narrow, a topic is drawn from all products in double.


class WordWeights(NamedTuple):
    """φ_wk of the words w = replicate · V + v, in single precision (words, K); and the running sums
    of φ_wk a_k over groups of 32 topics (words, groups)."""

    phi: np.ndarray
    sums: np.ndarray


def word_weights(words: int, topics: int) -> WordWeights:
    """Space for the weights of some words."""
    return WordWeights(np.empty((words, topics), np.float32),
                       np.empty((words, -(-topics // _GROUP)), np.float32))  # fmt: skip


def weigh_words(
    loadings: Loadings,
    priors: RowPriors,
    documents: int,
    out: WordWeights,
    executor: Executor = SERIAL,
) -> WordWeights:
    """Fill the weights of all words, given Φ and the prior."""
    executor.rows(_weigh_words, len(out.phi), 0, loadings.value, loadings.scale, priors, documents,
                  out)  # fmt: skip
    return out


@njit(cache=True, nogil=True)
def _weigh_words(key, start, stop, value, scale, priors, documents, out):
    """`weigh_words` of the words start..stop."""
    _, vocabulary, topics = value.shape
    for slot in range(start, stop):
        replicate, total = slot // vocabulary, np.float32(0.0)
        row, factor = value[replicate, slot % vocabulary], scale[replicate]
        shape, phi = priors.shape[replicate * documents // priors.share], out.phi[slot]
        for k in range(topics):
            phi[k] = row[k] * factor[k]
        for group in range(out.sums.shape[1]):
            k, end = group * _GROUP, min(group * _GROUP + _GROUP, topics)
            a = b = c = d = 0.0  # four sums at a time: one alone would wait for each addition
            while k + 4 <= end:
                a += phi[k] * shape[k]
                b += phi[k + 1] * shape[k + 1]
                c += phi[k + 2] * shape[k + 2]
                d += phi[k + 3] * shape[k + 3]
                k += 4
            while k < end:
                a += phi[k] * shape[k]
                k += 1
            total += np.float32((a + b) + (c + d))
            out.sums[slot, group] = total


class _RowTopics(NamedTuple):
    """Entry i < size is the topic ``topic[i]`` with ``count[i]`` tokens of the row, and
    ``place[topic[i]]`` is i. All other counts are 0. ``running[i]`` is the sum before entry i, of
    the last word that was asked for."""

    topic: Pointer
    count: Pointer
    place: Pointer
    running: Pointer


class _Given(NamedTuple):
    """The inputs that all rows of a replicate share: `WordWeights`, its first word, a_k, φ in
    double."""

    phi: Pointer
    sums: Pointer
    base: np.uint64
    prior: Pointer
    value: np.ndarray
    scale: np.ndarray
    topics: np.uint64
    groups: np.uint64


@njit(cache=True, nogil=True, forceinline=True)
def _sum_of_row(phi, begin, own, size):
    """Σ φ_wk m_jk over the topics of the row; the running sums are kept for the pick. Four at a
    time, since each sum waits for the previous one."""
    topic, count, running, total = own.topic, own.count, own.running, 0.0
    for i in range(_0, size, _4):
        first = phi[begin + topic[i]] * count[i]
        second = first + phi[begin + topic[i + _1]] * count[i + _1]
        third = phi[begin + topic[i + _2]] * count[i + _2]
        running[i + _1] = total + first
        running[i + _2] = total + second
        running[i + _3] = total + (second + third)
        total += second + (third + phi[begin + topic[i + _3]] * count[i + _3])
        running[i + _4] = total
    return total


@njit(cache=True, nogil=True, forceinline=True)
def _pick_in_row(own, size, target):
    """The topic where the running sum passes ``target``."""
    i = _0
    for j in range(_1, size):
        i += np.uint64(own.running[j] <= target)
    return own.topic[i]


@njit(cache=True, nogil=True)
def _pick_by_prior(given, slot, target):
    """The topic where the sum of φ_wk a_k passes ``target``; the number of topics if only rounding
    keeps the sum below it."""
    group, first = _0, slot * given.groups
    for g in range(given.groups - _1):
        group += np.uint64(given.sums[first + g] <= target)
    rest = target - (given.sums[first + group - _1] if group > _0 else np.float32(0.0))
    k, end = group * _32, min(group * _32 + _32, given.topics)
    while k < end:
        rest -= given.phi[slot * given.topics + k] * given.prior[k]
        if rest < 0.0:
            return k
        k += _1
    return given.topics


@njit(cache=True, nogil=True)
def _draw_by_products(rng, given, slot, counts, beyond):
    """A topic from all products, or `EXTRA_TERM` with the weight ``beyond``; the number of topics
    if nothing is possible."""
    room, value = weights_room(given.topics), given.value[np.int64(slot - given.base)]
    for k in range(given.topics):
        room[k] = value[k] * given.scale[k] * (counts[k] + given.prior[k])
    products = weights_in(room)
    total = sum_weights(products)
    target = uniform(rng) * (total + beyond)
    chosen = EXTRA_TERM if beyond > 0.0 and target >= total else pick_weight(products, target)
    room[0] = 0.0  # used after its pointer, which does not keep it
    return given.topics if chosen == products.size else chosen


@njit(cache=True, nogil=True, forceinline=True)
def _draw(rng, given, slot, own, size, counts, row_sum, beyond):
    """A topic, or `EXTRA_TERM`; the number of topics if nothing is possible."""
    end = row_sum + given.sums[slot * given.groups + given.groups - _1]
    if not _LEAST < end < _MOST:
        return _draw_by_products(rng, given, slot, counts, beyond)
    while True:
        target = uniform(rng) * (end + beyond)
        if target < row_sum:
            return _pick_in_row(own, size, target)
        if beyond > 0.0 and target >= end:
            return EXTRA_TERM
        k = _pick_by_prior(given, slot, target - row_sum)
        if k < given.topics:
            return k


@njit(cache=True, nogil=True, forceinline=True)
def _prefetch(given, slot, own, size):
    """Prefetch the weights of a word: all words are too many for the caches."""
    prefetch_number(given.sums, slot * given.groups)
    for i in range(_0, size):
        prefetch_number(given.phi, slot * given.topics + own.topic[i])


@njit(cache=True, nogil=True)
def allocate_shared(key, start, stop, tokens, z, loadings, m, priors, weights, pseudo=None):
    """One sweep over the tokens of rows start..stop; z and m change in place."""
    rows, topics = m.shape
    replicates, vocabulary, _ = loadings.value.shape
    rng, places = new_rng(), np.empty(topics + 1, np.uint64)
    topic, place = filled(np.empty(topics + 4, np.uint64), 0), np.empty(topics, np.uint64)
    count, running = filled(np.empty(topics + 4), 0.0), filled(np.empty(topics + 5), 0.0)
    own = _RowTopics(pointer(topic), pointer(count), pointer(place), pointer(running))
    prior = np.empty(topics)
    tokens, z = uncounted(tokens), uncounted(z)
    for row in range(start, stop):
        if tokens.row_start[row] == tokens.row_start[row + 1]:
            continue
        replicate = row // (rows // replicates)
        counts, shape = uncounted(m[row]), priors.shape[row // priors.share]
        for k in range(topics):
            prior[k] = shape[k]
        given = _Given(
            pointer(weights.phi), pointer(weights.sums), np.uint64(replicate * vocabulary),
            pointer(prior), uncounted(loadings.value[replicate]),
            uncounted(loadings.scale[replicate]), np.uint64(topics),
            np.uint64(weights.sums.shape[1]),
        )  # fmt: skip
        size = find_nonzero(pointer(counts), _0, np.uint64(topics), pointer(places))
        for i in range(size):
            k = places[i]
            topic[i], count[i], place[k] = k, counts[k], i
        restart(rng, key, row)
        size = _allocate_row(pointer(rng), row, tokens, z, given, counts, own, size, pseudo)
        for i in range(size):
            count[i] = 0.0
    count[0] = running[0] = prior[0] = topic[0] = place[0] = 0  # used after their pointers


@njit(cache=True, nogil=True, forceinline=True)
def _allocate_row(rng, row, tokens, z, given, counts, own, size, pseudo):
    """`allocate_shared` for one row, whose ``own`` topics are listed; their number in the end.

    Tokens of one word and topic that follow each other have the same law until one of them leaves.
    """
    word, topics, topic, count, place = tokens.word, given.topics, own.topic, own.count, own.place
    token, end = np.uint64(tokens.row_start[row]), np.uint64(tokens.row_start[row + 1])
    while token < end:
        slot = given.base + np.uint64(word[token])
        old = np.uint64(z[token])
        is_topic = old < topics
        if is_topic:
            counts[old] -= 1
            count[place[old]] -= 1.0
        beyond = pseudo_weight(pseudo, row, slot)
        row_sum = _sum_of_row(given.phi, slot * topics, own, size)
        new, same = old, True
        while same:
            later = given.base + np.uint64(word[min(token + _4, end - _1)])
            _prefetch(given, later, own, size)
            new = _draw(rng, given, slot, own, size, counts, row_sum, beyond)
            if new == EXTRA_TERM:
                new = topics + draw_pseudo(rng, pseudo, row, slot, beyond)
            elif new == topics:  # nothing is possible without this token
                new = old
            if new != old:
                break
            token += _1
            same = token < end and word[token] == word[token - _1] and z[token] == old
        if new == old:
            if is_topic:
                counts[old] += 1
                count[place[old]] += 1.0
            continue
        z[token] = new
        if is_topic and counts[old] == 0:  # the last topic gets its place
            size -= _1
            i, moved = place[old], topic[size]
            topic[i], count[i], place[moved] = moved, count[size], i
            count[size] = 0.0
        if new < topics:
            counts[new] += 1
            if counts[new] == 1:
                topic[size], count[size], place[new] = new, 0.0, size
                size += _1
            count[place[new]] += 1.0
        token += _1
    return size
