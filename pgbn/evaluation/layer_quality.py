"""Can the layers be read? Twins, diversity and effective widths.

Two topics of a layer are twins if they share six of their ten leading words. A layer in which many
topics have a twin says the same thing several times. The effective width of a layer is

    exp H(w) = exp(−Σ_k w_k ln w_k),   w the shares of its topics,

the number of equally large topics that would be as spread out: topics that hold a few counts add
to the active width, but hardly to this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_integer, listed
from pgbn.errors import DataError
from pgbn.evaluation.projection import leading_words, topic_weights
from pgbn.training.trained import TrainedNetwork, check_layer, trained_network

__all__ = ["TOP", "LayerQuality", "Twins", "effective_width", "layer_quality", "shared_words",
           "similar_topics", "twins_and_diversity"]  # fmt: skip

TOP, SHARED = 10, 6


@dataclass(frozen=True)
class Twins:
    """Two topics of a layer and how many of their leading words they ``shared``."""

    layer: int
    first: int
    second: int
    shared: int
    terms: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.layer}/{self.first} and {self.layer}/{self.second} share {self.shared} words"


@dataclass(frozen=True)
class LayerQuality:
    """How a layer reads: its ``width``, its ``effective`` width, how many of its topics have one of
    the ``twins``, and the ``diversity`` of the leading words, distinct ones / all."""

    layer: int
    width: int
    effective: float
    twins: int
    diversity: float

    def __str__(self) -> str:
        return (
            f"layer {self.layer}: {self.width} topic{'' if self.width == 1 else 's'}, effectively "
            f"{self.effective:.0f}; "
            f"{self.twins} have a twin, diversity {self.diversity:.2f}"
        )


def effective_width(weights: NDArray[np.float64]) -> float:
    """exp(−Σ w ln w) of shares w."""
    shares = np.asarray(weights, np.float64)
    shares = shares[shares > 0] / shares.sum() if shares.sum() > 0 else np.ones(1)
    return float(np.exp(-(shares * np.log(shares)).sum()))


def shared_words(leading: NDArray[np.int64]) -> NDArray[np.int64]:
    """(K, K): how many of their leading words each two topics have in common."""
    used, where = np.unique(leading, return_inverse=True)
    has = np.zeros((len(leading), used.size), np.int64)
    has[np.arange(len(leading))[:, None], where.reshape(leading.shape)] = 1
    return np.asarray(has @ has.T)


def similar_topics(
    model: TrainedNetwork,
    layer: int = 1,
    shared: int = SHARED,
    top: int = TOP,
    relevance: float | None = None,
) -> list[Twins]:
    """Pairs of topics of a layer that share at least ``shared`` of their ``top`` leading words
    (ranked as in `topics`), the most alike first."""
    model = trained_network(model)
    layer, top = check_layer(model, layer), check_integer("top", top, 1)
    if check_integer("shared", shared, 1) > top:
        raise DataError(f"shared={shared!r} must be at most top={top}")
    leading = leading_words(model, layer, top, relevance)
    common = np.triu(shared_words(leading), 1)
    pairs = np.argwhere(common >= shared)
    pairs = pairs[np.argsort(-common[pairs[:, 0], pairs[:, 1]], kind="stable")]
    return [
        Twins(layer, int(k), int(l), int(common[k, l]),
              tuple(int(v) for v in leading[k] if v in leading[l]))
        for k, l in pairs
    ]  # fmt: skip


def layer_quality(
    model: TrainedNetwork, layers: Sequence[int] | None = None, relevance: float | None = None
) -> list[LayerQuality]:
    """How each layer reads, or those in ``layers``, by their ten leading words."""
    model = trained_network(model)
    every = range(1, model.depth + 1)
    chosen = every if layers is None else listed("layers", layers, "give a list of layers: [1, 2]")
    return [_quality(model, check_layer(model, t, "layers"), relevance) for t in chosen]


def _quality(model: TrainedNetwork, layer: int, relevance: float | None) -> LayerQuality:
    leading = leading_words(model, layer, TOP, relevance)
    twins, diversity = twins_and_diversity(leading)
    return LayerQuality(
        layer=layer,
        width=len(leading),
        effective=effective_width(topic_weights(model, layer)),
        twins=twins,
        diversity=diversity,
    )


def twins_and_diversity(leading: NDArray[np.int64]) -> tuple[int, float]:
    """How many topics have a twin, and distinct words / all, of leading words (K, top)."""
    common = shared_words(leading)
    np.fill_diagonal(common, 0)
    twins = int((common >= min(SHARED, leading.shape[1])).any(axis=1).sum())
    return twins, float(np.unique(leading).size / leading.size)
