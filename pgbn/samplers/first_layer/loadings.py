"""Topics given counts: every column of Φ from its Dirichlet.

    φ_k ~ Dir(η + n_1k, …, η + n_Vk),   φ_wk = g_wk / Σ_w g_wk,   g_wk ~ Gam(η + n_wk, 1)

A block of words has one stream. η may be a number, or an array (R or 1, V or 1, K or 1).
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import exp
from pgbn.samplers.executor import SERIAL, Executor
from pgbn.samplers.first_layer.topic_lists import padded
from pgbn.samplers.random import restart
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
_CUT = 0.0015  # entries below this part of a word's typical entry are not listed


class Loadings(NamedTuple):
    """φ_wk = value_wk · scale_k, and for each word a list of its large values (see `topic_lists`).

    ``value`` (R, V, K), ``scale`` (R, K). The list of word w = replicate · V + v holds exactly
    the topics with value > bound[w]; it has the places start[w] .. start[w] + length[w], with
    room up to start[w + 1], of ``topic`` and ``large``.
    """

    value: np.ndarray
    scale: np.ndarray
    bound: np.ndarray
    start: np.ndarray
    length: np.ndarray
    topic: np.ndarray
    large: np.ndarray


def _as_array(eta):
    """η as an array of three dims."""
    return np.asarray(eta, np.float64).reshape((1, 1, 1) if np.ndim(eta) == 0 else np.shape(eta))


def empty_loadings(word_counts, topics: int, eta: float) -> Loadings:
    """Loadings with room for words that occur ``word_counts`` (R, V) times, to be filled; ``eta``
    is a typical number, or ∞ for room for all topics.

    Where the room does not suffice, the list gets shorter and the bound higher: a matter of
    speed only. It suffices for the topics with counts and nearly always for the others.
    """
    replicates, vocabulary = word_counts.shape
    others = topics * float(gammaincc(eta, _CUT))  # P(Gam(η, 1) > cut) for each
    others = int(others + 4.0 * math.sqrt(others) + 8.0)
    room = padded(np.minimum(topics, np.minimum(word_counts.ravel(), topics) + others))
    value = np.empty((replicates, vocabulary, topics))
    return _blank(value, np.concatenate(([0], np.cumsum(room))))


def _blank(value, start):
    replicates, vocabulary, topics = value.shape
    return Loadings(
        value,
        np.empty((replicates, topics)),
        np.empty(replicates * vocabulary),
        start,
        np.zeros(replicates * vocabulary, np.int32),
        np.zeros(start[-1], np.uint16),
        np.zeros(start[-1], np.float32),
    )


@njit(cache=True, nogil=True)
def _list_large(row, cut, slot, loadings, places):
    """List the entries of ``row`` above ``cut``, or above the least bound that leaves room.

    ``places`` is scratch of size K + 1.
    """
    begin = loadings.start[slot]
    room = loadings.start[slot + 1] - begin
    bound = cut
    while True:
        # Without a branch, which would be guessed wrongly at every entry that is listed.
        length = 0
        for k in range(row.size):
            places[length] = k
            length += np.int64(row[k] > bound)
        if length <= room:
            break
        bound = row[places[room]]
        for place in range(room + 1, length):
            bound = max(bound, row[places[place]])
    for place in range(length):
        loadings.topic[begin + place] = places[place]
        loadings.large[begin + place] = row[places[place]]
    for place in range(length, (length + 7) // 8 * 8):
        loadings.large[begin + place] = 0.0
    loadings.bound[slot] = bound
    loadings.length[slot] = length


@njit(cache=True, nogil=True)
def _draw_words(key, start, stop, n_wk, eta, blocks, sums, loadings):
    """Gammas and lists of the words of blocks start..stop, and the blocks' column sums."""
    _, vocabulary, topics = n_wk.shape
    lines, columns = eta.shape[1], eta.shape[2]  # 1 where η does not vary
    rng = np.empty(2, np.uint64)
    work, once = workspace(min(lines, _BLOCK), topics, np.float64), np.ones(_BLOCK)
    places = np.empty(topics + 1, np.int32)
    for block in range(start, stop):
        replicate = block // blocks
        first = (block % blocks) * _BLOCK
        total = sums[block]
        total[:] = 0.0
        last = min(first + _BLOCK, vocabulary)
        values = loadings.value[replicate]
        flat = values.reshape(-1)
        own = eta[min(replicate, eta.shape[0] - 1)]
        for line in range(min(lines, last - first)):
            for k in range(topics):
                work.shape[line, k] = own[min(first + line, lines - 1), min(k, columns - 1)]
        restart(rng, key, block)
        fill_rows(rng, work, last - first, once, 0.0, first * topics, flat)
        for w in range(first, last):
            slot = replicate * vocabulary + w
            counts, row = n_wk[replicate, w], values[w]
            prior = own[min(w, lines - 1)]
            for k in range(topics):
                if counts[k] > 0:
                    row[k] = draw_gamma(rng, prior[min(k, columns - 1)] + counts[k])
            squares = tokens = 0  # integers: their sums may be vectorised
            for k in range(topics):
                total[k] += row[k]
                tokens += counts[k]
                squares += np.int64(counts[k]) * np.int64(counts[k])
            typical = max(1.0, squares / max(1.0, tokens))
            _list_large(row, _CUT * typical, slot, loadings, places)


