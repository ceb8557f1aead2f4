"""Φ of the first layer: how it is drawn, its large values, and how labels are drawn from these.

    φ_wk = value_wk · scale_k

A word has few large values. They are listed, since lists of them fit into the caches and Φ does
not. First come lists and draws from them, then the lists of Φ (`Loadings`), then Φ given counts.

Indices are unsigned throughout: for a signed index numba must allow for negative ones, which
nearly doubles the time of these loops. Bundles have pointers: bundles of arrays would count
references at every call, which doubles the time as well (see `pointer`).
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaincc

from pgbn.samplers.compiled import keep, njit, uncounted
from pgbn.samplers.elementary import exp, log
from pgbn.samplers.executor import SERIAL, Executor
from pgbn.samplers.from_numba import intrinsic, ir, types
from pgbn.samplers.lanes import (
    LANES,
    filled,
    find_above,
    find_nonzero,
    pointer,
)
from pgbn.samplers.random import new_rng, restart, uniform
from pgbn.samplers.variates.gamma import (
    EQUAL_SHAPES,
    draw_gamma,
    draw_log_gamma,
    equal_room,
    fill_equal,
    fill_rows,
    workspace,
)

# ---- lists of topics ---------------------------------------------------------------------------
#
# Draws from Σ_k value_k · weight_k with only a few large values: lists of (topic, value).
#
# A list occupies the places begin .. begin + length of two flat arrays; places up to the next
# multiple of eight have the value 0, so that loops run over full blocks of eight. Weights are dense
# over topics, filled with zeros to a multiple of eight.


_0, _1, _2, _3, _4, _5, _6, _7, _8 = (np.uint64(i) for i in range(9))
_BYTES = ir.IntType(8).as_pointer()
Pointer = Any  # of `pointer`; has no type outside of kernels


class TopicLists(NamedTuple):
    """Lists one after another: ``value[p]`` belongs to the topic ``topic[p]``."""

    topic: Pointer
    value: Pointer


class TopicWeights(NamedTuple):
    """A weight for each of the topics, zeros up to ``size``; from there on scratch: the sum of a
    list before each of its blocks."""

    weight: Pointer
    size: np.uint64


def padded(length):
    """The least multiple of eight that is not less than ``length``."""
    return (length + 7) // 8 * 8


@njit(cache=True, nogil=True)
def weights_room(topics):
    """The array of `weights_in`, zeros: the caller keeps it, and writes the weights there."""
    size = (np.int64(topics) + 7) // 8 * 9 + 1  # a divided list may have a block more
    return filled(np.empty(size), 0.0)


@njit(cache=True, nogil=True, forceinline=True)
def weights_in(room):
    """The weights in an array of `weights_room`."""
    return TopicWeights(pointer(room), np.uint64(room.size // 9 * 8))


@intrinsic
def _prefetch(typing_context, numbers, index):
    """Prefetch the cache line of ``numbers[index]``, which may be beyond the end; no wait."""

    def code(context, builder, signature, arguments):
        place = builder.bitcast(builder.gep(arguments[0], [arguments[1]]), _BYTES)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [_BYTES, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [_BYTES], kind)
        builder.call(function, [place, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(numbers, types.uint64), code


@njit(cache=True, nogil=True, forceinline=True)
def prefetch_number(numbers, index):
    """Prefetch one number."""
    _prefetch(numbers, index)


@njit(cache=True, nogil=True, forceinline=True)
def prefetch_list(lists, begin):
    """Prefetch the first 64 places of a list, of 2 and 4 bytes each: few lists are longer."""
    _prefetch(lists.topic, begin)
    _prefetch(lists.topic, begin + np.uint64(32))
    _prefetch(lists.value, begin)
    _prefetch(lists.value, begin + np.uint64(16))
    _prefetch(lists.value, begin + np.uint64(32))
    _prefetch(lists.value, begin + np.uint64(48))


@njit(cache=True, nogil=True)
def sum_weights(weights):
    """Σ_k weight_k; four sums at a time: one alone would wait for each addition."""
    weight = weights.weight
    a = b = c = d = 0.0
    for k in range(_0, weights.size, _4):
        a += weight[k]
        b += weight[k + _1]
        c += weight[k + _2]
        d += weight[k + _3]
    return (a + b) + (c + d)


@njit(cache=True, nogil=True, forceinline=True)
def sum_list(lists, begin, length, weights):
    """Σ value · weight over a list; the scratch of the weights is filled for `pick_in_list`."""
    return sum_on(lists, begin, _0, length, weights, 0.0)


@njit(cache=True, nogil=True, forceinline=True)
def sum_on(lists, begin, known, length, weights, total):
    """The same, if the first ``known`` places, up to a full block, have the sum ``total`` and their
    scratch is filled."""
    topic, value, weight = lists.topic, lists.value, weights.weight
    block, blocks = (known + _7) >> _3, (length + _7) >> _3
    while block < blocks:
        p = begin + (block << _3)
        weight[weights.size + block] = total
        total += (
            (value[p] * weight[topic[p]] + value[p + _1] * weight[topic[p + _1]])
            + (value[p + _2] * weight[topic[p + _2]] + value[p + _3] * weight[topic[p + _3]])
        ) + (
            (value[p + _4] * weight[topic[p + _4]] + value[p + _5] * weight[topic[p + _5]])
            + (value[p + _6] * weight[topic[p + _6]] + value[p + _7] * weight[topic[p + _7]])
        )
        block += _1
    return total


@njit(cache=True, nogil=True, forceinline=True)
def pick_in_list(lists, begin, length, weights, target):
    """The place where the running sum of value · weight passes ``target`` < `sum_list`."""
    topic, value, weight = lists.topic, lists.value, weights.weight
    block = ((length + _7) >> _3) - _1
    while weight[weights.size + block] > target:
        block -= _1
    target -= weight[weights.size + block]
    p = begin + (block << _3)
    # Seven comparisons without a branch are cheaper than one mispredicted branch.
    s0 = value[p] * weight[topic[p]]
    s1 = s0 + value[p + _1] * weight[topic[p + _1]]
    s2 = s1 + value[p + _2] * weight[topic[p + _2]]
    s3 = s2 + value[p + _3] * weight[topic[p + _3]]
    s4 = s3 + value[p + _4] * weight[topic[p + _4]]
    s5 = s4 + value[p + _5] * weight[topic[p + _5]]
    s6 = s5 + value[p + _6] * weight[topic[p + _6]]
    steps = (
        (np.int64(target >= s0) + np.int64(target >= s1))
        + (np.int64(target >= s2) + np.int64(target >= s3))
        + (np.int64(target >= s4) + np.int64(target >= s5) + np.int64(target >= s6))
    )
    place = p + np.uint64(steps)
    # Rounding may lead beyond the last positive term of the block; nothing else can.
    while place > p and value[place] * weight[topic[place]] == 0.0:
        place -= _1
    return place


@njit(cache=True, nogil=True)
def pick_weight(weights, target):
    """The k where the running sum of the weights passes ``target``; ``size`` if all are 0.

    A target beyond the sum, which only rounding can cause, gives the last positive weight.
    """
    weight, size = weights.weight, weights.size
    k = _0
    while k < size:
        part = ((weight[k] + weight[k + _1]) + (weight[k + _2] + weight[k + _3])) + (
            (weight[k + _4] + weight[k + _5]) + (weight[k + _6] + weight[k + _7])
        )
        if target < part:
            break
        target -= part
        k += _8
    chosen = size
    end = min(k + _8, size)
    while k < end:
        if weight[k] > 0.0:
            chosen = k
            target -= weight[k]
            if target < 0.0:
                return k
        k += _1
    if chosen == size:
        k = size
        while k > _0:
            k -= _1
            if weight[k] > 0.0:
                return k
    return chosen


# ---- a topic of a word with Φ fixed ---------------------------------------------------------
#
#     P(k) ∝ value_wk · weight_k
#
# The large values of a word are listed; the others are below a bound and are found by rejection.
# There may be another term of a given weight, ``beyond``: a draw of it is `EXTRA_TERM`.


EXTRA_TERM = np.uint64(2**32)  # no topic has this number


class GivenValues(NamedTuple):
    """`Loadings` by pointers: the lists of the large values, and all of them, ``dense``."""

    start: Pointer
    length: Pointer
    bound: Pointer
    high: Pointer
    top: Pointer
    topic: Pointer
    value: Pointer
    dense: Pointer
    topics: np.uint64


@njit(cache=True, nogil=True, forceinline=True)
def given_values(loadings):
    """The values of `Loadings`, which must be an argument of the calling kernel."""
    return GivenValues(
        pointer(loadings.start),
        pointer(loadings.length),
        pointer(loadings.bound),
        pointer(loadings.high),
        pointer(loadings.top),
        pointer(loadings.topic),
        pointer(loadings.large),
        pointer(loadings.value),
        np.uint64(loadings.value.shape[2]),
    )


@njit(cache=True, nogil=True, forceinline=True)
def prefetch_word(values, slot):
    """Prefetch the list of a word that will be read soon: the lists are too many for the caches."""
    prefetch_list(values, np.uint64(values.start[slot]))


@njit(cache=True, nogil=True, forceinline=True)
def prefetch_head(values, slot):
    """Prefetch the place of a word's list, some time before `prefetch_word`."""
    prefetch_number(values.start, slot)
    prefetch_number(values.top, slot)
    prefetch_number(values.bound, slot)
    prefetch_number(values.high, slot)


