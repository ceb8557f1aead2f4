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
from pgbn.samplers.first_layer.extra_terms import draw_pseudo, pseudo_weight
from pgbn.samplers.first_layer.topic_draw import EXTRA_TERM
from pgbn.samplers.first_layer.topic_lists import (
    Pointer,
    pick_weight,
    prefetch_number,
    sum_weights,
    weights_in,
    weights_room,
)
from pgbn.samplers.first_layer.value_lists import GROUP, bounds_of, bounds_table
from pgbn.samplers.lanes import (
    LANES,
    above,
    add_product,
    broadcast,
    filled,
    find_nonzero,
    last,
    load_lanes,
    lowest_bit,
    pointer,
    running_sum,
    store_lanes,
    zeros,
)
from pgbn.samplers.random import new_rng, restart, uniform
from pgbn.samplers.uncounted import keep, uncounted

# ---- row topics ---------------------------------------------------------------------------------
#
# The topics of a row, k with m_jk > 0, as a list that is kept up to date while labels are drawn:
#
#     Σ_k u_wk · m_jk scale_k
#
# with the bounds u of the values of a word w (`value_codes`). A row has few topics, whatever their
# number, and no other value of the word is read.


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


# ---- all topics ---------------------------------------------------------------------------------
#
# Labels of a row with Φ held and θ marginalised, by the bytes of all topics (`value_codes`):
#
#     P(z_i = k | z_-i, Φ) ∝ value_wk q_k,   q_k = (m_jk + a_jk) scale_k
#
# Proposals come from the bounds u in place of the values, sixteen topics at a time: topic k is in
# lane k mod 16, a lane is picked first and then a topic of it. Sums are singles, with errors of
# 1e-7 in a probability; where they would underflow or overflow, a topic is drawn from products in
# double. This takes the same time for all rows, and less than `row_topics` where a row has many
# topics.


MOST_BEYOND = 1e300  # a weight beyond the topics, in units of a word whose values are all 0
_0, _1, _4, _64, _LANES = (np.uint64(i) for i in (0, 1, 4, 64, LANES))
_NOTHING, _LEAST, _MOST = np.float32(0.0), 1e-25, 1e30


class CodedValues(NamedTuple):
    """What a draw reads of all words: bytes, in lines of ``stride``, units, values, the table of
    bounds; and a_jk scale_k of the row, with zeros up to a multiple of eight."""

    byte: Pointer
    unit: Pointer
    dense: Pointer
    bound: Pointer
    smooth: Pointer
    stride: np.uint64
    topics: np.uint64


class LaneRoom(NamedTuple):
    """q_k as singles; the running sums of u q within lanes, and over the lanes, of one word."""

    weight: np.ndarray
    reached: np.ndarray
    lanes: np.ndarray


@njit(cache=True, nogil=True)
def lane_room(stride):
    """Room for a row, zeros."""
    return LaneRoom(
        filled(np.empty(stride, np.float32), 0.0),
        filled(np.empty(stride + LANES, np.float32), 0.0),
        filled(np.empty(2 * LANES, np.float32), 0.0),
    )


@njit(cache=True, nogil=True, forceinline=True)
def accepts(values, slot, k, rest, whole):
    """Whether a topic, proposed where ``rest`` of its ``whole`` proposals is left, is accepted:
    with probability value / u, mostly without a look at the value."""
    c = np.uint64(values.byte[slot * values.stride + k])
    reached = rest * values.bound[c + _1]
    if reached < whole * values.bound[c]:
        return True
    return reached * values.unit[slot] < whole * values.dense[slot * values.topics + k]


@njit(cache=True, nogil=True, forceinline=True)
def prefetch_codes(values, slot):
    """Ask for the bytes of a word: they are too many for the caches."""
    for k in range(_0, values.stride, _64):
        prefetch_number(values.byte, slot * values.stride + k)


@njit(cache=True, nogil=True)
def draw_by_products(rng, values, slot, counts, scale, beyond):
    """A topic from all products, or `EXTRA_TERM` with the weight ``beyond``, in units of the word;
    the number of topics if nothing is possible. ``counts`` are m_jk without the token."""
    room, first = weights_room(values.topics), slot * values.topics
    for k in range(values.topics):
        room[k] = values.dense[first + k] * (counts[k] * scale[k] + values.smooth[k])
    products = weights_in(room)
    total = sum_weights(products)
    target = uniform(rng) * (total + beyond * values.unit[slot])
    chosen = EXTRA_TERM if beyond > 0.0 and target >= total else pick_weight(products, target)
    if chosen == products.size:
        chosen = values.topics
    room[0] = 0.0  # used after its pointer, which does not keep it
    return chosen


