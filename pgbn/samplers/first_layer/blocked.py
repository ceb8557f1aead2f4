"""Layer-1 labels with Φ and θ held: the blocked sampler.

    (x_jw1, …, x_jwK) ~ Mult(x_jw; φ_wk θ_jk)

for every non-zero cell, all cells independent (Zhou, Cong and Chen 2016, eq. (multinomial)).
`allocate_blocked` splits cells, `draw_labels` draws the same law as a label a token. The draw of a
topic is written out in both and in `allocate_partial`: a helper with several exits, called in the
innermost loop, costs more than the draw itself (numba counts references around such calls).
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
from pgbn.samplers.threads import run_rows
from pgbn.samplers.variates.multinomial import draw_multinomial

__all__ = ["allocate_blocked", "draw_labels", "split_all_cells"]

_MANY = 4  # from this many counts a topic on, a cell is split by binomials


@njit(cache=True, nogil=True)
def allocate_blocked(key, start, stop, documents, indptr, indices, data, loadings, theta, n_wk, m):
    """Split the cells of rows start..stop; add to n_wk (R, V, K), write m (rows, K).

    Rows of one replicate add to the same n_wk: `split_all_cells` gives each thread its own.
    """
    topics = theta.shape[1]
    vocabulary = loadings.value.shape[1]
    topic = loadings.topic
    large = loadings.large
    values = loadings.value.reshape((-1, topics))
    rng = np.empty(2, np.uint64)
    weight = np.zeros((topics + 7) // 8 * 8)
    before = np.empty(weight.size // 8)
    split = np.zeros(topics, np.int64)
    for row in range(start, stop):
        replicate = row // documents
        counts = m[row]
        counts[:] = 0
        if indptr[row] == indptr[row + 1]:
            continue
        for k in range(topics):
            weight[k] = theta[row, k] * loadings.scale[replicate, k]
        total = sum_weights(weight)
        restart(rng, key, row)
        for cell in range(indptr[row], indptr[row + 1]):
            w = indices[cell]
            count = data[cell]
            later = replicate * vocabulary + indices[min(cell + 4, indptr[row + 1] - 1)]
            prefetch_list(topic, large, np.uint64(loadings.start[later]))
            if count > _MANY * topics:
                product = loadings.value[replicate, w] * weight[:topics]
                split[:] = 0
                draw_multinomial(rng, count, product, split)
                for k in range(topics):
                    n_wk[replicate, w, k] += split[k]
                    counts[k] += split[k]
                continue
            slot = np.uint64(replicate * vocabulary + w)
            begin = np.uint64(loadings.start[slot])
            length = np.uint64(loadings.length[slot])
            bound = loadings.bound[slot]
            list_sum = sum_list(topic, large, begin, length, weight, before)
            for _ in range(count):
                target = uniform(rng) * (list_sum + bound * total)
                if target < list_sum:
                    place = pick_in_list(topic, large, begin, length, weight, before, target)
                    k = np.uint64(topic[place])
                else:
                    k = draw_beyond_list(
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
                if k >= np.uint64(topics):  # all products underflowed
                    k = np.uint64(uniform(rng) * topics)
                n_wk[replicate, w, k] += 1
                counts[k] += 1


def split_all_cells(
    key, documents, indptr, indices, data, loadings, theta, n_wk, m, threads: int = 1
) -> None:
    """Split all cells on ``threads``; n_wk (R, V, K) and m (rows, K) are written anew."""
    rows = indptr.size - 1
    edges = [rows * part // threads for part in range(threads + 1)]
    n_wk[...] = 0
    parts = [n_wk] + [np.zeros_like(n_wk) for _ in range(threads - 1)]

    def split(_key, first, last):
        for part in range(first, last):
            allocate_blocked(
                np.uint64(key),
                edges[part],
                edges[part + 1],
                documents,
                indptr,
                indices,
                data,
                loadings,
                theta,
                parts[part],
                m,
            )

    run_rows(split, threads, threads, key)
    for part in parts[1:]:
        n_wk += part


@njit(cache=True, nogil=True)
def draw_labels(key, start, stop, documents, row_start, word, loadings, theta, z):
    """P(z_i = k) ∝ φ_wk θ_jk for the tokens of rows start..stop."""
    topics = theta.shape[1]
    vocabulary = loadings.value.shape[1]
    topic = loadings.topic
    large = loadings.large
    values = loadings.value.reshape((-1, topics))
    rng = np.empty(2, np.uint64)
    weight = np.zeros((topics + 7) // 8 * 8)
    before = np.empty(weight.size // 8)
    for row in range(start, stop):
        if row_start[row] == row_start[row + 1]:
            continue
        replicate = row // documents
        for k in range(topics):
            weight[k] = theta[row, k] * loadings.scale[replicate, k]
        total = sum_weights(weight)
        restart(rng, key, row)
        previous = -1
        begin = length = slot = np.uint64(0)
        bound = list_sum = 0.0
        for token in range(row_start[row], row_start[row + 1]):
            w = word[token]
            later = replicate * vocabulary + word[min(token + 4, row_start[row + 1] - 1)]
            prefetch_list(topic, large, np.uint64(loadings.start[later]))
            if w != previous:
                slot = np.uint64(replicate * vocabulary + w)
                begin = np.uint64(loadings.start[slot])
                length = np.uint64(loadings.length[slot])
                bound = loadings.bound[slot]
                list_sum = sum_list(topic, large, begin, length, weight, before)
                previous = w
            target = uniform(rng) * (list_sum + bound * total)
            if target < list_sum:
                place = pick_in_list(topic, large, begin, length, weight, before, target)
                k = np.uint64(topic[place])
            else:
                k = draw_beyond_list(
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
            if k >= np.uint64(topics):  # all products underflowed
                k = np.uint64(uniform(rng) * topics)
            z[token] = k