@njit(cache=True, nogil=True, forceinline=True)
def sum_top(values, slot, weights):
    """Σ value · weight over the top of a word's list."""
    return sum_list(values, np.uint64(values.start[slot]), np.uint64(values.top[slot]), weights)


@njit(cache=True, nogil=True, forceinline=True)
def draw_topic(rng, values, slot, weights, total, beyond, top_sum):
    """k with probability ∝ value_k · weight_k, `EXTRA_TERM` with that of the weight ``beyond``;
    ``weights.size`` if all of these are 0.

    ``total`` is the sum of the weights, ``top_sum`` that of the top of the list (`sum_top`), where
    most draws end; ``rng`` is a pointer. The entries below the top have at most (high + bound) · Σ
    weight. Their sum is computed only if a target is there.
    """
    begin, top = np.uint64(values.start[slot]), np.uint64(values.top[slot])
    end = top_sum + (values.high[slot] + values.bound[slot]) * total
    target = uniform(rng) * (end + beyond)
    if target < top_sum:
        place = pick_in_list(values, begin, top, weights, target)
        k = np.uint64(values.topic[place])
    elif beyond > 0.0 and target >= end:
        k = EXTRA_TERM
    else:
        k = _draw_below_top(rng, values, slot, weights, total, beyond, top_sum, target)
    return k


