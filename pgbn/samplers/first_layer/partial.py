"""Layer-1 labels with Φ held and θ marginalised: the partially collapsed Gibbs sampler.

    P(z_i = k | z_-i, Φ) ∝ φ_wk (m_jk + a_jk)

with m the counts without token i (Zhou, Cong and Chen 2016, section 4). Given Φ the rows are
independent: threads over rows draw from exactly this law.
"""

import numpy as np
from numba import njit

from pgbn.samplers.first_layer.topic_lists import (
    draw_beyond_list,
    pick_in_list,
    prefetch_list,
    sum_list,
    sum_weights,
)
from pgbn.samplers.random import restart, uniform

__all__ = ["allocate_partial"]

_1 = np.uint64(1)
_4 = np.uint64(4)


@njit(cache=True, nogil=True)
def allocate_partial(key, start, stop, documents, row_start, word, z, loadings, m, prior, share):
    """One sweep over the tokens of rows start..stop; z and m change in place.

    Row j has the prior ``prior[j // share]`` and the loadings of replicate j // documents.
    """
    topics = m.shape[1]
    vocabulary = loadings.value.shape[1]
    topic = loadings.topic
    large = loadings.large
    values = loadings.value.reshape((-1, topics))
    rng = np.empty(2, np.uint64)
    weight = np.zeros((topics + 7) // 8 * 8)
    before = np.empty(weight.size // 8)
    for row in range(start, stop):
        token = np.uint64(row_start[row])
        end = np.uint64(row_start[row + 1])
        if token == end:
            continue
        replicate = row // documents
        base = np.uint64(replicate * vocabulary)
        scale = loadings.scale[replicate]
        shape = prior[row // share]
        counts = m[row]
        for k in range(topics):
            weight[k] = (counts[k] + shape[k]) * scale[k]
        total = sum_weights(weight)
        restart(rng, key, row)
        while token < end:
            # The lists are too many for the caches: fetch what will be read four tokens on.
            ahead = np.uint64(loadings.start[base + np.uint64(word[min(token + _4, end - _1)])])
            prefetch_list(topic, large, ahead)
            # q_k = (m_jk + a_jk) · scale_k without this token.
            old = np.uint64(z[token])
            weight_before = weight[old]
            total_before = total
            weight[old] = (counts[old] - 1 + shape[old]) * scale[old]
            total += weight[old] - weight_before
            if total < 1e-6 * weight_before:
                # Nearly all was cancelled: sum anew, lest rounding decide.
                total = sum_weights(weight)
            slot = base + np.uint64(word[token])
            begin = np.uint64(loadings.start[slot])
            length = np.uint64(loadings.length[slot])
            list_sum = sum_list(topic, large, begin, length, weight, before)
            bound = loadings.bound[slot]
            target = uniform(rng) * (list_sum + bound * total)
            if target < list_sum:
                place = pick_in_list(topic, large, begin, length, weight, before, target)
                new = np.uint64(topic[place])
            else:
                new = draw_beyond_list(
                    rng,
                    topic,
                    large,
                    begin,
                    length,
                    values,
                    slot,
                    bound,
                    weight,
                    before,
                    list_sum,
                    total,
                    target,
                )
            if new == old or new == np.uint64(weight.size):  # the latter: no topic is possible
                weight[old] = weight_before
                total = total_before
            else:
                z[token] = new
                counts[old] -= 1
                counts[new] += 1
                weight_new = (counts[new] + shape[new]) * scale[new]
                total += weight_new - weight[new]
                weight[new] = weight_new
            token += _1
