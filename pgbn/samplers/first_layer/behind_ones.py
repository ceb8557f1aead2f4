"""Layer-1 cells that are known to be above 0: their counts, and at once the topics of these.

    n_jv ~ Pois(s_j λ_jv) given n_jv ≥ 1,   λ_jv = Σ_k φ_vk θ_jk + Σ_e b_je d_ve
    (n_jv1, …, n_jvK) ~ Mult(n_jv; φ_vk θ_jk / λ_jv)

(Zhou 2015, Bernoulli–Poisson link). Both need the products of a cell, which are found once, in
single precision as all topics are; where that is too narrow, in double precision.
"""

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.first_layer.known_sums import pick_topic, split_many, weigh_topics
from pgbn.samplers.first_layer.pseudo import draw_pseudo, pseudo_weight
from pgbn.samplers.random import restart, uniform
from pgbn.samplers.simd.lanes import LANES, pointer
from pgbn.samplers.variates.poisson import draw_small_truncated

__all__ = ["allocate_behind"]

_MANY = 4  # from this many counts a topic on, a cell is split by binomials
_LEAST, _MOST = 1e-30, 1e30  # sums that single precision holds, with all that matters in them


@njit(cache=True, nogil=True)
def allocate_behind(key, start, stop, cells, phi, scale, theta, n_wk, m, pseudo=None, split_e=None):
    """As `allocate_blocked`, with counts that are drawn: they are written to the data of the cells.

    ``phi`` are `padded_topics` of float32, ``scale`` the factor s of every row. What is added to a
    rate as pseudo-topics is divided by that factor.
    """
    indptr, indices, data = cells
    rows, topics = theta.shape
    rng, vocabulary = np.empty(2, np.uint64), n_wk.shape[1]
    weight, reached = np.zeros(phi.shape[1], np.float32), np.empty(phi.shape[1], np.float32)
    lanes = np.zeros(2 * LANES, np.float32)
    size, places, running = np.uint64(phi.shape[1]), pointer(reached), pointer(lanes)
    value, weights, words = pointer(phi), pointer(weight), pointer(rng)
    for row in range(start, stop):
        replicate = row // (rows // n_wk.shape[0])
        counts = m[row]
        for k in range(topics):
            counts[k] = 0
            weight[k] = theta[row, k]
        if pseudo is not None:
            split_e.row[row] = 0
        restart(rng, key, row)
        for cell in range(indptr[row], indptr[row + 1]):
            w = indices[cell]
            slot = np.uint64(replicate * vocabulary + w)
            total = np.float64(weigh_topics(value, slot * size, weights, size, places, running))
            beyond = pseudo_weight(pseudo, row, slot)
            whole = total + beyond
            if not _LEAST < whole < _MOST:
                whole = beyond
                for k in range(topics):
                    whole += phi[slot, k] * theta[row, k]
            count = draw_small_truncated(words, scale[row] * whole)
            data[cell] = count
            if count > _MANY * topics or (whole > 0.0 and not _LEAST < whole < _MOST):
                split_many(rng, count, row, slot, phi, theta, n_wk[replicate, w], counts, pseudo,
                           split_e)  # fmt: skip
                continue
            for _ in range(count):
                if whole > 0.0:
                    target = uniform(words) * whole
                    if pseudo is not None and target >= total and beyond > 0.0:
                        e = draw_pseudo(words, pseudo, row, slot, beyond)
                        split_e.row[row, e] += 1
                        split_e.word[slot, e] += 1
                        continue
                    k = pick_topic(np.float32(target), size, places, running)
                    while k >= size:
                        k = pick_topic(np.float32(uniform(words) * total), size, places, running)
                else:  # all products underflowed
                    k = np.uint64(uniform(words) * topics)
                n_wk[replicate, w, k] += 1
                counts[k] += 1
    lanes[0] = reached[0] + weight[0]  # keeps the arrays until here
    rng[0] = 0
