"""A flat map of documents: the two leading principal components of √θ.

    E = √P − mean,   E = U S Vᵀ,   (x, y) = asinh(E (v_1, v_2) / s)

Distances between rows of √P are Hellinger distances between mixtures of topics; s, the median
distance from the middle, opens the crowd there. There is no randomness: each axis points where its
largest loading is positive.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["document_positions", "even_choice", "explained"]


def document_positions(theta: NDArray[np.float64]) -> NDArray[np.float64]:
    """(documents, 2) from proportions (documents, K)."""
    centred, axes, _ = _components(theta)
    axes = axes[:2]
    largest = np.abs(axes).argmax(axis=1)
    axes = axes * np.sign(axes[np.arange(axes.shape[0]), largest])[:, None]
    out = np.zeros((theta.shape[0], 2))
    out[:, : axes.shape[0]] = centred @ axes.T
    out -= np.median(out, axis=0)
    scale = np.median(np.abs(out), axis=0)
    return np.asarray(np.arcsinh(out / np.where(scale > 0, scale, 1.0)))


def explained(theta: NDArray[np.float64]) -> float:
    """The part of the variance of √θ that the two axes hold."""
    variances = _components(theta)[2]
    total = float(variances.sum())
    return float(variances[:2].sum() / total) if total > 0 else 1.0


def _components(
    theta: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Centred √θ, its principal axes as rows, and their variances."""
    roots = np.sqrt(theta)
    centred = roots - roots.mean(axis=0)
    # K is small: the axes come from the K × K matrix, whatever the number of documents.
    _, variances, axes = np.linalg.svd(centred.T @ centred)
    return centred, axes, variances


def even_choice(size: int, limit: int) -> NDArray[np.int64]:
    """At most ``limit`` of the numbers 0 … size − 1, evenly spaced."""
    if size <= limit:
        return np.arange(size)
    return np.unique(np.linspace(0, size - 1, limit).round().astype(np.int64))
