"""The large values of each word, listed: what a label needs of Φ.

    φ_wk = value_wk · scale_k

A word has few large values; lists of these are short enough for the caches, where Φ is not. Lists
are read one value after another; where values are looked up by their topics, all of them are coded
in their place (`value_codes`).
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import number_of
from pgbn.samplers.executor import SERIAL, Executor
from pgbn.samplers.first_layer.tokens import RowPriors
from pgbn.samplers.first_layer.topic_lists import padded
from pgbn.samplers.from_numba import intrinsic, ir, types
from pgbn.samplers.lanes import (
    LANES,
    add_product,
    filled,
    find_above,
    lanes_of,
    last,
    load_lanes,
    pointer,
    running_sum,
    zeros,
)
from pgbn.samplers.uncounted import uncounted

# ---- value codes --------------------------------------------------------------------------------
#
# The values of a word as bytes: bounds that are at most a sixteenth too large.
#
#     value_wk < u(c_wk) 2^e_w,   and u(c - 1) 2^e_w <= value_wk where c > 0
#
# A byte c = 16 q + j stands for the first binary digits of value / 2^e_w, (1 + j / 16) 2^q; u(c)
# is the next larger such number. Values 2^16 times smaller than a word's largest one have c = 0.
# The bytes of a word fill a few lines of the cache, where the values fill eight times as many. A
# topic that is proposed by u in place of the values is accepted with probability value / (u 2^e):
# rejection sampling, exact for any codes, and nearly always without a look at the value.


GROUP = 32  # topics whose prior weights are summed together
_0, _1, _16, _32 = np.uint64(0), np.uint64(1), np.uint64(LANES), np.uint64(GROUP)
_48, _52 = np.uint64(48), np.uint64(52)
_LEAST, _MOST = np.int16(0), np.int16(255)
_ONE, _STEP = (
    0x3F800000,
    19,
)  # the bits of the single 1, and where its digits after the fourth begin


class Codes(NamedTuple):
    """``byte[w, k]`` is c_wk for word w = replicate · V + v, ``unit[w]`` is 2^e_w. Lines of bytes
    are filled up to a multiple of sixteen, with 0."""

    byte: np.ndarray
    unit: np.ndarray


def blank_codes(words: int, topics: int) -> Codes:
    """Room for the codes of so many words."""
    return Codes(np.zeros((words, -(-topics // LANES) * LANES), np.uint8), np.ones(words))


@njit(cache=True, nogil=True, forceinline=True)
def encode_word(bits, slot, codes, first_bits):
    """The codes of a word, from the ``bits`` of the values of all words; ``first_bits`` is scratch
    for as many numbers of 16 bits as there are topics."""
    topics, size = np.uint64(first_bits.size), np.uint64(codes.byte.shape[1])
    begin, at = np.uint64(slot) * topics, np.uint64(slot) * size
    numbers, first, byte = pointer(bits), pointer(first_bits), pointer(codes.byte)
    for k in range(topics):  # of a double: sign, exponent, four digits
        first[k] = np.int16(numbers[begin + k] >> _48)
    most = np.int16(0)
    for k in range(topics):
        most = max(most, first[k])
    exponent = max((np.int32(most) >> 4) - 15, 1)  # numbers with exponent 0 have another form
    least = np.int16(exponent << 4)
    for k in range(topics):
        byte[at + k] = np.uint8(min(max(np.int16(first[k] - least), _LEAST), _MOST))
    codes.unit[slot] = number_of(np.uint64(exponent) << _52)


@njit(cache=True, nogil=True)
def bounds_table():
    """u(c) at place c + 1, and 0 at place 0: the number at c is not above the value / 2^e."""
    table = np.empty(257)
    table[0] = 0.0
    for c in range(1, 257):
        table[c] = number_of(np.uint32(_ONE + (c << _STEP)))
    return table


@intrinsic
def bounds_of(typing_context, byte, index):
    """u(byte[index]), … u(byte[index + 15]), as singles."""

    def code(context, builder, signature, arguments):
        numbers, bytes_ = ir.VectorType(ir.IntType(32), LANES), ir.VectorType(ir.IntType(8), LANES)
        place = builder.bitcast(builder.gep(arguments[0], [arguments[1]]), bytes_.as_pointer())
        steps = builder.zext(builder.load(place, align=1), numbers)
        shifted = builder.shl(steps, ir.Constant(numbers, [_STEP] * LANES))
        first = ir.Constant(numbers, [_ONE + (1 << _STEP)] * LANES)
        return builder.bitcast(builder.add(shifted, first), ir.VectorType(ir.FloatType(), LANES))

    return lanes_of(types.float32)(byte, types.uint64), code


def prior_sums(
    loadings, priors: RowPriors, documents: int, executor: Executor = SERIAL
) -> np.ndarray:
    """Σ_k u(c_wk) a_k scale_k of each word of coded `Loadings`, where all rows share the prior:
    running sums over groups of 32 topics, the last one over all."""
    words, bytes_ = loadings.byte.shape
    out = np.empty((words, -(-bytes_ // GROUP)), np.float32)
    given = (loadings.byte, loadings.scale, priors, documents, out)
    executor.rows(_sum_priors, words, 0, *given)
    return out


@njit(cache=True, nogil=True)
def _sum_priors(key, start, stop, byte, scale, priors, documents, out):
    """`prior_sums` of words start..stop."""
    replicates, topics = scale.shape
    vocabulary, size = byte.shape[0] // replicates, np.uint64(byte.shape[1])
    smooth, before = np.zeros(byte.shape[1], np.float32), -1
    here, weights = pointer(byte), pointer(smooth)
    for slot in range(start, stop):
        replicate = slot // vocabulary
        if replicate != before:
            shape = priors.shape[replicate * documents // priors.share]
            for k in range(topics):
                smooth[k] = shape[k] * scale[replicate, k]
            before = replicate
        begin, total, k = np.uint64(slot) * size, np.float32(0.0), _0
        for group in range(out.shape[1]):
            lanes = zeros(smooth)
            end = min(k + _32, size)
            while k < end:
                lanes = add_product(lanes, bounds_of(here, begin + k), load_lanes(weights, k))
                k += _16
            total += last(running_sum(lanes))
            out[slot, group] = total
    smooth[0] = 0.0  # used after its pointer, which does not keep it


# ---- value lists --------------------------------------------------------------------------------


_0 = np.uint64(0)
_WORDS = 4096  # whose lists are measured at a time
# Entries below these parts of a word's typical entry are not listed: of quick draws, of others.
CUT_QUICK, CUT = 0.004, 0.0015
# In quick draws, words with so many tokens have longer lists, with entries above a part at the top.
OFTEN, CUT_OFTEN, CUT_TOP = 16, 0.001, 0.01


class Loadings(NamedTuple):
    """φ_wk = value_wk · scale_k, and for each word a list of its large values (see `topic_lists`).

    ``value`` (R, V, K), ``scale`` (R, K). The list of word w = replicate · V + v holds exactly
    the topics with value > bound[w]; it has the places start[w] .. start[w] + length[w], with
    room up to start[w + 1], of ``topic`` and ``large``. The first ``top[w]`` of them are those
    above high[w], which most draws need alone, and the others begin at the next block of eight; a
    list that is not divided so has all of its places at the top, and high[w] = 0.

    Coded loadings have no lists but ``byte`` and ``unit`` (see `Codes`), which others do not have.
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
    byte: np.ndarray
    unit: np.ndarray


