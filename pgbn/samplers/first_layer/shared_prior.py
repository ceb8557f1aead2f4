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
from pgbn.samplers.first_layer.all_topics import (
    MOST_BEYOND,
    CodedValues,
    accepts,
    allocate_all,
    draw_by_products,
    lane_room,
    prefetch_codes,
)
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
from pgbn.samplers.first_layer.topic_lists import Pointer, prefetch_number, weights_room
from pgbn.samplers.first_layer.value_codes import GROUP, bounds_table
from pgbn.samplers.random import restart, uniform
from pgbn.samplers.simd.lanes import pointer
from pgbn.samplers.simd.places import find_nonzero
from pgbn.samplers.uncounted import keep

__all__ = ["allocate_shared"]

_0, _1, _4 = (np.uint64(i) for i in (0, 1, 4))
_GROUP, _NONE = np.uint64(GROUP), np.uint64(2**32 + 1)  # no topic has this number
_OF_ALL, _AND = 8, 13  # with more topics than an eighth of all and 13, all of them are read


class _Known(NamedTuple):
    """The `prior_sums`, so many for each word."""

    sums: Pointer
    groups: np.uint64


class _Sums(NamedTuple):
    """What a draw is made of, in units of the word: the sum over the row's topics, that of the
    prior, and the weight beyond the topics."""

    row: float
    prior: float
    beyond: float


@njit(cache=True, nogil=True)
def _propose_by_prior(values, known, slot, target):
    """The topic where the sum of the prior passes ``target``, what is left of the target there and
    the topic's part; no topic if only rounding keeps the sum below it."""
    group, first = _0, slot * known.groups
    for g in range(known.groups - _1):
        group += np.uint64(known.sums[first + g] <= target)
    rest = target - (known.sums[first + group - _1] if group > _0 else np.float32(0.0))
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
def _draw(rng, values, known, slot, row, size, counts, scale, sums, target):
    """A topic, or `BEYOND`, from a ``target`` on, by rejection; the number of topics if all of them
    are impossible."""
    end = sums.row + sums.prior
    for _ in range(32):
        if target < sums.row:
            i = place_in_row(row, size, target)
            k, before = np.uint64(row.topic[i]), row.running[i]
            if accepts(values, slot, k, target - before, row.running[i + _1] - before):
                return k
        elif target < end:
            k, rest, part = _propose_by_prior(values, known, slot, target - sums.row)
            if k < values.topics and accepts(values, slot, k, rest, part):
                return k
        elif target < end + sums.beyond:  # not where sums are more than a number can be
            return BEYOND
        target = uniform(rng) * (end + sums.beyond)
    # Nearly all proposals are refused here: sum all products instead.
    return draw_by_products(rng, values, slot, counts, scale, sums.beyond)


@njit(cache=True, nogil=True, forceinline=True)
def _prefetch(values, known, slot):
    """Ask for the bytes and the sums of a word: they are too many for the caches."""
    prefetch_codes(values, slot)
    prefetch_number(known.sums, slot * known.groups)


@njit(cache=True, nogil=True)
def allocate_shared(key, start, stop, tokens, z, loadings, m, priors, known, pseudo=None):
    """One sweep over the tokens of rows start..stop; z and m change in place. ``known`` are the
    `prior_sums`. Rows with many topics are left to `allocate_all`."""
    rows, topics = m.shape
    replicates, vocabulary, _ = loadings.value.shape
    documents, before, byte = rows // replicates, -1, loadings.byte
    rng, smooth, room = np.empty(2, np.uint64), weights_room(topics), row_room(topics)
    table, places = bounds_table(), np.empty(topics + 1, np.uint64)
    all_room = lane_room(byte.shape[1])
    values = CodedValues(
        pointer(byte), pointer(loadings.unit), pointer(loadings.value), pointer(table),
        pointer(smooth), np.uint64(byte.shape[1]), np.uint64(topics),
    )  # fmt: skip
    own, sums = row_topics(room), _Known(pointer(known), np.uint64(known.shape[1]))
    last = np.uint64(tokens.row_start[stop])
    for row in range(start, stop):
        if tokens.row_start[row] == tokens.row_start[row + 1]:
            continue
        replicate = row // documents
        scale, counts = loadings.scale[replicate], m[row]
        if replicate != before:
            shape = priors.shape[row // priors.share]
            for k in range(topics):
                smooth[k] = shape[k] * scale[k]
            before = replicate
        restart(rng, key, row)
        base = np.uint64(replicate * vocabulary)
        number = find_nonzero(pointer(counts), _0, np.uint64(topics), pointer(places))
        if number > np.uint64(topics // _OF_ALL + _AND):
            allocate_all(pointer(rng), row, base, last, tokens, z, values, scale, counts, all_room,
                         pseudo)  # fmt: skip
            continue
        size = _0
        for place in range(number):
            k = places[place]
            size = count_on(own, size, k, counts[k] * scale[k])
        size = _allocate_row(pointer(rng), row, base, last, tokens, z, values, sums, scale, counts,
                             own, size, pseudo)  # fmt: skip
        clear_row(own, size)
    keep(room)
    table[0] = smooth[0] = 0.0  # used after their pointers, which do not keep them


@njit(cache=True, nogil=True, forceinline=True)
def _allocate_row(rng, row, base, last, tokens, z, values, known, scale, counts, own, size, pseudo):
    """`allocate_shared` for one row, whose ``own`` topics are listed; their number in the end.

    Tokens of one word and topic that follow each other have the same law until one of them leaves.
    """
    word, topics = tokens.word, values.topics
    token, end = np.uint64(tokens.row_start[row]), np.uint64(tokens.row_start[row + 1])
    while token < end:
        slot = base + np.uint64(word[token])
        old = np.uint64(z[token])
        is_topic = old < topics
        if is_topic:
            counts[old] -= 1
            change_weight(own, old, counts[old] * scale[old])
        beyond = min(pseudo_weight(pseudo, row, slot) / values.unit[slot], MOST_BEYOND)
        prior = np.float64(known.sums[slot * known.groups + known.groups - _1])
        sums = _Sums(sum_of_row(values, slot, own, size), prior, beyond)
        whole = sums.row + sums.prior + beyond
        new, same = old, True
        while same:
            _prefetch(values, known, base + np.uint64(word[min(token + _4, last - _1)]))
            target = uniform(rng) * whole
            new = _propose(values, slot, own, size, sums.row, target)
            if new == _NONE:
                new = _draw(rng, values, known, slot, own, size, counts, scale, sums, target)
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
                counts[old] += 1
                change_weight(own, old, counts[old] * scale[old])
            continue
        z[token] = new
        if is_topic and counts[old] == 0:
            size = count_off(own, size, old)
        if new < topics:
            counts[new] += 1
            if counts[new] == 1:
                size = count_on(own, size, new, scale[new])
            else:
                change_weight(own, new, counts[new] * scale[new])
        token += _1
    return size
