"""Labels with Φ held and θ marginalised (`partial`), where all rows share the prior of θ:

    P(z_i = k | z_-i, Φ) ∝ φ_wk (m_jk + a_k)

With φ_wk = value_wk scale_k this is the sum of

    value_wk · m_jk scale_k  over the topics of the row that are listed for the word (`row_topics`),
    value_wk · a_k scale_k   over all topics that are listed for the word: known before the sweep,
    what is not listed       at most bound_w · (m_jk + a_k) scale_k, by rejection.

A row has few topics, so that few values of a word are read. Where it has many, as when a chain
begins, whole lists are read instead (`partial`).
"""

from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.executor import SERIAL, Executor
from pgbn.samplers.first_layer.partial import allocate_partial
from pgbn.samplers.first_layer.pseudo import draw_pseudo, pseudo_weight
from pgbn.samplers.first_layer.row_topics import (
    change_weight,
    clear_row,
    count_off,
    count_on,
    pick_of_row,
    pick_weight_of_row,
    row_room,
    row_topics,
    sum_of_row,
    sum_row_weights,
)
from pgbn.samplers.first_layer.tokens import RowPriors
from pgbn.samplers.first_layer.topic_draw import BEYOND, held_values
from pgbn.samplers.first_layer.topic_lists import (
    pick_in_list,
    pick_weight,
    prefetch_number,
    sum_list,
    sum_weights,
    weights_in,
    weights_room,
)
from pgbn.samplers.first_layer.value_lists import Loadings
from pgbn.samplers.random import restart, uniform
from pgbn.samplers.simd.lanes import pointer
from pgbn.samplers.uncounted import keep

__all__ = ["allocate_shared", "many_topics", "prior_sums"]

_0, _1, _6, _8, _12, _16 = (np.uint64(i) for i in (0, 1, 6, 8, 12, 16))
_32, _80 = np.uint64(32), np.uint64(80)


class _Sums(NamedTuple):
    """What a draw is made of: the sum over the row's topics, that of the priors of listed topics,
    the weights m_jk scale_k and a_jk scale_k of all topics, and the weight beyond the topics."""

    row: float
    prior: float
    weights: float
    smooth: float
    beyond: float


def many_topics(loadings: Loadings) -> int:
    """So many topics of a row cost more than a word's whole list: a value that is looked up takes
    about as long as two that are read one after another."""
    return int(loadings.length.sum()) // (2 * loadings.length.size) + 1


def prior_sums(
    loadings: Loadings, priors: RowPriors, documents: int, executor: Executor = SERIAL
) -> np.ndarray:
    """Σ_k value_wk a_k scale_k over the listed topics of each word w = replicate · V + v, and
    beside it bound_w."""
    out = np.empty((loadings.length.size, 2))
    executor.rows(_sum_priors, len(out), 0, loadings, priors, documents, out)
    return out