@njit(cache=True, nogil=True)
def _draw_below_top(rng, values, slot, weights, total, beyond, top_sum, target):
    """`draw_topic` for a ``target`` between the sum of the top and the bound of the entries below.

    A candidate comes from the list or, with bound · weight_k, from all topics. The latter is
    accepted with probability value_k / bound, and never if k is listed. If it is rejected, or no
    entry is at the target, the next target may be anywhere. That is rejection sampling: exact for
    any bound.
    """
    begin, length = np.uint64(values.start[slot]), np.uint64(values.length[slot])
    list_sum = sum_on(values, begin, np.uint64(values.top[slot]), length, weights, top_sum)
    bound, first = values.bound[slot], slot * values.topics
    topics = list_sum + bound * total
    if target >= topics and values.high[slot] > 0.0:  # no entry is there
        target = uniform(rng) * (topics + beyond)
    for _ in range(32):
        if target < list_sum:
            place = pick_in_list(values, begin, length, weights, target)
            return np.uint64(values.topic[place])
        if beyond > 0.0 and target >= topics:
            return EXTRA_TERM
        k = pick_weight(weights, (target - list_sum) / bound)
        if k < values.topics:
            value = values.dense[first + k]
            if value <= bound and uniform(rng) * bound < value:
                return k
        target = uniform(rng) * (topics + beyond)
    # Nearly all candidates are rejected here: sum all products instead.
    return _draw_by_products(rng, values, slot, weights, beyond, weights_room(values.topics))


