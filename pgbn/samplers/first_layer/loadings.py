"""Topics given counts: every column of Φ from its Dirichlet.

    φ_k ~ Dir(η + n_1k, …, η + n_Vk),   φ_wk = g_wk / Σ_w g_wk,   g_wk ~ Gam(η + n_wk, 1)

A block of words has one stream. η may be a number, or an array (R or 1, V or 1, K or 1).
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import bits_of, exp
from pgbn.samplers.executor import SERIAL, Executor
from pgbn.samplers.first_layer.topic_lists import padded
from pgbn.samplers.random import restart
from pgbn.samplers.simd.lanes import LANES, pointer
from pgbn.samplers.simd.places import find_above, find_nonzero
from pgbn.samplers.variates.equal_gammas import EQUAL_SHAPES, fill_equal
from pgbn.samplers.variates.gamma import draw_gamma, draw_log_gamma
from pgbn.samplers.variates.row_gammas import fill_rows, workspace

__all__ = [
    "Loadings",
    "draw_loadings",
    "draw_phi",
    "empty_loadings",
    "loadings_of",
    "rebuild_loadings",
]

_BLOCK = 64  # words a partial sum: fixed, so that sums do not depend on the threads
_WORDS = 4096  # whose lists are measured at a time
_0, _1, _23 = np.uint64(0), np.uint32(1), np.uint32(23)
# Entries below these parts of a word's typical entry are not listed: of quick draws, of others.
_CUT_QUICK, _CUT = 0.004, 0.0015


class Loadings(NamedTuple):
    """φ_wk = value_wk · scale_k, and for each word a list of its large values (see `topic_lists`).

    ``value`` (R, V, K), ``scale`` (R, K). The list of word w = replicate · V + v holds exactly
    the topics with value > bound[w]; it has the places start[w] .. start[w] + length[w], with
    room up to start[w + 1], of ``topic`` and ``large``. ``level`` (R · V, K) tells of a value what
    can be known without reading it: 0 if it is listed, else it is below 2^(level - 126).
    """

    value: np.ndarray
    scale: np.ndarray
    bound: np.ndarray
    start: np.ndarray
    length: np.ndarray
    topic: np.ndarray
    large: np.ndarray
    level: np.ndarray


def _as_array(eta):
    """η as an array of three dims."""
    return np.asarray(eta, np.float64).reshape((1, 1, 1) if np.ndim(eta) == 0 else np.shape(eta))


def empty_loadings(word_counts, topics: int, eta: float, quick: bool = True) -> Loadings:
    """Loadings with room for words that occur ``word_counts`` (R, V) times, to be filled; ``eta``
    is a typical number, or ∞ for room for all topics.

    Where the room does not suffice, the list gets shorter and the bound higher: a matter of
    speed only. It suffices for the topics with counts and nearly always for the others.
    """
    replicates, vocabulary = word_counts.shape
    others = topics * float(
        gammaincc(eta, _CUT_QUICK if quick else _CUT)
    )  # P(Gam(η, 1) > cut) for each
    others = int(others + 4.0 * math.sqrt(others) + 8.0)
    room = padded(np.minimum(topics, np.minimum(word_counts.ravel(), topics) + others))
    value = np.empty((replicates, vocabulary, topics))
    return _blank(value, np.concatenate(([0], np.cumsum(room))))


def _blank(value, start, levels=True):
    replicates, vocabulary, topics = value.shape
    return Loadings(
        value,
        np.empty((replicates, topics)),
        np.empty(replicates * vocabulary),
        start,
        np.zeros(replicates * vocabulary, np.int32),
        np.zeros(start[-1], np.uint16),
        np.zeros(start[-1], np.float32),
        np.empty((replicates * vocabulary, topics if levels else 0), np.uint8),
    )


@njit(cache=True, nogil=True)
def _list_large(row, cut, slot, loadings, places):
    """List the entries of ``row`` above ``cut``, or above the least bound that leaves room.

    ``places`` is scratch of size K + 1.
    """
    begin, topics = loadings.start[slot], np.uint64(row.size)
    room = loadings.start[slot + 1] - begin
    bound, here = np.full(LANES, cut), pointer(row)
    while True:
        length = np.int64(find_above(here, _0, pointer(bound), _0, _0, topics, places, _0))
        if length <= room:
            break
        most = row[places[room]]
        for place in range(room + 1, length):
            most = max(most, row[places[place]])
        bound[:] = most
    level = loadings.level[slot]
    for k in range(row.size):
        level[k] = max(bits_of(np.float32(row[k])) >> _23, _1)
    for place in range(length):
        k = places[place]
        loadings.topic[begin + place] = k
        loadings.large[begin + place] = row[k]
        level[k] = 0
    for place in range(length, (length + 7) // 8 * 8):
        loadings.large[begin + place] = 0.0
    loadings.bound[slot] = bound[0]
    loadings.length[slot] = length


@njit(cache=True, nogil=True)
def _fill_block(rng, first, last, own, quick, equal, different, out):
    """Gammas of the prior shapes η for the words first..last, into ``out`` (V, K); ``quick``: see
    `draw_loadings`."""
    topics, lines, columns = out.shape[1], own.shape[0], own.shape[1]  # 1 where η does not vary
    flat = out.reshape(-1)
    if quick and lines == columns == 1 and EQUAL_SHAPES[0] <= own[0, 0] <= EQUAL_SHAPES[1]:
        fill_equal(rng, equal, own[0, 0], last - first, first * topics, flat)
        return
    for line in range(min(lines, last - first)):
        for k in range(topics):
            different.shape[line, k] = own[min(first + line, lines - 1), min(k, columns - 1)]
    fill_rows(rng, different, last - first, np.ones(_BLOCK), 0.0, first * topics, flat)


@njit(cache=True, nogil=True)
def _draw_words(key, start, stop, n_wk, eta, blocks, quick, sums, loadings):
    """Gammas and lists of the words of blocks start..stop, and the blocks' column sums."""
    _, vocabulary, topics = n_wk.shape
    lines, columns = eta.shape[1], eta.shape[2]
    rng = np.empty(2, np.uint64)
    equal = workspace(1, topics, np.float32)
    different = workspace(min(lines, _BLOCK), topics, np.float64)
    places, cut = np.empty(topics + 1, np.uint64), _CUT_QUICK if quick else _CUT
    for block in range(start, stop):
        replicate = block // blocks
        first = (block % blocks) * _BLOCK
        total = sums[block]
        total[:] = 0.0
        last = min(first + _BLOCK, vocabulary)
        values = loadings.value[replicate]
        own = eta[min(replicate, eta.shape[0] - 1)]
        restart(rng, key, block)
        _fill_block(rng, first, last, own, quick, equal, different, values)
        for w in range(first, last):
            counts, row = n_wk[replicate, w], values[w]
            prior = own[min(w, lines - 1)]
            squares = tokens = 0
            number = find_nonzero(pointer(counts), _0, np.uint64(topics), pointer(places))
            for place in range(number):
                k = np.int64(places[place])
                row[k] = draw_gamma(rng, prior[min(k, columns - 1)] + counts[k])
                tokens += counts[k]
                squares += np.int64(counts[k]) * np.int64(counts[k])
            for k in range(topics):
                total[k] += row[k]
            if loadings.level.size:
                typical = max(1.0, squares / max(1.0, tokens))
                slot = replicate * vocabulary + w
                _list_large(row, cut * typical, slot, loadings, places)