def empty_loadings(
    word_counts, topics: int, eta: float, quick: bool = True, coded: bool = False
) -> Loadings:
    """Loadings with room for words that occur ``word_counts`` (R, V) times, to be filled; ``eta``
    is a typical number, or ∞ for room for all topics.

    Where the room does not suffice, the list gets shorter and the bound higher: a matter of
    speed only. It suffices for the topics with counts and nearly always for the others.
    """
    replicates, vocabulary = word_counts.shape
    words, value = word_counts.ravel(), np.empty((replicates, vocabulary, topics))
    if coded:
        return coded_loadings(value)
    others = np.full(words.size, _others(topics, eta, CUT_QUICK if quick else CUT))
    if quick:
        others[words >= OFTEN] = _others(topics, eta, CUT_OFTEN)
    room = padded(np.minimum(topics, np.minimum(words, topics) + others))
    if quick:
        room[words >= OFTEN] += 8  # between the parts of a list
    return blank_loadings(value, np.concatenate(([0], np.cumsum(room))))


def _others(topics, eta, cut):
    """How many of the topics without counts are listed, at most nearly always."""
    mean = topics * float(gammaincc(eta, cut))  # P(Gam(η, 1) > cut) for each
    return int(mean + 4.0 * math.sqrt(mean) + 8.0)