@njit(cache=True, nogil=True, forceinline=True)
def _weigh(values, slot, room):
    """Σ_k u_wk q_k; fills the running sums."""
    weight, reached = pointer(room.weight), pointer(room.reached)
    total, k, begin = zeros(room.weight), _0, slot * values.stride
    while k < values.stride:
        total = add_product(total, bounds_of(values.byte, begin + k), load_lanes(weight, k))
        store_lanes(reached, k + _LANES, total)
        k += _LANES
    total = running_sum(total)
    store_lanes(pointer(room.lanes), _1, total)
    return np.float64(last(total))


@njit(cache=True, nogil=True, forceinline=True)
def _draw_any(rng, values, slot, room, total, counts, scale, beyond):
    """A topic, or `EXTRA_TERM`, by rejection; the number of topics if nothing is possible."""
    weight, reached, lanes = pointer(room.weight), pointer(room.reached), pointer(room.lanes)
    tries = 32 if _LEAST < total < _MOST else 0
    for _ in range(tries):
        target = uniform(rng) * (total + beyond)
        if beyond > 0.0 and target >= total:
            return EXTRA_TERM
        passed = above(load_lanes(lanes, _1), broadcast(np.float32(target)))
        if not passed:  # by rounding
            continue
        k = lane = lowest_bit(passed)
        rest = np.float32(target) - lanes[lane]
        while lane < values.stride:  # reached is one line ahead: sums before a topic
            k += _LANES * np.uint64(rest >= reached[lane + _LANES])
            lane += _LANES
        if k < values.topics and rest >= _NOTHING:
            c = np.uint64(values.byte[slot * values.stride + k])
            whole = values.bound[c + _1] * weight[k]
            if accepts(values, slot, k, np.float64(rest - reached[k]), whole):
                return k
    return draw_by_products(rng, values, slot, counts, scale, beyond)


@njit(cache=True, nogil=True)
def allocate_all(rng, row, base, last_token, tokens, z, values, scale, counts, room, pseudo):
    """One sweep over the tokens of a row; z and its ``counts`` change in place. ``base`` is the
    first word of its replicate, ``rng`` a pointer.

    Tokens of one word and topic that follow each other have the same law until one of them leaves.
    """
    word, topics, weight, smooth = tokens.word, values.topics, room.weight, values.smooth
    token, end = np.uint64(tokens.row_start[row]), np.uint64(tokens.row_start[row + 1])
    for k in range(topics):
        weight[k] = counts[k] * scale[k] + smooth[k]
    while token < end:
        slot = base + np.uint64(word[token])
        old = np.uint64(z[token])
        is_topic = old < topics
        if is_topic:
            counts[old] -= 1
            weight[old] = counts[old] * scale[old] + smooth[old]
        beyond = min(pseudo_weight(pseudo, row, slot) / values.unit[slot], MOST_BEYOND)
        total = _weigh(values, slot, room)
        new, same = old, True
        while same:
            prefetch_codes(values, base + np.uint64(word[min(token + _4, last_token - _1)]))
            new = _draw_any(rng, values, slot, room, total, counts, scale, beyond)
            if new == EXTRA_TERM:
                new = topics + draw_pseudo(rng, pseudo, row, slot, beyond * values.unit[slot])
            elif new == topics:  # nothing is possible without this token
                new = old
            if new != old:
                break
            token += _1
            same = token < end and word[token] == word[token - _1] and z[token] == old
        if new < topics:
            counts[new] += 1
            weight[new] = counts[new] * scale[new] + smooth[new]
        if new != old:
            z[token] = new
            token += _1


# ---- one layer ----------------------------------------------------------------------------------


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
    """A topic, or `EXTRA_TERM`, from a ``target`` on, by rejection; the number of topics if all of
    them are impossible."""
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
            return EXTRA_TERM
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
    rng, smooth, room = new_rng(), weights_room(topics), row_room(topics)
    table, places = bounds_table(), np.empty(topics + 1, np.uint64)
    lanes = lane_room(byte.shape[1])
    tokens, z, all_room = uncounted(tokens), uncounted(z), uncounted(lanes)
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
        scale, counts = uncounted(loadings.scale[replicate]), uncounted(m[row])
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
    keep(lanes)
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
            if new == EXTRA_TERM:
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
