"""Topics given counts: every column of Φ from its Dirichlet.

    φ_k ~ Dir(η + n_1k, …, η + n_Vk),   φ_wk = g_wk / Σ_w g_wk,   g_wk ~ Gam(η + n_wk, 1)

A block of words has one stream. η may be a number, or an array (R or 1, V or 1, K or 1).
"""

import math

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import exp, log
from pgbn.samplers.executor import SERIAL, Executor
from pgbn.samplers.filled import filled
from pgbn.samplers.first_layer.value_codes import encode_word
from pgbn.samplers.first_layer.value_lists import (
    CUT,
    CUT_OFTEN,
    CUT_QUICK,
    CUT_TOP,
    OFTEN,
    Loadings,
    blank_loadings,
    code_words,
    list_large,
    list_words,
)
from pgbn.samplers.random import restart, uniform
from pgbn.samplers.simd.lanes import pointer
from pgbn.samplers.simd.places import find_nonzero
from pgbn.samplers.uncounted import keep, uncounted
from pgbn.samplers.variates.equal_gammas import EQUAL_SHAPES, equal_room, fill_equal
from pgbn.samplers.variates.gamma import draw_gamma, draw_log_gamma
from pgbn.samplers.variates.row_gammas import fill_rows, workspace

__all__ = ["draw_loadings", "draw_phi"]

_FEW = 4  # counts for which exponentials are quicker than another gamma
_BLOCK = 64  # words a partial sum: fixed, so that sums do not depend on the threads
_0 = np.uint64(0)


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
    key, start, stop, n_wk, eta, blocks, sums, loadings,
    quick=True, varied=True, listed=True, coded=None,
):  # fmt: skip
    """Gammas and lists, or codes, of the words of blocks start..stop, and the blocks' column sums.

    ``quick``, see `draw_loadings`, is None where gammas are not; ``varied`` where every η is a
    number that `fill_equal` serves; ``listed`` where there are no lists, ``coded`` where there are
    no codes. What is None is not compiled.
    """
    loadings = uncounted(loadings)
    _, vocabulary, topics = n_wk.shape
    lines, columns = eta.shape[1], eta.shape[2]
    rng = np.empty(2, np.uint64)
    if quick is not None:
        room = equal_room(topics)
        equal = uncounted(room)
    if varied is not None:
        room_varied = workspace(min(lines, _BLOCK), topics, np.float64)
        different, ones = uncounted(room_varied), filled(np.empty(_BLOCK), 1.0)
    if coded is not None:
        bits, first_bits = loadings.value.view(np.uint64), np.empty(topics, np.int16)
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
            if coded is not None:
                encode_word(bits, slot, loadings, first_bits)
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
    """Fill ``out.value`` and ``out.scale``, and lists or codes where there is room for them."""
    replicates, vocabulary, topics = n_wk.shape
    blocks = -(-vocabulary // _BLOCK)
    sums = np.empty((replicates * blocks, topics))
    alike = quick and eta.shape[1:] == (1, 1)
    alike = alike and bool(np.all((EQUAL_SHAPES[0] <= eta) & (eta <= EQUAL_SHAPES[1])))
    asked = (quick, not alike, out.topic.size > 0, out.byte.size > 0)
    wanted = (True if each else None for each in asked)
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
        executor.rows(code_words if out.byte.size else list_words, out.length.size, key, out)
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
    without_lists = blank_loadings(out, np.zeros(words + 1, np.int64))
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
