"""Labels with Φ held and θ marginalised (`partial`), where all rows share the prior of θ:

    P(z_i = k | z_-i, Φ) ∝ φ_wk (m_jk + a_k)

With φ_wk = value_wk scale_k, proposals come from bounds u of the values (`value_codes`), the sum of

    u_wk · m_jk scale_k  over the topics of the row: few, whatever their number (`row_topics`),
    u_wk · a_k scale_k   over all topics: known before the sweep (`prior_sums`),

and are accepted with probability value / u, at least 16 / 17 for all but the smallest values.
"""

from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.first_layer.pseudo import draw_pseudo, pseudo_weight
from pgbn.samplers.first_layer.row_topics import (
    change_weight,
    clear_row,
    count_off,
    count_on,
    place_in_row,
    row_room,
    row_topics,
    sum_of_row,
)
from pgbn.samplers.first_layer.topic_draw import BEYOND
from pgbn.samplers.first_layer.topic_lists import (
    Pointer,
    pick_weight,
    prefetch_number,
    sum_weights,
    weights_in,
    weights_room,
)
from pgbn.samplers.first_layer.value_codes import GROUP, bounds_table
from pgbn.samplers.random import restart, uniform
from pgbn.samplers.simd.lanes import pointer
from pgbn.samplers.simd.places import find_nonzero
from pgbn.samplers.uncounted import keep

__all__ = ["allocate_shared"]

_0, _1, _4, _64 = (np.uint64(i) for i in (0, 1, 4, 64))
_GROUP, _NONE = np.uint64(GROUP), np.uint64(2**32 + 1)  # no topic has this number
_HUGE = 1e300  # where all values of a word are 0


class _Values(NamedTuple):
    """What a draw reads of all words: bytes, units, values, table of bounds, running sums of the
    prior by groups, and the weights a_k scale_k, with zeros up to a multiple of eight."""

    byte: Pointer
    unit: Pointer
    dense: Pointer
    bound: Pointer
    known: Pointer
    smooth: Pointer
    stride: np.uint64
    topics: np.uint64
    groups: np.uint64


class _Sums(NamedTuple):
    """What a draw is made of, in units of the word: the sum over the row's topics, that of the
    prior, and the weight beyond the topics."""

    row: float
    prior: float
    beyond: float


@njit(cache=True, nogil=True, forceinline=True)
def _holds(values, slot, k, rest, whole):
    """Whether a topic, proposed where ``rest`` of its ``whole`` proposals is left, is accepted."""
    c = np.uint64(values.byte[slot * values.stride + k])
    reached = rest * values.bound[c + _1]
    if reached < whole * values.bound[c]:
        return True
    return reached * values.unit[slot] < whole * values.dense[slot * values.topics + k]


@njit(cache=True, nogil=True)
def _propose_by_prior(values, slot, target):
    """The topic where the sum of the prior passes ``target``, what is left of the target there and
    the topic's part; no topic if only rounding keeps the sum below it."""
    group, first = _0, slot * values.groups
    for g in range(values.groups - _1):
        group += np.uint64(values.known[first + g] <= target)
    rest = target - (values.known[first + group - _1] if group > _0 else np.float32(0.0))
    k, end = group * _GROUP, min(group * _GROUP + _GROUP, values.topics)
    while k < end:
        c = np.uint64(values.byte[slot * values.stride + k])
        part = values.bound[c + _1] * values.smooth[k]
        if rest < part:
            return k, rest, part
        rest -= part
        k += _1
    return _NONE, 0.0, 1.0


@njit(cache=True, nogil=True, forceinline=True)
def _propose(values, slot, row, size, row_sum, target):
    """The topic of a target that lies in the row's part and is accepted at once, as most are."""
    if target >= row_sum:
        return _NONE
    i = place_in_row(row, size, target)
    k, before = np.uint64(row.topic[i]), row.running[i]
    c = np.uint64(values.byte[slot * values.stride + k])
    reached = (target - before) * values.bound[c + _1]
    return k if reached < (row.running[i + _1] - before) * values.bound[c] else _NONE


@njit(cache=True, nogil=True)
def _draw(rng, values, slot, row, size, sums, target):
    """A topic, or `BEYOND`, from a ``target`` on, by rejection; the number of topics if all of them
    are impossible."""
    end = sums.row + sums.prior
    for _ in range(32):
        if target < sums.row:
            i = place_in_row(row, size, target)
            k, before = np.uint64(row.topic[i]), row.running[i]
            if _holds(values, slot, k, target - before, row.running[i + _1] - before):
                return k
        elif target < end:
            k, rest, part = _propose_by_prior(values, slot, target - sums.row)
            if k < values.topics and _holds(values, slot, k, rest, part):
                return k
        elif target < end + sums.beyond:  # not where sums are more than a number can be
            return BEYOND
        target = uniform(rng) * (end + sums.beyond)
    # Nearly all proposals are refused here: sum all products instead.
    return _draw_by_products(rng, values, slot, row, size, sums.beyond)


