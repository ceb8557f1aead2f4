"""Tokens: a sparse count matrix written out one count at a time, and the tables of labels.

A row of counts x_v (v = 1..V) becomes Σ_v x_v tokens, each with a word v and, as the state of
the layer-1 samplers, a label z in 0..K-1. Rows are documents, or replicate × document
flattened; tokens keep the order of the matrix. A token is identified by its index, and a sweep
never visits tokens in an order that depends on their labels.
"""

from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.executor import SERIAL, Executor
from pgbn.samplers.from_numba import overload, types
from pgbn.samplers.lanes import pointer
from pgbn.samplers.random import uniform


class Tokens(NamedTuple):
    """``word[row_start[j]:row_start[j + 1]]`` are the words of the tokens of row j."""

    row_start: np.ndarray
    word: np.ndarray


class RowPriors(NamedTuple):
    """The prior shapes a_jk of the scores: row j has the line ``shape[j // share]``."""

    shape: np.ndarray
    share: int


class WordOrder(NamedTuple):
    """``token[start[w]:start[w + 1]]`` are the tokens of word w = replicate · V + v, ascending."""

    start: np.ndarray
    token: np.ndarray


def expand(indptr, indices, data, executor: Executor = SERIAL) -> Tokens:
    """Write the counts of a CSR matrix (rows × V) out as tokens, in the order of the matrix, into
    an array that the executor keeps."""
    indptr, data = np.asarray(indptr, np.int64), np.asarray(data, np.int64)
    rows = indptr.size - 1
    row_start = executor.zeros((rows + 1,), np.int64)
    executor.rows(_row_totals, rows, 0, indptr, data, row_start)
    np.cumsum(row_start, out=row_start)
    word = executor.zeros((int(row_start[-1]),), np.int32)
    executor.rows(_write_words, rows, 0, indptr, np.asarray(indices, np.int32), data, row_start,
                  word)  # fmt: skip
    return Tokens(row_start, word)


@njit(cache=True, nogil=True)
def _row_totals(key, start, stop, indptr, data, total):
    """total[j + 1] = Σ_v x_jv for rows start..stop."""
    for row in range(start, stop):
        own = 0
        for cell in range(indptr[row], indptr[row + 1]):
            own += data[cell]
        total[row + 1] = own


@njit(cache=True, nogil=True)
def _write_words(key, start, stop, indptr, indices, data, row_start, word):
    """The words of the tokens of rows start..stop."""
    for row in range(start, stop):
        token = row_start[row]
        for cell in range(indptr[row], indptr[row + 1]):
            for _ in range(data[cell]):
                word[token] = indices[cell]
                token += 1


