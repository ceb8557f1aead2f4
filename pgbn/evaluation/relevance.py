"""Which words stand for a topic.

    relevance_λ(v | k) = λ ln ψ_kv + (1 − λ) ln(ψ_kv / p_v),   p = the share of v in the corpus

λ = 1 ranks words by their probability, a smaller λ those first that the topic uses more than the
corpus does (Sievert & Shirley, LDAvis, 2014). Topics of the upper layers are mixtures of many
topics below, so that the most probable words of all of them are the same common ones: above the
first layer λ = 0.3 unless another is asked for, and in the first layer 1.

To be rare is no merit: rare words hardly ever meet in one text. So p_v counts as no smaller than a
floor, that of words which a text of usual length L has every fiftieth time, 0.02 / L. Only words
above it lose by being common everywhere; all others are ranked by their probability. The floor is
kept between the shares of the words at which a tenth and a half of all tokens are reached, the
commonest first; where L is not known, it is the former.

Nor does a topic of a few tokens say much about what it has more of than the corpus. So the ratio is
drawn towards 1 as if s = 2000 more tokens of the topic, spread as in the corpus, had been seen:

    (n_k ψ_kv / p_v + s) / (n_k + s),   n_k = the tokens that the topic holds
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import is_finite_number
from pgbn.errors import DataError

__all__ = ["UPPER_RELEVANCE", "draw_of", "rank_words", "relevance_of", "with_floor"]

UPPER_RELEVANCE = 0.3  # λ of the layers above the first
_FEW, _MANY = 0.1, 0.5  # of all tokens: at least and at most, words that may lose by being common
_SELDOM = 0.02  # times in a text of usual length: what is rarer has no merit by it
_UNSURE = 2000.0  # tokens, s: what topics of fewer have above the corpus counts for little
_LEAST = 1e-6  # a word that a topic hardly has does not stand for it, however rare it is elsewhere

Matrix = NDArray[np.float64]


def relevance_of(layer: int, relevance: Any = None) -> float:
    """λ: the one that is asked for, or the default of the layer."""
    if relevance is None:
        return 1.0 if layer == 1 else UPPER_RELEVANCE
    if not is_finite_number(relevance) or not 0 <= relevance <= 1:
        raise DataError(
            f"relevance={relevance!r} must be a number from 0 to 1: 1 ranks words by probability, "
            "smaller ones put the words first that are more frequent in the topic than elsewhere"
        )
    return float(relevance)


def with_floor(common: Matrix, length: float = 0.0) -> Matrix:
    """The shares of words in a corpus, none below that of a word that is seldom in texts of this
    ``length`` (0 if it is not known)."""
    falling = np.sort(common)[::-1]
    reached = np.cumsum(falling)
    if not reached.size or not reached[-1] > 0:
        return common
    most, least = falling[np.searchsorted(reached, np.array([_FEW, _MANY]) * reached[-1])]
    if np.isfinite(length) and length > 0:
        least = min(max(_SELDOM / length * reached[-1], least), most)
    else:
        least = most
    return np.asarray(np.maximum(common, least), np.float64)


def draw_of(held: Matrix | None) -> Matrix | float:
    """s / n_k: how far the ratios of topics that hold so many tokens are drawn towards 1; 0 where
    these are not known."""
    return 0.0 if held is None else _UNSURE / np.maximum(np.asarray(held, np.float64), 1e-9)


def rank_words(
    psi: Matrix,
    common: Matrix,
    relevance: float,
    top: int,
    length: float = 0.0,
    held: Matrix | None = None,
) -> NDArray[np.int64]:
    """The ``top`` words of each topic of ``psi`` (K, V), the most relevant first; equal ones in the
    order of the vocabulary. ``common`` are the shares of the words in the corpus, whose texts have
    a usual ``length`` (0 if it is not known), and ``held`` are the tokens of each topic."""
    if relevance == 1.0:
        return np.argsort(-psi, axis=1, kind="stable")[:, :top]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = psi / with_floor(common, length) + np.reshape(draw_of(held), (-1, 1))
        score = relevance * np.log(psi) + (1.0 - relevance) * np.log(ratio)
    # Words below the least come last, by probability: their ln ψ is below that of all others.
    rare = (psi < _LEAST) | np.isnan(score)
    score = np.where(rare, np.log(np.maximum(psi, 1e-300)) - 1e4, score)
    return np.argsort(-score, axis=1, kind="stable")[:, :top]
