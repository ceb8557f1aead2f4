"""Layer-1 labels with Φ held and θ marginalised: the partially collapsed Gibbs sampler.

    P(z_i = k | z_-i, Φ) ∝ φ_wk (m_jk + a_jk)

with m the counts without token i (Zhou, Cong and Chen 2016, section 4). Given Φ the rows are
independent: threads over rows draw from exactly this law.
"""

import numpy as np
from numba import njit

from pgbn.random import mix, restart

__all__ = ["allocate_partial"]


@njit(cache=True, nogil=True)
def allocate_partial(key, start, stop, documents, row_start, word, z, loadings, m, prior, share):
    """One sweep over the tokens of rows start..stop; z and m change in place.

    Row j has the prior ``prior[j // share]`` and the loadings of replicate j // documents.
    """
    topics = m.shape[1]
    rng = np.empty(2, np.uint64)
    weight = np.empty(topics)
    product = np.empty(topics)
    for row in range(start, stop):
        if row_start[row] == row_start[row + 1]:
            continue
        value = loadings.value[row // documents]
        scale = loadings.scale[row // documents]
        shape = prior[row // share]
        counts = m[row]
        for k in range(topics):
            weight[k] = (counts[k] + shape[k]) * scale[k]
        restart(rng, key, row)
        state = rng[0]
        step = rng[1]
        for token in range(row_start[row], row_start[row + 1]):
            old = z[token]
            counts[old] -= 1
            weight[old] = (counts[old] + shape[old]) * scale[old]
            phi = value[word[token]]
            total = 0.0
            for k in range(topics):
                total += phi[k] * weight[k]
                product[k] = total
            state += step
            target = (np.float64(mix(state) >> np.uint64(12)) + 0.5) * 2.0**-52 * total
            new = old
            if total > 0.0:
                new = 0
                while product[new] <= target:
                    new += 1
            z[token] = new
            counts[new] += 1
            weight[new] = (counts[new] + shape[new]) * scale[new]
