"""The kernel of a first-layer sampler that is no part of pgbn: a label for every token."""

from numba import njit

from pgbn.samplers.random import restart, uniform

__all__ = ["label_rows"]


@njit(nogil=True)
def label_rows(key, start, stop, documents, indptr, indices, values, phi, theta, m, n):
    """z_i ~ Cat(∝ φ_vk θ_jk) for each of the x_vj tokens of every cell: row j is drawn from the
    stream of (key, j), and counted in m[j] and, cell by cell, in n[cell]."""
    topics = theta.shape[1]
    for row in range(start, stop):
        stream = restart(key, row)
        m[row] = 0
        for cell in range(indptr[row], indptr[row + 1]):
            word = phi[row // documents, indices[cell]]
            n[cell] = 0
            total = 0.0
            for k in range(topics):
                total += word[k] * theta[row, k]
            for _ in range(values[cell]):
                left = total * uniform(stream)
                k = 0
                while k < topics - 1 and left >= word[k] * theta[row, k]:
                    left -= word[k] * theta[row, k]
                    k += 1
                m[row, k] += 1
                n[cell, k] += 1
