"""Layer-1 labels with Φ and θ held: the blocked sampler.

    (x_j1w, …, x_jKw) ~ Mult(x_jw; φ_wk θ_jk)

for every non-zero cell (Zhou, Cong and Chen 2016, eq. (multinomial)). All cells are
independent. `draw_labels` draws the same law token by token.
"""

import numpy as np
from numba import njit

from pgbn.random import mix, restart
from pgbn.samplers.multinomial import multinomial

__all__ = ["allocate_blocked", "draw_labels"]


@njit(cache=True, nogil=True)
def allocate_blocked(key, start, stop, documents, indptr, indices, data, loadings, theta, n_wk, m):
    """Split the cells of rows start..stop; add to n_wk (R, V, K), write m (rows, K).

    Rows of one replicate share n_wk: give each thread an array of its own.
    """
    topics = theta.shape[1]
    rng = np.empty(2, np.uint64)
    weight = np.empty(topics)
    product = np.empty(topics)
    split = np.empty(topics, np.int64)
    for row in range(start, stop):
        m[row] = 0
        replicate = row // documents
        for k in range(topics):
            weight[k] = theta[row, k] * loadings.scale[replicate, k]
        restart(rng, key, row)
        for cell in range(indptr[row], indptr[row + 1]):
            phi = loadings.value[replicate, indices[cell]]
            for k in range(topics):
                product[k] = phi[k] * weight[k]
                split[k] = 0
            multinomial(rng, data[cell], product, split)
            for k in range(topics):
                n_wk[replicate, indices[cell], k] += split[k]
                m[row, k] += split[k]


@njit(cache=True, nogil=True)
def draw_labels(key, start, stop, documents, row_start, word, loadings, theta, z):
    """P(z_i = k) ∝ φ_wk θ_jk for the tokens of rows start..stop."""
    topics = theta.shape[1]
    rng = np.empty(2, np.uint64)
    product = np.empty(topics)
    for row in range(start, stop):
        replicate = row // documents
        restart(rng, key, row)
        state = rng[0]
        step = rng[1]
        for token in range(row_start[row], row_start[row + 1]):
            phi = loadings.value[replicate, word[token]]
            total = 0.0
            for k in range(topics):
                total += phi[k] * loadings.scale[replicate, k] * theta[row, k]
                product[k] = total
            state += step
            target = (np.float64(mix(state) >> np.uint64(12)) + 0.5) * 2.0**-52 * total
            z[token] = 0
            if total > 0.0:
                new = 0
                while product[new] <= target:
                    new += 1
                z[token] = new
