"""Σ_k a[i, k] b[j, k]: the product of two matrices, the same bits for any number of threads.

A library's product may sum in another order when it runs on other threads; this one adds the
summands of every entry in the order of k. The inner loop runs over j, so that it vectorises
without changing that order.
"""

import numpy as np
from numba import njit

__all__ = ["contract"]


@njit(cache=True, nogil=True)
def contract(_key, start, stop, a, b, out):
    """Rows start…stop of out[r, i, :] = Σ_k a[r, i, k] b[r, :, k], rows numbered r·I + i."""
    _, size, columns = out.shape
    inner = a.shape[2]
    turned = np.empty((inner, columns))
    current = -1
    for row in range(start, stop):
        r = row // size
        i = row % size
        if r != current:
            if current < 0 or b.shape[0] > 1:
                source = b[min(r, b.shape[0] - 1)]
                for j in range(columns):
                    for k in range(inner):
                        turned[k, j] = source[j, k]
            current = r
        line = out[r, i]
        left = a[min(r, a.shape[0] - 1), i]
        line[:] = 0.0
        for k in range(inner):
            weight = left[k]
            if weight != 0.0:
                source_line = turned[k]
                for j in range(columns):
                    line[j] += weight * source_line[j]
