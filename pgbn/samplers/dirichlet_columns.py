"""Topics given counts: every column of Φ from its Dirichlet.

φ_k ~ Dir(η + n_1k, …, η + n_Vk),   φ_wk = g_wk / Σ_w g_wk,   g_wk ~ Gam(η + n_wk, 1)
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from pgbn.random import restart
from pgbn.samplers.gamma import gamma, log_gamma
from pgbn.samplers.threads import run_rows

__all__ = ["Loadings", "column_sums", "draw_gammas", "draw_phi", "loadings"]

_BLOCK = 256  # words a partial sum: fixed, so that sums do not depend on the threads


class Loadings(NamedTuple):
    """Φ as the label kernels read it: ``value`` (R, V, K) times ``scale`` (R, K)."""

    value: np.ndarray
    scale: np.ndarray


def loadings(phi) -> Loadings:
    """The loadings of a given Φ (R, V, K)."""
    return Loadings(phi, np.ones((phi.shape[0], phi.shape[2])))


@njit(cache=True, nogil=True)
def draw_gammas(key, start, stop, n_wk, eta, out):
    """g_wk ~ Gam(η + n_wk, 1) for words start..stop of replicates × V."""
    replicates, vocabulary, topics = n_wk.shape
    rng = np.empty(2, np.uint64)
    for slot in range(start, stop):
        restart(rng, key, slot)
        counts = n_wk[slot // vocabulary, slot % vocabulary]
        row = out[slot // vocabulary, slot % vocabulary]
        for k in range(topics):
            row[k] = gamma(rng, eta + counts[k])


@njit(cache=True, nogil=True)
def _draw_log_gammas(key, start, stop, n_wk, eta, out):
    """ln g_wk, for shapes so small that g itself would underflow."""
    replicates, vocabulary, topics = n_wk.shape
    rng = np.empty(2, np.uint64)
    for slot in range(start, stop):
        restart(rng, key, slot)
        for k in range(topics):
            out[slot // vocabulary, slot % vocabulary, k] = log_gamma(
                rng, eta + n_wk[slot // vocabulary, slot % vocabulary, k]
            )


@njit(cache=True, nogil=True)
def _exponentiate(key, start, stop, out):
    """g_wk ∝ exp(ln g_wk − max_w ln g_wk), a factor that cancels in φ; for replicates."""
    for replicate in range(start, stop):
        vocabulary, topics = out[replicate].shape
        for k in range(topics):
            top = -math.inf
            for w in range(vocabulary):
                top = max(top, out[replicate, w, k])
            for w in range(vocabulary):
                out[replicate, w, k] = math.exp(out[replicate, w, k] - top)


@njit(cache=True, nogil=True)
def _block_sums(key, start, stop, values, blocks, sums):
    """Sums over blocks of words: sums (R · blocks, K)."""
    vocabulary, topics = values.shape[1:]
    for index in range(start, stop):
        first = (index % blocks) * _BLOCK
        sums[index] = 0.0
        for w in range(first, min(first + _BLOCK, vocabulary)):
            for k in range(topics):
                sums[index, k] += values[index // blocks, w, k]


def column_sums(values, threads=1):
    """Σ_w g_wk as (R, K), added up in an order that does not depend on the threads."""
    replicates, vocabulary, topics = values.shape
    blocks = -(-vocabulary // _BLOCK)
    sums = np.empty((replicates * blocks, topics))
    run_rows(_block_sums, replicates * blocks, threads, 0, values, blocks, sums)
    return sums.reshape(replicates, blocks, topics).sum(axis=1)


@njit(cache=True, nogil=True)
def _scale(key, start, stop, scale, out):
    vocabulary, topics = out.shape[1:]
    for slot in range(start, stop):
        for k in range(topics):
            out[slot // vocabulary, slot % vocabulary, k] *= scale[slot // vocabulary, k]


def draw_phi(key, n_wk, eta, out, threads=1):
    """Draw Φ (R, V, K) given n_wk (R, V, K) into ``out``; columns sum to 1.

    The row of a word has the stream (key, replicate · V + word).
    """
    replicates, vocabulary, topics = n_wk.shape
    words = replicates * vocabulary
    if vocabulary * eta < 0.1:
        # A column without counts may lie below 1e-300 as a whole: logarithms instead.
        run_rows(_draw_log_gammas, words, threads, key, n_wk, eta, out)
        run_rows(_exponentiate, replicates, threads, key, out)
    else:
        run_rows(draw_gammas, words, threads, key, n_wk, eta, out)
    run_rows(_scale, words, threads, key, 1.0 / column_sums(out, threads), out)
    return out
