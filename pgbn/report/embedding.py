"""A flat map of documents: neighbours by topics are neighbours on the map.

    d(i, j) = ‖√θ_i − √θ_j‖,   the Hellinger distance of two mixtures of topics

With scikit-learn it is t-SNE (van der Maaten and Hinton 2008). It has a fixed start, one thread and
a seed, so that equal shares give the same map. At most 1200 documents are placed, evenly chosen.
Every other document lies among the placed ones nearest to it. Without scikit-learn it is the two
leading principal components of √θ, with the crowded middle spread out:

    E = √P − mean,   E = U S Vᵀ,   (x, y) = asinh(E (v_1, v_2) / s)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
_PLACED = 1200  # documents that t-SNE places: some seconds
_FEWEST = 8  # the fewest documents with meaningful neighbours
_NEAR = 3  # placed documents among which another lies
_BLOCK = 1000  # documents whose distances are in memory at once


def by_neighbours(theta: Matrix) -> bool:
    """Whether the map of these documents is t-SNE's: it needs scikit-learn, and some documents."""
    if len(theta) < _FEWEST or theta.shape[1] < 2:
        return False
    try:
        import sklearn.manifold  # noqa: F401
    except ImportError:
        return False
    return True


def document_positions(theta: Matrix, seed: int = 0) -> Matrix:
    """(documents, 2) from proportions (documents, K)."""
    if not by_neighbours(theta):
        return principal_positions(theta)
    roots = np.sqrt(theta)
    chosen = even_choice(len(roots), _PLACED)
    placed = _neighbour_embedding(roots[chosen], seed)
    if chosen.size == len(roots):
        return placed
    out = _among(roots, roots[chosen], placed)
    out[chosen] = placed
    return out


def _neighbour_embedding(roots: Matrix, seed: int) -> Matrix:
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    start = principal_positions(roots**2)
    spread = float(start[:, 0].std())
    # Documents of one mixture lie on one point, which has no neighbours; a little noise separates
    # them.
    noise = np.random.default_rng(seed).normal(scale=1e-6, size=start.shape)
    start = 1e-4 * start / spread + noise if spread > 0 else noise
    with threadpool_limits(1):  # threads would add in any order
        found = TSNE(
            init=start.astype(np.float32), perplexity=min(30.0, (len(roots) - 1) / 3),
            max_iter=500, random_state=seed % 2**32,
        ).fit_transform(roots.astype(np.float32))  # fmt: skip
    return np.asarray(found, np.float64)


def _among(roots: Matrix, placed: Matrix, positions: Matrix) -> Matrix:
    """Each row lies at the mean of the rows of ``placed`` nearest to it, the nearer the heavier."""
    out = np.empty((len(roots), 2))
    squares = (placed**2).sum(axis=1)
    for first in range(0, len(roots), _BLOCK):
        rows = roots[first : first + _BLOCK]
        away = squares - 2 * rows @ placed.T + (rows**2).sum(axis=1)[:, None]
        near = np.argsort(away, axis=1, kind="stable")[:, :_NEAR]
        weight = 1 / (np.maximum(np.take_along_axis(away, near, axis=1), 0.0) + 1e-3)
        weight /= weight.sum(axis=1, keepdims=True)
        out[first : first + _BLOCK] = (weight[:, :, None] * positions[near]).sum(axis=1)
    return out


def principal_positions(theta: Matrix) -> Matrix:
    """The two leading principal components; each axis points where its largest loading is
    positive."""
    centred, axes, _ = _components(theta)
    axes = axes[:2]
    largest = np.abs(axes).argmax(axis=1)
    axes = axes * np.sign(axes[np.arange(axes.shape[0]), largest])[:, None]
    out = np.zeros((theta.shape[0], 2))
    out[:, : axes.shape[0]] = centred @ axes.T
    out -= np.median(out, axis=0)
    scale = np.median(np.abs(out), axis=0)
    return np.asarray(np.arcsinh(out / np.where(scale > 0, scale, 1.0)))


def explained(theta: Matrix) -> float:
    """The part of the variance of √θ that the two principal axes explain."""
    variances = _components(theta)[2]
    total = float(variances.sum())
    return float(variances[:2].sum() / total) if total > 0 else 1.0


def _components(theta: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Centred √θ, its principal axes as rows, and their variances."""
    roots = np.sqrt(theta)
    centred = roots - roots.mean(axis=0)
    # K is small: the axes come from the K × K matrix, for any number of documents.
    _, variances, axes = np.linalg.svd(centred.T @ centred)
    return centred, axes, variances


def even_choice(size: int, limit: int) -> NDArray[np.int64]:
    """At most ``limit`` of the numbers 0 … size − 1, evenly spaced."""
    if size <= limit:
        return np.arange(size)
    return np.unique(np.linspace(0, size - 1, limit).round().astype(np.int64))
