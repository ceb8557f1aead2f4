"""The kernel of a first-layer sampler that is no part of pgbn: a label for every token."""

import numpy as np
from numba import njit

from pgbn.extend import restart
from pgbn.samplers.random import uniform

__all__ = ["label_rows"]


@njit(nogil=True)
def label_rows(key, start, stop, documents, indptr, indices, values, phi, theta, m, n):
    """z_i ~ Cat(∝ φ_vk θ_jk) for each of the x_vj tokens of every cell. Row j is drawn from the
    stream of (key, j) and counted in m[j] and, cell by cell, in n[cell]."""
    topics = theta.shape[1]
    rng = np.empty(2, np.uint64)
    for row in range(start, stop):
        restart(rng, key, row)
        m[row] = 0
        for cell in range(indptr[row], indptr[row + 1]):
            weight = phi[row // documents, indices[cell]] * theta[row]
            total = weight.sum()
            n[cell] = 0
            for _ in range(values[cell]):
                left, k = total * uniform(rng), 0
                while k < topics - 1 and left >= weight[k]:
                    left -= weight[k]
                    k += 1
                m[row, k] += 1
                n[cell, k] += 1