def blank_loadings(value, start, codes: Codes | None = None) -> Loadings:
    """Loadings with empty lists, whose rooms begin at ``start``."""
    replicates, vocabulary, topics = value.shape
    words = replicates * vocabulary
    return Loadings(
        value,
        np.empty((replicates, topics)),
        np.zeros(words),
        start,
        np.zeros(words, np.int32),
        np.zeros(words),
        np.zeros(words, np.int32),
        np.zeros(start[-1], np.uint16),
        np.zeros(start[-1], np.float32),
        *(codes or blank_codes(0, topics)),
    )


def coded_loadings(value) -> Loadings:
    """Loadings whose codes are to be filled."""
    replicates, vocabulary, topics = value.shape
    words = replicates * vocabulary
    return blank_loadings(value, np.zeros(words + 1, np.int64), blank_codes(words, topics))


@njit(cache=True, nogil=True)
def list_large(row, cut, high, slot, loadings, places):
    """List the entries of ``row`` above ``cut``, or above the least bound that leaves room; those
    above ``high`` first, unless it is 0.

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
    for i in range(length):  # without a branch, which would be guessed wrongly
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


def loadings_of(phi, executor: Executor = SERIAL, coded: bool = False) -> Loadings:
    """The loadings of a given Φ (R, V, K), which is kept, not copied, unless a kernel could not
    take it."""
    if not phi.flags.carray:
        phi = phi.copy()
    if coded:
        out = coded_loadings(phi)
        out.scale[...] = 1.0
        executor.rows(code_words, out.unit.size, 0, out)
        return out
    replicates, vocabulary, _ = phi.shape
    room = np.empty((replicates, vocabulary), np.int64)
    for first in range(0, vocabulary, _WORDS):  # some at a time: Φ may take much of the memory
        part = phi[:, first : first + _WORDS]
        cut = CUT * (part * part).sum(axis=2) / np.maximum(part.sum(axis=2), 1e-300)
        room[:, first : first + _WORDS] = (part > cut[:, :, None]).sum(axis=2)
    room = padded(room.ravel())
    out = blank_loadings(phi, np.concatenate(([0], np.cumsum(room))))
    out.scale[...] = 1.0
    executor.rows(list_words, out.length.size, 0, out)
    return out


def rebuild_loadings(value, scale, bound, coded: bool = False) -> Loadings:
    """Loadings (see there) from their values, scales and bounds: lists and codes follow from
    these."""
    if coded:
        out = coded_loadings(value)
        code_words(np.uint64(0), 0, out.unit.size, out)
    else:
        length = (value.reshape(-1, value.shape[2]) > bound[:, None]).sum(axis=1)
        out = blank_loadings(value, np.concatenate(([0], np.cumsum(padded(length)))))
        out.bound[...] = bound
        _list_again(out)
    out.scale[...] = scale
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


@njit(cache=True, nogil=True)
def code_words(key, start, stop, loadings):
    """The codes of words start..stop of replicates × V, from the values."""
    bits = loadings.value.view(np.uint64)
    first_bits = np.empty(bits.shape[2], np.int16)
    for slot in range(start, stop):
        encode_word(bits, slot, loadings, first_bits)