def _draw(key, n_wk, eta, out, executor):
    """Fill ``out.value`` and ``out.scale``, and the lists where there is room for any."""
    replicates, vocabulary, topics = n_wk.shape
    blocks = -(-vocabulary // _BLOCK)
    sums = np.empty((replicates * blocks, topics))
    executor.rows(_draw_words, replicates * blocks, key, n_wk, eta, blocks, sums, out)
    np.divide(1.0, sums.reshape(replicates, blocks, topics).sum(axis=1), out=out.scale)


def draw_loadings(key, n_wk, eta, out: Loadings, executor: Executor = SERIAL) -> Loadings:
    """Draw Φ given the counts n_wk (R, V, K) into ``out``, as gammas, scales and lists."""
    eta = _as_array(eta)
    if _underflows(n_wk, eta):
        executor.rows(_draw_logs, n_wk.shape[0], key, n_wk, eta, out.value)
        out.scale[...] = 1.0
        executor.rows(_list_words, out.length.size, key, out)
    else:
        _draw(key, n_wk, eta, out, executor)
    return out


def draw_phi(key, n_wk, eta, out, executor: Executor = SERIAL):
    """Draw Φ given the counts n_wk (R, V, K) into ``out`` (R, V, K); columns sum to 1."""
    eta = _as_array(eta)
    if _underflows(n_wk, eta):
        executor.rows(_draw_logs, n_wk.shape[0], key, n_wk, eta, out)
        return out
    words = n_wk.shape[0] * n_wk.shape[1]
    without_lists = _blank(out, np.zeros(words + 1, np.int64))
    _draw(key, n_wk, eta, without_lists, executor)
    out *= without_lists.scale[:, None, :]
    return out


def loadings_of(phi, executor: Executor = SERIAL) -> Loadings:
    """The loadings of a given Φ (R, V, K), which is kept, not copied."""
    cut = _CUT * (phi * phi).sum(axis=2) / np.maximum(phi.sum(axis=2), 1e-300)
    room = padded((phi > cut[:, :, None]).sum(axis=2).ravel())
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
    return out


def _underflows(n_wk, eta):
    """Whether all gammas of a column without counts may be below 1e-300 (else: P < 1e-30)."""
    total = n_wk.shape[1] * eta if eta.shape[1] == 1 else eta.sum(axis=1)
    return total.min() < 0.1


@njit(cache=True, nogil=True)
def _list_words(key, start, stop, loadings):
    """The lists of words start..stop of replicates × V, from the values."""
    vocabulary = loadings.value.shape[1]
    places = np.empty(loadings.value.shape[2] + 1, np.int32)
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