@njit(cache=True, nogil=True)
def _word_order(documents, vocabulary, replicates, row_start, word, start, token):
    """Counting sort of the tokens by (replicate, word)."""
    rows = row_start.size - 1
    for row in range(rows):
        base = (row // documents) * vocabulary
        for index in range(row_start[row], row_start[row + 1]):
            start[base + word[index] + 1] += 1
    for slot in range(replicates * vocabulary):
        start[slot + 1] += start[slot]
    free = start[:-1].copy()
    for row in range(rows):
        base = (row // documents) * vocabulary
        for index in range(row_start[row], row_start[row + 1]):
            slot = base + word[index]
            token[free[slot]] = index
            free[slot] += 1


def word_order(tokens: Tokens, documents: int, vocabulary: int) -> WordOrder:
    """Sort the tokens by replicate and word; row // documents is the replicate."""
    replicates = (tokens.row_start.size - 1) // documents
    start = np.zeros(replicates * vocabulary + 1, np.int64)
    # 32 bits if they suffice: this array is read once a sweep at random.
    token = np.empty(tokens.word.size, np.int32 if tokens.word.size < 2**31 else np.int64)
    _word_order(documents, vocabulary, replicates, *tokens, start, token)
    return WordOrder(start, token)


@njit(cache=True, nogil=True)
def count_words(key, start, stop, word_start, token, z, n_wk):
    """n_wk = Σ_i 1(w_i = w, z_i = k) for words start..stop of replicates × V; no randomness.

    A thread owns its words, so the integers need no reduction; ``n_wk`` is (R, V, K), and labels
    from K on are skipped.
    """
    vocabulary = n_wk.shape[1]
    for slot in range(start, stop):
        counts = n_wk[slot // vocabulary, slot % vocabulary]
        counts[:] = 0
        for index in range(word_start[slot], word_start[slot + 1]):
            if z[token[index]] < counts.size:
                counts[z[token[index]]] += 1


@njit(cache=True, nogil=True)
def add_words(low, high, start, stop, documents, tokens, z, n_wk):
    """Add the tokens of rows low..high to n_wk, those of words start..stop of replicates × V. It
    serves labels that are read in their order, because they are too many for a second order in
    memory."""
    vocabulary, topics = n_wk.shape[1], np.uint64(n_wk.shape[2])
    word, counts = tokens.word, pointer(n_wk)
    first, size = np.uint64(start), np.uint64(stop - start)
    for row in range(low, high):
        base = np.uint64(row // documents * vocabulary)
        for token in range(np.uint64(tokens.row_start[row]), np.uint64(tokens.row_start[row + 1])):
            slot, k = base + np.uint64(word[token]), np.uint64(z[token])
            if slot - first < size and k < topics:  # a word below the first wraps to a large number
                counts[slot * topics + k] += 1


@njit(cache=True, nogil=True)
def count_rows(key, start, stop, row_start, z, m):
    """m_jk = Σ_i 1(z_i = k) over the tokens of row j, for rows start..stop; no randomness. Labels
    from K on are skipped."""
    for row in range(start, stop):
        counts = m[row]
        counts[:] = 0
        for index in range(row_start[row], row_start[row + 1]):
            if z[index] < counts.size:
                counts[z[index]] += 1


# ---- extra terms -------------------------------------------------------------------------------
#
# Pseudo-topics: the terms of a rate in addition to the topics of the first layer.
#
#     x_jv ~ Pois(Σ_k φ_vk θ_jk + Σ_e row_je word_ve)
#
# A token that belongs to term e has the label K + e. Its weight does not depend on other labels, so
# that nothing is counted while tokens are drawn. Kernels take None if there are no such terms, and
# are then compiled without them.


class PseudoTopics(NamedTuple):
    """The weight of term e at row j and word w = replicate · V + v is ``row[j, e] · word[w, e]``;
    or counts of the tokens of each."""

    row: np.ndarray
    word: np.ndarray


def pseudo_weight(pseudo, row, slot):
    """Σ_e row_je word_we; 0 if there are no such terms."""
    raise NotImplementedError


def _none(pseudo, row, slot):
    return 0.0


def _sum(pseudo, row, slot):
    total = 0.0
    for e in range(pseudo.row.shape[1]):
        total += pseudo.row[row, e] * pseudo.word[slot, e]
    return total


@overload(pseudo_weight)
def _choose_weight(pseudo, row, slot):
    return _none if isinstance(pseudo, (types.NoneType, types.Omitted)) else _sum


def draw_pseudo(rng, pseudo, row, slot, total):
    """e with probability ∝ row_je word_we, whose sum ``total`` is positive; ``rng`` a pointer."""
    raise NotImplementedError


def _never(rng, pseudo, row, slot, total):
    return np.uint64(0)


@njit(cache=True, nogil=True)
def _pick(rng, pseudo, row, slot, total):
    last = pseudo.row.shape[1] - 1
    if last == 0:
        return np.uint64(0)
    target, e = uniform(rng) * total, 0
    while e < last:
        target -= pseudo.row[row, e] * pseudo.word[slot, e]
        if target < 0.0:
            break
        e += 1
    while e > 0 and pseudo.row[row, e] * pseudo.word[slot, e] == 0.0:  # only by rounding
        e -= 1
    return np.uint64(e)


def _draw(rng, pseudo, row, slot, total):
    return _pick(rng, pseudo, row, slot, total)


@overload(draw_pseudo)
def _choose_draw(rng, pseudo, row, slot, total):
    return _never if isinstance(pseudo, (types.NoneType, types.Omitted)) else _draw


@njit(cache=True, nogil=True)
def count_pseudo(tokens, z, topics, documents, vocabulary, row_counts, word_counts):
    """How many tokens of each row, and of each word w, have the label K + e; written anew."""
    row_counts[...] = 0
    word_counts[...] = 0
    for row in range(tokens.row_start.size - 1):
        base = (row // documents) * vocabulary
        for token in range(tokens.row_start[row], tokens.row_start[row + 1]):
            if z[token] >= topics:
                row_counts[row, z[token] - topics] += 1
                word_counts[base + tokens.word[token], z[token] - topics] += 1
