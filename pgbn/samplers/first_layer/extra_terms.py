"""Pseudo-topics: the further terms of a rate, in addition to the topics of the first layer.

    x_jv ~ Pois(Σ_k φ_vk θ_jk + Σ_e row_je word_ve)

A token that belongs to term e has the label K + e. Its weight does not depend on other labels, so
that nothing is counted while tokens are drawn. Kernels take None if there are no such terms, and
are then compiled without them.
"""

from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.from_numba import overload, types
from pgbn.samplers.random import uniform


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
