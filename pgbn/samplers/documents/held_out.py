"""Rates at chosen cells of a matrix of documents × terms."""

import numpy as np

from pgbn.samplers.compiled import njit

__all__ = ["add_rates"]


@njit(cache=True, nogil=True)
def add_rates(_key, start, stop, indptr, indices, phi, theta, out):
    """out[cell] += Σ_k φ_wk θ_jk for the cells (j, w) of rows start..stop; ``phi`` is (V, K)."""
    for row in range(start, stop):
        units = theta[row]
        for cell in range(indptr[row], indptr[row + 1]):
            line = phi[indices[cell]]
            total = 0.0
            for k in range(np.uint64(units.size)):
                total += line[k] * units[k]
            out[cell] += total
