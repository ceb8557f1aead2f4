"""Scatter-add: what the rows that read an entry have heard is added up for the entry.

    out[r, g] = Σ_{l : place[r, l] = g} value[r, l]

The rows are added in their order, so that the sum of floats is the same bits every time.
"""

import numpy as np

from pgbn.samplers.compiled import njit

__all__ = ["scatter_add"]


@njit(cache=True, nogil=True)
def scatter_add(place: np.ndarray, value: np.ndarray, out: np.ndarray) -> None:
    """Add ``value`` (R, rows, inner) to ``out`` (R, entries, inner), which begins at 0; ``place``
    is (R or 1, rows)."""
    each = place.shape[0] > 1
    for r in range(value.shape[0]):
        at = r if each else 0
        for row in range(value.shape[1]):
            entry = place[at, row]
            for k in range(value.shape[2]):
                out[r, entry, k] += value[r, row, k]
