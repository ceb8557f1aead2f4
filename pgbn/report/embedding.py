"""A flat map of documents: the two leading principal components of √θ.

    E = √P − mean,   E = U S Vᵀ,   (x, y) = E (v_1, v_2)

Distances between rows of √P are Hellinger distances between mixtures of topics. There is no
randomness: each axis points where its largest loading is positive.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["document_positions", "even_choice"]


def document_positions(theta: NDArray[np.float64]) -> NDArray[np.float64]:
    """(documents, 2) from proportions (documents, K)."""
    roots = np.sqrt(theta)
    centred = roots - roots.mean(axis=0)
    # K is small: the axes come from the K × K matrix, whatever the number of documents.
    _, _, axes = np.linalg.svd(centred.T @ centred)
    axes = axes[:2]
    largest = np.abs(axes).argmax(axis=1)
    axes = axes * np.sign(axes[np.arange(axes.shape[0]), largest])[:, None]
    out = np.zeros((theta.shape[0], 2))
    out[:, : axes.shape[0]] = centred @ axes.T
    return out


def even_choice(size: int, limit: int) -> NDArray[np.int64]:
    """At most ``limit`` of the numbers 0 … size − 1, evenly spaced."""
    if size <= limit:
        return np.arange(size)
    return np.unique(np.linspace(0, size - 1, limit).round().astype(np.int64))