@njit(cache=True, nogil=True)
def _sum_priors(key, start, stop, loadings, priors, documents, out):
    """`prior_sums` of words start..stop."""
    _, vocabulary, topics = loadings.value.shape
    values, before = held_values(loadings), -1
    room = weights_room(topics)
    weights = weights_in(room)
    for slot in range(start, stop):
        replicate = slot // vocabulary
        if replicate != before:
            _smooth(loadings.scale[replicate], priors.shape[replicate * documents // priors.share],
                    room)  # fmt: skip
            before = replicate
        begin, length = np.uint64(values.start[slot]), np.uint64(values.length[slot])
        out[slot, 0], out[slot, 1] = sum_list(values, begin, length, weights), values.bound[slot]


@njit(cache=True, nogil=True)
def _smooth(scale, shape, room):
    """The weights a_jk scale_k, into a `weights_room`."""
    for k in range(scale.size):
        room[k] = shape[k] * scale[k]


@njit(cache=True, nogil=True)
def _draw_elsewhere(rng, values, slot, row, size, smooth, sums, target):
    """A topic for a ``target`` that is not below the sum of the row's topics.

    A candidate that is not from a list is accepted with probability value_k / bound, and never if k
    is listed. If it is refused, the next target may be anywhere: that is rejection sampling, exact
    for any bound. The size of ``smooth`` if all topics are impossible.
    """
    begin, length = np.uint64(values.start[slot]), np.uint64(values.length[slot])
    bound, known = values.bound[slot], sums.row + sums.prior
    end = known + bound * (sums.weights + sums.smooth)
    for _ in range(32):
        if target < sums.row:
            return pick_of_row(row, size, target)
        if target < known:
            sum_list(values, begin, length, smooth)
            place = pick_in_list(values, begin, length, smooth, target - sums.row)
            return np.uint64(values.topic[place])
        if sums.beyond > 0.0 and target >= end:
            return BEYOND
        candidate = (target - known) / bound
        if candidate < sums.weights:
            k = pick_weight_of_row(row, size, candidate)
        else:
            k = pick_weight(smooth, candidate - sums.weights)
        if k < values.topics:
            value = values.dense[slot * values.topics + k]
            if value <= bound and uniform(rng) * bound < value:
                return k
        target = uniform(rng) * (end + sums.beyond)
    # Nearly all candidates are refused here: sum all products instead.
    return _draw_by_products(rng, values, slot, row, size, smooth, sums.beyond)


@njit(cache=True, nogil=True)
def _draw_by_products(rng, values, slot, row, size, smooth, beyond):
    """`_draw_elsewhere` from all products."""
    room, first = weights_room(values.topics), slot * values.topics
    for k in range(values.topics):
        room[k] = values.dense[first + k] * smooth.weight[k]
    for i in range(_0, size):
        k = np.uint64(row.topic[i])
        room[k] += values.dense[first + k] * row.weight[i + _1]
    products = weights_in(room)
    total = sum_weights(products)
    target = uniform(rng) * (total + beyond)
    k = BEYOND if beyond > 0.0 and target >= total else pick_weight(products, target)
    room[0] = 0.0  # used after its pointer, which does not keep it
    return k


@njit(cache=True, nogil=True, forceinline=True)
def _prefetch(values, soon, later):
    """Ask for the heads of one word and the list of another: they are too many for the caches."""
    for group in range(_0, values.groups, _8):
        prefetch_number(values.head, later * values.groups + group)
    place = values.head[soon * values.groups] >> _32
    for ahead in range(_0, _80, _16):
        prefetch_number(values.value, place + ahead)


@njit(cache=True, nogil=True)
def allocate_shared(key, start, stop, tokens, z, loadings, m, priors, known, most, pseudo=None):
    """One sweep over the tokens of rows start..stop; z and m change in place. ``known`` are the
    `prior_sums`, ``most`` the topics of a row from which on its words' lists are read.

    Tokens of one word and topic that follow each other have the same law until one of them leaves.
    """
    rows, topics = m.shape
    replicates, vocabulary, _ = loadings.value.shape
    documents, before = rows // replicates, -1
    values, last = held_values(loadings), np.uint64(tokens.row_start[stop])
    rng, weight, room = np.empty(2, np.uint64), weights_room(topics), row_room(topics)
    smooth, own, smooth_total = weights_in(weight), row_topics(room), 0.0
    for row in range(start, stop):
        if tokens.row_start[row] == tokens.row_start[row + 1]:
            continue
        replicate = row // documents
        scale, counts, size = loadings.scale[replicate], m[row], _0
        if replicate != before:
            _smooth(scale, priors.shape[row // priors.share], weight)
            smooth_total, before = sum_weights(smooth), replicate
        for k in range(topics):
            if counts[k] > 0:
                size = count_on(own, size, k, counts[k] * scale[k])
        if size >= np.uint64(most):
            allocate_partial(key, row, row + 1, tokens, z, loadings, m, priors, pseudo)
            clear_row(own, size)
            continue
        restart(rng, key, row)
        base = np.uint64(replicate * vocabulary)
        size = _allocate_row(pointer(rng), row, base, last, tokens, z, values, scale, counts, own,
                             size, smooth, smooth_total, known, pseudo)  # fmt: skip
        clear_row(own, size)
    keep(room)


@njit(cache=True, nogil=True, forceinline=True)
def _allocate_row(
    rng,
    row,
    base,
    last,
    tokens,
    z,
    values,
    scale,
    counts,
    own,
    size,
    smooth,
    smooth_total,
    known,
    pseudo,
):
    """`allocate_shared` for one row, whose ``own`` topics are listed; their number in the end."""
    word, topics = tokens.word, values.topics
    token, end = np.uint64(tokens.row_start[row]), np.uint64(tokens.row_start[row + 1])
    total = sum_row_weights(own, size)
    while token < end:
        slot = base + np.uint64(word[token])
        old = np.uint64(z[token])
        is_topic = old < topics
        before, total_before = 0.0, total
        if is_topic:
            without = (counts[old] - 1) * scale[old]
            before = change_weight(own, old, without)
            total += without - before
            if total < 1e-6 * before:
                # Nearly all was cancelled: sum anew, lest rounding decide.
                total = sum_row_weights(own, size)
        beyond = pseudo_weight(pseudo, row, slot)
        sums = _Sums(
            sum_of_row(values, slot, own, size), known[slot, 0], total, smooth_total, beyond
        )
        whole = sums.row + sums.prior + known[slot, 1] * (total + smooth_total) + beyond
        new, same = old, True
        while same:
            later = base + np.uint64(word[min(token + _12, last - _1)])
            prefetch_number(pointer(known), later << _1)
            _prefetch(values, base + np.uint64(word[min(token + _6, last - _1)]), later)
            target = uniform(rng) * whole
            if target < sums.row:
                new = pick_of_row(own, size, target)
            else:
                new = _draw_elsewhere(rng, values, slot, own, size, smooth, sums, target)
            if new == BEYOND:
                new = topics + draw_pseudo(rng, pseudo, row, slot, beyond)
            elif new == smooth.size:  # nothing is possible without this token
                new = old
            if new != old:
                break
            token += _1
            same = token < end and word[token] == word[token - _1] and z[token] == old
        if new == old:
            if is_topic:
                change_weight(own, old, before)
                total = total_before
            continue
        z[token] = new
        if is_topic:
            counts[old] -= 1
            if counts[old] == 0:
                size = count_off(own, size, old)
        if new < topics:
            counts[new] += 1
            weight_new = counts[new] * scale[new]
            if counts[new] == 1:
                size = count_on(own, size, new, weight_new)
                total += weight_new
            else:
                total += weight_new - change_weight(own, new, weight_new)
        token += _1
    return size
