"""Layer-1 labels with Φ held and θ marginalised: the partially collapsed Gibbs sampler.

    P(z_i = k | z_-i, Φ) ∝ φ_wk (m_jk + a_jk)

with m the counts without token i (Zhou, Cong and Chen 2016, section 4). Given Φ the rows are
independent: threads over rows draw from exactly this law. Further terms of the rate have weights of
their own (`pseudo`), beside those of the topics.
"""

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.first_layer.extra_terms import draw_pseudo, pseudo_weight
from pgbn.samplers.first_layer.topic_draw import (
    EXTRA_TERM,
    draw_topic,
    held_values,
    prefetch_head,
    prefetch_word,
    sum_top,
)
from pgbn.samplers.first_layer.topic_lists import sum_weights, weights_in, weights_room
from pgbn.samplers.lanes import pointer
from pgbn.samplers.random import new_rng, restart

_1 = np.uint64(1)
_4 = np.uint64(4)
_8 = np.uint64(8)


@njit(cache=True, nogil=True)
def allocate_partial(key, start, stop, tokens, z, loadings, m, priors, pseudo=None):
    """One sweep over the tokens of rows start..stop; z and m change in place.

    Tokens of one word and topic that follow each other have the same law until one of them leaves.
    """
    rows, topics = m.shape
    replicates, vocabulary, _ = loadings.value.shape
    documents = rows // replicates
    word = tokens.word
    values = held_values(loadings)
    rng, weight = new_rng(), weights_room(topics)
    weights = weights_in(weight)
    for row in range(start, stop):
        token = np.uint64(tokens.row_start[row])
        end = np.uint64(tokens.row_start[row + 1])
        if token == end:
            continue
        replicate = row // documents
        base = np.uint64(replicate * vocabulary)
        scale = loadings.scale[replicate]
        shape = priors.shape[row // priors.share]
        counts = m[row]
        for k in range(topics):
            weight[k] = (counts[k] + shape[k]) * scale[k]
        total = sum_weights(weights)
        restart(rng, key, row)
        while token < end:
            slot = base + np.uint64(word[token])
            old = np.uint64(z[token])
            is_topic = old < np.uint64(topics)
            weight_before, total_before = 0.0, total
            if is_topic:
                # q_k = (m_jk + a_jk) · scale_k without this token.
                weight_before = weight[old]
                weight[old] = (counts[old] - 1 + shape[old]) * scale[old]
                total += weight[old] - weight_before
                if total < 1e-6 * weight_before:
                    # Nearly all was cancelled: sum anew, lest rounding decide.
                    total = sum_weights(weights)
            beyond = pseudo_weight(pseudo, row, slot)
            top_sum = sum_top(values, slot, weights)
            new, same = old, True
            while same:
                prefetch_head(values, base + np.uint64(word[min(token + _8, end - _1)]))
                prefetch_word(values, base + np.uint64(word[min(token + _4, end - _1)]))
                new = draw_topic(pointer(rng), values, slot, weights, total, beyond, top_sum)
                if new == EXTRA_TERM:
                    new = np.uint64(topics) + draw_pseudo(pointer(rng), pseudo, row, slot, beyond)
                elif new == weights.size:  # nothing is possible without this token
                    new = old
                if new != old:
                    break
                token += _1
                same = token < end and word[token] == word[token - _1] and z[token] == old
            if new == old:
                if is_topic:
                    weight[old] = weight_before
                    total = total_before
                continue
            z[token] = new
            if is_topic:
                counts[old] -= 1
            if new < np.uint64(topics):
                counts[new] += 1
                weight_new = (counts[new] + shape[new]) * scale[new]
                total += weight_new - weight[new]
                weight[new] = weight_new
            token += _1
