"""How much of a corpus each topic accounts for, in any layer.

    w^(t)_k = Σ_j n_j θ^(t)_kj / θ^(t)_·j,   n_j = θ^(1)_·j

Topics sum to one, so of the n_j tokens that a document is expected to have, topic k of layer t
accounts for the part θ^(t)_kj / θ^(t)_·j. Σ_j θ^(t)_kj itself says this of the first layer only:
above it, units are on a scale c_j of each document, which differs between documents by a factor of
thousands, and a single one of them could outweigh all others.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

__all__ = ["tokens_of_topics"]

Matrix = NDArray[np.float64]

ROWS = 4096  # at once: units may be on disk


def tokens_of_topics(units: Iterable[Matrix]) -> tuple[Matrix, ...]:
    """w^(1), …, w^(T) from θ^(1), …, θ^(T), each (documents, topics)."""
    first, *above = units
    tokens = _totals(first)
    return (first.sum(axis=0), *(_shared_out(theta, tokens) for theta in above))


def _totals(theta: Matrix) -> Matrix:
    """θ_·j, added from the first topic to the last: the same bits on every machine."""
    blocks = [np.cumsum(theta[at : at + ROWS], axis=1)[:, -1] for at in range(0, len(theta), ROWS)]
    return np.concatenate(blocks) if blocks else np.zeros(0)


def _shared_out(theta: Matrix, tokens: Matrix) -> Matrix:
    """The tokens of each document given to topics in proportion to its units; a document without
    any unit gives none."""
    totals, out = _totals(theta), np.zeros(theta.shape[1])
    scale = np.divide(tokens, totals, out=np.zeros(len(totals)), where=totals > 0)
    for at in range(0, len(theta), ROWS):
        rows = slice(at, at + ROWS)
        out += (theta[rows] * scale[rows, None]).sum(axis=0)
    return out