def _draw(key, n_wk, eta, out, executor, quick):
    """Fill ``out.value`` and ``out.scale``, and the lists where there is room for any."""
    replicates, vocabulary, topics = n_wk.shape
    blocks = -(-vocabulary // _BLOCK)
    sums = np.empty((replicates * blocks, topics))
    executor.rows(_draw_words, replicates * blocks, key, n_wk, eta, blocks, quick, sums, out)
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
        executor.rows(_list_words, out.length.size, key, out)
    else:
        _draw(key, n_wk, eta, out, executor, quick)
    return out


def draw_phi(key, n_wk, eta, out, executor: Executor = SERIAL):
    """Draw Φ given the counts n_wk (R, V, K) into ``out`` (R, V, K); columns sum to 1."""
    eta = _as_array(eta)
    if _underflows(n_wk, eta):
        executor.rows(_draw_logs, n_wk.shape[0], key, n_wk, eta, out)
        return out
    words = n_wk.shape[0] * n_wk.shape[1]
    without_lists = _blank(out, np.zeros(words + 1, np.int64), levels=False)
    _draw(key, n_wk, eta, without_lists, executor, False)
    out *= without_lists.scale[:, None, :]
    return out


def loadings_of(phi, executor: Executor = SERIAL) -> Loadings:
    """The loadings of a given Φ (R, V, K), which is kept, not copied, unless a kernel could not
    take it."""
    if not phi.flags.carray:
        phi = phi.copy()
    replicates, vocabulary, _ = phi.shape
    room = np.empty((replicates, vocabulary), np.int64)
    for first in range(0, vocabulary, _WORDS):  # some at a time: Φ may take much of the memory
        part = phi[:, first : first + _WORDS]
        cut = _CUT * (part * part).sum(axis=2) / np.maximum(part.sum(axis=2), 1e-300)
        room[:, first : first + _WORDS] = (part > cut[:, :, None]).sum(axis=2)
    room = padded(room.ravel())
    out = _blank(phi, np.concatenate(([0], np.cumsum(room))))
    out.scale[...] = 1.0
    executor.rows(_list_words, out.length.size, 0, out)
    return out


def rebuild_loadings(value, scale, bound) -> Loadings:
    """Loadings (see there) from their values, scales and bounds: the lists follow from these."""
    topics = value.shape[2]
    slot, topic = np.nonzero(value.reshape(-1, topics) > bound[:, None])
    length = np.bincount(slot, minlength=bound.size)
    out = _blank(value, np.concatenate(([0], np.cumsum(padded(length)))))
    before = np.cumsum(length) - length
    place = out.start[slot] + np.arange(slot.size) - before[slot]
    out.topic[place] = topic
    out.large[place] = value.reshape(-1, topics)[slot, topic]
    out.scale[...], out.bound[...], out.length[...] = scale, bound, length
    exponents = value.reshape(-1, topics).astype(np.float32).view(np.uint32) >> 23
    out.level[...] = np.maximum(exponents, 1)
    out.level[slot, topic] = 0
    return out


def _underflows(n_wk, eta):
    """Whether all gammas of a column without counts may be below 1e-300 (else: P < 1e-30)."""
    total = n_wk.shape[1] * eta if eta.shape[1] == 1 else eta.sum(axis=1)
    return total.min() < 0.1


@njit(cache=True, nogil=True)
def _list_words(key, start, stop, loadings):
    """The lists of words start..stop of replicates × V, from the values."""
    vocabulary = loadings.value.shape[1]
    places = np.empty(loadings.value.shape[2] + 1, np.uint64)
    for slot in range(start, stop):
        row = loadings.value[slot // vocabulary, slot % vocabulary]
        squares = 0.0
        total = 1e-300
        for k in range(row.size):
            squares += row[k] * row[k]
            total += row[k]
        _list_large(row, _CUT * squares / total, slot, loadings, places)


@njit(cache=True, nogil=True)
def _draw_logs(key, start, stop, n_wk, eta, out):
    """Columns of replicates start..stop by logarithms, φ_w = exp(l_w - max l) / Σ exp(…).

    For a column without counts and Vη tiny, all gammas may underflow, their logarithms not.
    """
    _, vocabulary, topics = n_wk.shape
    rng = np.empty(2, np.uint64)
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
                phi[w, k] = exp(phi[w, k] - top)
                total += phi[w, k]
            for w in range(vocabulary):
                phi[w, k] /= total