@njit(cache=True, nogil=True)
def _draw_by_products(rng, values, slot, weights, beyond, room):
    """`draw_topic` from all products, which are written to ``room``."""
    first = slot * values.topics
    for k in range(values.topics):
        room[k] = values.dense[first + k] * weights.weight[k]
    products = weights_in(room)
    total = sum_weights(products)
    target = uniform(rng) * (total + beyond)
    if beyond > 0.0 and target >= total:
        return EXTRA_TERM
    return pick_weight(products, target)


# ---- the large values of each word -------------------------------------------------------------


_WORDS = 4096  # whose lists are measured at a time
# Entries below these parts of a word's typical entry are not listed, in quick draws and others.
CUT_QUICK, CUT = 0.004, 0.0015
# In quick draws, words with this many tokens have longer lists; entries above a part are first.
OFTEN, CUT_OFTEN, CUT_TOP = 16, 0.001, 0.01


class Loadings(NamedTuple):
    """φ_wk = value_wk · scale_k, and for each word a list of its large values.

    ``value`` (R, V, K), ``scale`` (R, K). The list of word w = replicate · V + v holds exactly
    the topics with value > bound[w]; it has the places start[w] .. start[w] + length[w], with space
    up to start[w + 1], of ``topic`` and ``large``. The first ``top[w]`` of them are those above
    high[w]; most draws need these alone. The others begin at the next block of eight. A list
    without this division has all of its places at the top, and high[w] = 0.

    Loadings for a sampler that reads no lists have none: ``topic`` and ``large`` are empty.
    """

    value: np.ndarray
    scale: np.ndarray
    bound: np.ndarray
    start: np.ndarray
    length: np.ndarray
    high: np.ndarray
    top: np.ndarray
    topic: np.ndarray
    large: np.ndarray


def empty_loadings(
    word_counts, topics: int, eta: float, quick: bool = True, listed: bool = True
) -> Loadings:
    """Loadings with space for words that occur ``word_counts`` (R, V) times, to be filled; ``eta``
    is a typical number, or ∞ for space for all topics. There are no lists unless ``listed``.

    If the space does not suffice, the list gets shorter and the bound higher. This only affects
    speed. It suffices for the topics with counts and nearly always for the others.
    """
    replicates, vocabulary = word_counts.shape
    words, value = word_counts.ravel(), np.empty((replicates, vocabulary, topics))
    if not listed:
        return blank_loadings(value)
    others = np.full(words.size, _others(topics, eta, CUT_QUICK if quick else CUT))
    if quick:
        others[words >= OFTEN] = _others(topics, eta, CUT_OFTEN)
    room = padded(np.minimum(topics, np.minimum(words, topics) + others))
    if quick:
        room[words >= OFTEN] += 8  # between the parts of a list
    return blank_loadings(value, room)


def _others(topics, eta, cut):
    """How many of the topics without counts are listed, at most nearly always."""
    mean = topics * float(gammaincc(eta, cut))  # P(Gam(η, 1) > cut) for each
    return int(mean + 4.0 * math.sqrt(mean) + 8.0)


def blank_loadings(value, room=0) -> Loadings:
    """Loadings with empty lists; ``room`` is the space of each, in entries."""
    replicates, vocabulary, topics = value.shape
    words = replicates * vocabulary
    start = np.concatenate(([0], np.cumsum(np.broadcast_to(room, words), dtype=np.int64)))
    return Loadings(
        value,
        np.ones((replicates, topics)),
        np.zeros(words),
        start,
        np.zeros(words, np.int32),
        np.zeros(words),
        np.zeros(words, np.int32),
        np.zeros(start[-1], np.uint16),
        np.zeros(start[-1], np.float32),
    )