@njit(cache=True, nogil=True)
def _draw_by_products(rng, values, slot, row, size, beyond):
    """`_draw` from all products."""
    room, first = weights_room(values.topics), slot * values.topics
    for k in range(values.topics):
        room[k] = values.dense[first + k] * values.smooth[k]
    for i in range(_0, size):
        k = np.uint64(row.topic[i])
        room[k] += values.dense[first + k] * row.weight[i]
    products = weights_in(room)
    total = sum_weights(products)
    target = uniform(rng) * (total + beyond * values.unit[slot])
    chosen = BEYOND if beyond > 0.0 and target >= total else pick_weight(products, target)
    if chosen == products.size:
        chosen = values.topics
    room[0] = 0.0  # used after its pointer, which does not keep it
    return chosen


@njit(cache=True, nogil=True, forceinline=True)
def _prefetch(values, slot):
    """Ask for the bytes and the sums of a word: they are too many for the caches."""
    for k in range(_0, values.stride, _64):
        prefetch_number(values.byte, slot * values.stride + k)
    prefetch_number(values.known, slot * values.groups)


@njit(cache=True, nogil=True)
def allocate_shared(key, start, stop, tokens, z, loadings, m, priors, known, pseudo=None):
    """One sweep over the tokens of rows start..stop; z and m change in place. ``known`` are the
    `prior_sums`.

    Tokens of one word and topic that follow each other have the same law until one of them leaves.
    """
    rows, topics = m.shape
    replicates, vocabulary, _ = loadings.value.shape
    documents, before = rows // replicates, -1
    rng, weight, room = np.empty(2, np.uint64), weights_room(topics), row_room(topics)
    own, table, byte = row_topics(room), bounds_table(), loadings.byte
    places = np.empty(topics + 1, np.uint64)
    values = _Values(
        pointer(byte), pointer(loadings.unit), pointer(loadings.value), pointer(table),
        pointer(known), pointer(weight), np.uint64(byte.shape[1]), np.uint64(topics),
        np.uint64(known.shape[1]),
    )  # fmt: skip
    last = np.uint64(tokens.row_start[stop])
    for row in range(start, stop):
        if tokens.row_start[row] == tokens.row_start[row + 1]:
            continue
        replicate = row // documents
        scale, counts, size = loadings.scale[replicate], m[row], _0
        if replicate != before:
            shape = priors.shape[row // priors.share]
            for k in range(topics):
                weight[k] = shape[k] * scale[k]
            before = replicate
        for place in range(find_nonzero(pointer(counts), _0, np.uint64(topics), pointer(places))):
            k = places[place]
            size = count_on(own, size, k, counts[k] * scale[k])
        restart(rng, key, row)
        base = np.uint64(replicate * vocabulary)
        size = _allocate_row(pointer(rng), row, base, last, tokens, z, values, scale, counts, own,
                             size, pseudo)  # fmt: skip
        clear_row(own, size)
    keep(room)
    table[0] = weight[0] = 0.0  # used after their pointers, which do not keep them


@njit(cache=True, nogil=True, forceinline=True)
def _allocate_row(rng, row, base, last, tokens, z, values, scale, counts, own, size, pseudo):
    """`allocate_shared` for one row, whose ``own`` topics are listed; their number in the end."""
    word, topics = tokens.word, values.topics
    token, end = np.uint64(tokens.row_start[row]), np.uint64(tokens.row_start[row + 1])
    while token < end:
        slot = base + np.uint64(word[token])
        old = np.uint64(z[token])
        is_topic = old < topics
        before = 0.0
        if is_topic:
            before = change_weight(own, old, (counts[old] - 1) * scale[old])
        beyond = min(pseudo_weight(pseudo, row, slot) / values.unit[slot], _HUGE)
        prior = np.float64(values.known[slot * values.groups + values.groups - _1])
        sums = _Sums(sum_of_row(values, slot, own, size), prior, beyond)
        whole = sums.row + sums.prior + beyond
        new, same = old, True
        while same:
            _prefetch(values, base + np.uint64(word[min(token + _4, last - _1)]))
            target = uniform(rng) * whole
            new = _propose(values, slot, own, size, sums.row, target)
            if new == _NONE:
                new = _draw(rng, values, slot, own, size, sums, target)
            if new == BEYOND:
                new = topics + draw_pseudo(rng, pseudo, row, slot, beyond * values.unit[slot])
            elif new == topics:  # nothing is possible without this token
                new = old
            if new != old:
                break
            token += _1
            same = token < end and word[token] == word[token - _1] and z[token] == old
        if new == old:
            if is_topic:
                change_weight(own, old, before)
            continue
        z[token] = new
        if is_topic:
            counts[old] -= 1
            if counts[old] == 0:
                size = count_off(own, size, old)
        if new < topics:
            counts[new] += 1
            if counts[new] == 1:
                size = count_on(own, size, new, scale[new])
            else:
                change_weight(own, new, counts[new] * scale[new])
        token += _1
    return size
