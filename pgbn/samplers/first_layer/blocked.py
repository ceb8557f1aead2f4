"""Layer-1 labels with Φ and θ held: the blocked sampler.

    (x_jw1, …, x_jwK) ~ Mult(x_jw; φ_wk θ_jk)

for every non-zero cell, all cells independent (Zhou, Cong and Chen 2016, eq. (multinomial)).
`allocate_blocked` splits cells, `draw_labels` draws the same law as a label a token.
"""

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.executor import SERIAL, Executor
from pgbn.samplers.first_layer.topic_draw import (
    ListedWord,
    draw_topic,
    held_values,
    listed_word,
    prefetch_word,
)
from pgbn.samplers.first_layer.topic_lists import sum_weights, weights_in, weights_room
from pgbn.samplers.random import restart, uniform
from pgbn.samplers.simd.lanes import pointer
from pgbn.samplers.sparse import SparseCounts
from pgbn.samplers.variates.multinomial import draw_multinomial

__all__ = ["allocate_blocked", "draw_labels", "split_all_cells"]

_MANY = 4  # from this many counts a topic on, a cell is split by binomials


@njit(cache=True, nogil=True)
def allocate_blocked(key, start, stop, cells, loadings, theta, n_wk, m):
    """Split the cells of rows start..stop; add to n_wk (R, V, K), write m (rows, K).

    Rows of one replicate add to the same n_wk: `split_all_cells` gives each thread its own.
    """
    indptr, indices, data = cells
    rows, topics = theta.shape
    replicates, vocabulary, _ = loadings.value.shape
    documents = rows // replicates
    values = held_values(loadings)
    rng, weight = np.empty(2, np.uint64), weights_room(topics)
    weights = weights_in(weight)
    split = np.zeros(topics, np.int64)
    for row in range(start, stop):
        replicate = row // documents
        counts = m[row]
        counts[:] = 0
        if indptr[row] == indptr[row + 1]:
            continue
        for k in range(topics):
            weight[k] = theta[row, k] * loadings.scale[replicate, k]
        total = sum_weights(weights)
        restart(rng, key, row)
        for cell in range(indptr[row], indptr[row + 1]):
            w = indices[cell]
            count = data[cell]
            later = replicate * vocabulary + indices[min(cell + 4, indptr[row + 1] - 1)]
            prefetch_word(values, later)
            if count > _MANY * topics:
                product = loadings.value[replicate, w] * weight[:topics]
                split[:] = 0
                draw_multinomial(rng, count, product, split)
                for k in range(topics):
                    n_wk[replicate, w, k] += split[k]
                    counts[k] += split[k]
                continue
            word = listed_word(values, np.uint64(replicate * vocabulary + w), weights)
            for _ in range(count):
                k = draw_topic(pointer(rng), values, word, weights, total)
                if k >= np.uint64(topics):  # all products underflowed
                    k = np.uint64(uniform(rng) * topics)
                n_wk[replicate, w, k] += 1
                counts[k] += 1


def split_all_cells(
    key, cells: SparseCounts, loadings, theta, n_wk, m, executor: Executor = SERIAL
) -> None:
    """Split all cells; n_wk (R, V, K) and m (rows, K) are written anew."""
    rows = cells.indptr.size - 1
    workers = executor.workers
    edges = [rows * part // workers for part in range(workers + 1)]
    n_wk[...] = 0
    parts = [n_wk] + [np.zeros_like(n_wk) for _ in range(workers - 1)]

    def split(_key, first, last):
        for part in range(first, last):
            here = (edges[part], edges[part + 1])
            allocate_blocked(np.uint64(key), *here, cells, loadings, theta, parts[part], m)

    executor.rows(split, workers, key)
    for part in parts[1:]:
        n_wk += part


@njit(cache=True, nogil=True)
def draw_labels(key, start, stop, tokens, loadings, theta, z):
    """P(z_i = k) ∝ φ_wk θ_jk for the tokens of rows start..stop."""
    rows, topics = theta.shape
    replicates, vocabulary, _ = loadings.value.shape
    documents = rows // replicates
    row_start, words = tokens
    values = held_values(loadings)
    rng, weight = np.empty(2, np.uint64), weights_room(topics)
    weights = weights_in(weight)
    for row in range(start, stop):
        if row_start[row] == row_start[row + 1]:
            continue
        replicate = row // documents
        for k in range(topics):
            weight[k] = theta[row, k] * loadings.scale[replicate, k]
        total = sum_weights(weights)
        restart(rng, key, row)
        previous = -1
        word = ListedWord(np.uint64(0), np.uint64(0), np.uint64(0), 0.0, 0.0)
        for token in range(row_start[row], row_start[row + 1]):
            w = words[token]
            later = replicate * vocabulary + words[min(token + 4, row_start[row + 1] - 1)]
            prefetch_word(values, later)
            if w != previous:
                slot = np.uint64(replicate * vocabulary + w)
                word = listed_word(values, slot, weights)
                previous = w
            k = draw_topic(pointer(rng), values, word, weights, total)
            if k >= np.uint64(topics):  # all products underflowed
                k = np.uint64(uniform(rng) * topics)
            z[token] = k