@njit(cache=True, nogil=True)
def list_large(row, cut, high, slot, loadings, places):
    """List the entries of ``row`` above ``cut``, or above the least bound for which they fit; those
    above ``high`` come first, unless it is 0.

    ``places`` is scratch of size K + 1.
    """
    begin, topics = loadings.start[slot], np.uint64(row.size)
    room = loadings.start[slot + 1] - begin - (8 if high > 0.0 else 0)
    bound, here = filled(np.empty(LANES), cut), pointer(row)
    while True:
        length = np.int64(find_above(here, _0, pointer(bound), _0, _0, topics, places, _0))
        if length <= room:
            break
        most = row[places[room]]
        for place in range(room + 1, length):
            most = max(most, row[places[place]])
        filled(bound, most)
    top, rest = np.int64(0), np.int64(0)
    for i in range(length):  # without a branch, which would be mispredicted
        k = places[i]
        loadings.topic[begin + top] = k
        loadings.large[begin + top] = row[k]
        places[rest] = k
        above = np.int64(row[k] > high)
        top += above
        rest += 1 - above
    for place in range(top, (top + 7) // 8 * 8):
        loadings.large[begin + place] = 0.0
    end = top
    if rest:
        end = (top + 7) // 8 * 8
        for i in range(rest):
            loadings.topic[begin + end] = places[i]
            loadings.large[begin + end] = row[places[i]]
            end += 1
        for place in range(end, (end + 7) // 8 * 8):
            loadings.large[begin + place] = 0.0
    loadings.bound[slot] = bound[0]
    loadings.length[slot] = end
    loadings.high[slot] = max(high, bound[0]) if rest else 0.0
    loadings.top[slot] = top


def loadings_of(phi, executor: Executor = SERIAL, listed: bool = True) -> Loadings:
    """The loadings of a given Φ (R, V, K), which is kept, not copied, unless a kernel could not
    take it."""
    if not phi.flags.carray:
        phi = phi.copy()
    if not listed:
        return blank_loadings(phi)
    replicates, vocabulary, _ = phi.shape
    room = np.empty((replicates, vocabulary), np.int64)
    for first in range(0, vocabulary, _WORDS):  # some at a time: Φ may take much of the memory
        part = phi[:, first : first + _WORDS]
        cut = CUT * (part * part).sum(axis=2) / np.maximum(part.sum(axis=2), 1e-300)
        room[:, first : first + _WORDS] = (part > cut[:, :, None]).sum(axis=2)
    out = blank_loadings(phi, padded(room.ravel()))
    executor.rows(list_words, out.length.size, 0, out)
    return out


def rebuild_loadings(value, scale, bound, listed: bool = True) -> Loadings:
    """Loadings (see there) from their values, scales and bounds: lists follow from these."""
    length = (value.reshape(-1, value.shape[2]) > bound[:, None]).sum(axis=1) if listed else 0
    out = blank_loadings(value, padded(length))
    out.scale[...] = scale
    out.bound[...] = bound
    if listed:
        _list_again(out)
    return out


@njit(cache=True, nogil=True)
def _list_again(loadings):
    """The lists of all words, given their bounds."""
    vocabulary, places = loadings.value.shape[1], np.empty(loadings.value.shape[2] + 1, np.uint64)
    for slot in range(loadings.length.size):
        row = loadings.value[slot // vocabulary, slot % vocabulary]
        list_large(row, loadings.bound[slot], 0.0, slot, loadings, places)


@njit(cache=True, nogil=True)
def list_words(key, start, stop, loadings):
    """The lists of words start..stop of replicates × V, from the values."""
    loadings = uncounted(loadings)
    vocabulary = loadings.value.shape[1]
    places = np.empty(loadings.value.shape[2] + 1, np.uint64)
    for slot in range(start, stop):
        row = loadings.value[slot // vocabulary, slot % vocabulary]
        squares = 0.0
        total = 1e-300
        for k in range(row.size):
            squares += row[k] * row[k]
            total += row[k]
        list_large(row, CUT * squares / total, 0.0, slot, loadings, places)


# ---- Φ given counts ----------------------------------------------------------------------------
#
#     φ_k ~ Dir(η + n_1k, …, η + n_Vk),   φ_wk = g_wk / Σ_w g_wk,   g_wk ~ Gam(η + n_wk, 1)
#
# A block of words has one stream. η may be a number, or an array (R or 1, V or 1, K or 1).


_FEW = 4  # counts for which exponentials are quicker than another gamma
_BLOCK = 64  # words a partial sum: fixed, so that sums do not depend on the threads


def _as_array(eta):
    """η as an array of three dims."""
    return np.asarray(eta, np.float64).reshape((1, 1, 1) if np.ndim(eta) == 0 else np.shape(eta))


@njit(cache=True, nogil=True)
def _fill_equal(rng, first, last, shape, equal, out):
    """Gammas of one shape η for the words first..last, into ``out`` (V, K)."""
    fill_equal(rng, equal, shape, last - first, first * out.shape[1], out.reshape(-1))


@njit(cache=True, nogil=True)
def _fill_varied(rng, first, last, own, different, ones, out):
    """Gammas of the shapes η for the words first..last, into ``out`` (V, K)."""
    topics, lines, columns = out.shape[1], own.shape[0], own.shape[1]  # 1 where η does not vary
    for line in range(min(lines, last - first)):
        for k in range(topics):
            different.shape[line, k] = own[min(first + line, lines - 1), min(k, columns - 1)]
    fill_rows(rng, different, last - first, ones, 0.0, first * topics, out.reshape(-1))


@njit(cache=True, nogil=True)
def _is_equal(own):
    """Whether `fill_equal` serves the shapes."""
    return own.size == 1 and EQUAL_SHAPES[0] <= own[0, 0] <= EQUAL_SHAPES[1]


@njit(cache=True, nogil=True, forceinline=True)
def _add_exponentials(rng, value, count):
    """Gam(a + n), given a ``value`` from Gam(a): value - ln u_1 - … - ln u_n."""
    product = uniform(rng)
    for _ in range(count - 1):
        product *= uniform(rng)
    return value - log(product)


@njit(cache=True, nogil=True)
def _draw_words(
    key, start, stop, n_wk, eta, blocks, sums, loadings, quick=True, varied=True, listed=True
):
    """Gammas and lists of the words of blocks start..stop, and the blocks' column sums.

    ``quick``, see `draw_loadings`, is None if gammas are not quick; ``varied`` if `fill_equal`
    serves every η; ``listed`` if there are no lists. Code for an argument that is None is not
    compiled.
    """
    loadings = uncounted(loadings)
    _, vocabulary, topics = n_wk.shape
    lines, columns = eta.shape[1], eta.shape[2]
    rng = new_rng()
    if quick is not None:
        room = equal_room(topics)
        equal = uncounted(room)
    if varied is not None:
        room_varied = workspace(min(lines, _BLOCK), topics, np.float64)
        different, ones = uncounted(room_varied), filled(np.empty(_BLOCK), 1.0)
    places = np.empty(topics + 1, np.uint64)
    for block in range(start, stop):
        replicate = block // blocks
        first = (block % blocks) * _BLOCK
        total = sums[block]
        filled(total, 0.0)
        last = min(first + _BLOCK, vocabulary)
        values = loadings.value[replicate]
        own = eta[min(replicate, eta.shape[0] - 1)]
        restart(rng, key, block)
        if quick is not None and (varied is None or _is_equal(own)):
            _fill_equal(rng, first, last, own[0, 0], equal, values)
        if varied is not None and (quick is None or not _is_equal(own)):
            _fill_varied(rng, first, last, own, different, ones, values)
        for w in range(first, last):
            counts, row = n_wk[replicate, w], values[w]
            prior = own[min(w, lines - 1)]
            squares = tokens = 0
            number = find_nonzero(pointer(counts), _0, np.uint64(topics), pointer(places))
            for place in range(number):
                k = np.int64(places[place])
                shape = prior[min(k, columns - 1)]
                if quick is not None and counts[k] <= _FEW:
                    row[k] = _add_exponentials(rng, row[k], counts[k])
                else:
                    row[k] = draw_gamma(rng, shape + counts[k])
                tokens += counts[k]
                squares += np.int64(counts[k]) * np.int64(counts[k])
            for k in range(topics):
                total[k] += row[k]
            slot = replicate * vocabulary + w
            if listed is not None:
                typical = max(1.0, squares / max(1.0, tokens))
                cut, top = (CUT if quick is None else CUT_QUICK) * typical, 0.0
                if quick is not None and tokens >= OFTEN:
                    cut, top = CUT_OFTEN * typical, CUT_TOP * typical
                list_large(row, cut, top, slot, loadings, places)
    if quick is not None:
        keep(room)
    if varied is not None:
        keep(room_varied)


def _draw(key, n_wk, eta, out, executor, quick):
    """Fill ``out.value`` and ``out.scale``, and lists if there is space for them."""
    replicates, vocabulary, topics = n_wk.shape
    blocks = -(-vocabulary // _BLOCK)
    sums = np.empty((replicates * blocks, topics))
    alike = quick and eta.shape[1:] == (1, 1)
    alike = alike and bool(np.all((EQUAL_SHAPES[0] <= eta) & (eta <= EQUAL_SHAPES[1])))
    wanted = (True if each else None for each in (quick, not alike, out.topic.size > 0))
    given = (n_wk, eta, blocks, sums, out, *wanted)
    executor.rows(_draw_words, replicates * blocks, key, *given)
    np.divide(1.0, sums.reshape(replicates, blocks, topics).sum(axis=1), out=out.scale)


def draw_loadings(
    key, n_wk, eta, out: Loadings, executor: Executor = SERIAL, quick: bool = True
) -> Loadings:
    """Draw Φ given the counts n_wk (R, V, K) into ``out``, as gammas, scales and lists; ``quick``:
    gammas of one η by `fill_equal`, and shorter lists."""
    eta = _as_array(eta)
    if _underflows(n_wk, eta):
        executor.rows(_draw_logs, n_wk.shape[0], key, n_wk, eta, out.value)
        out.scale[...] = 1.0
        if out.topic.size:
            executor.rows(list_words, out.length.size, key, out)
    else:
        _draw(key, n_wk, eta, out, executor, quick)
    return out


def draw_phi(key, n_wk, eta, out, executor: Executor = SERIAL):
    """Draw Φ given the counts n_wk (R, V, K) into ``out`` (R, V, K); columns sum to 1."""
    eta = _as_array(eta)
    if _underflows(n_wk, eta):
        executor.rows(_draw_logs, n_wk.shape[0], key, n_wk, eta, out)
        return out
    without_lists = blank_loadings(out)
    _draw(key, n_wk, eta, without_lists, executor, False)
    out *= without_lists.scale[:, None, :]
    return out


def _underflows(n_wk, eta):
    """Whether all gammas of a column without counts may be below 1e-300 (else: P < 1e-30)."""
    total = n_wk.shape[1] * eta if eta.shape[1] == 1 else eta.sum(axis=1)
    return total.min() < 0.1


@njit(cache=True, nogil=True)
def _draw_logs(key, start, stop, n_wk, eta, out):
    """Columns of replicates start..stop by logarithms, φ_w = exp(l_w - max l) / Σ exp(…).

    For a column without counts and Vη tiny, all gammas may underflow, their logarithms not.
    """
    _, vocabulary, topics = n_wk.shape
    rng = new_rng()
    for replicate in range(start, stop):
        phi = out[replicate]
        own = eta[min(replicate, eta.shape[0] - 1)]
        for w in range(vocabulary):
            restart(rng, key, replicate * vocabulary + w)
            prior = own[min(w, eta.shape[1] - 1)]
            for k in range(topics):
                shape = prior[min(k, eta.shape[2] - 1)] + n_wk[replicate, w, k]
                phi[w, k] = draw_log_gamma(rng, shape)
        for k in range(topics):
            top = -math.inf
            for w in range(vocabulary):
                top = max(top, phi[w, k])
            total = 0.0
            for w in range(vocabulary):
                # Equal to the top first: -inf minus -inf is not a number.
                phi[w, k] = 1.0 if phi[w, k] == top else exp(phi[w, k] - top)
                total += phi[w, k]
            for w in range(vocabulary):
                phi[w, k] /= total
