"""The large values of each word, listed: the part of Φ that a label needs.

    φ_wk = value_wk · scale_k

A word has few large values; lists of these fit into the caches, but Φ does not.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc

from pgbn.samplers.compiled import njit
from pgbn.samplers.executor import SERIAL, Executor
from pgbn.samplers.first_layer.topic_lists import padded
from pgbn.samplers.lanes import LANES, filled, find_above, pointer
from pgbn.samplers.uncounted import uncounted

_0 = np.uint64(0)
_WORDS = 4096  # whose lists are measured at a time
# Entries below these parts of a word's typical entry are not listed, in quick draws and others.
CUT_QUICK, CUT = 0.004, 0.0015
# In quick draws, words with this many tokens have longer lists; entries above a part are first.
OFTEN, CUT_OFTEN, CUT_TOP = 16, 0.001, 0.01


class Loadings(NamedTuple):
    """φ_wk = value_wk · scale_k, and for each word a list of its large values (see `topic_lists`).

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
