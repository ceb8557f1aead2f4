"""Layer-1 labels with Φ and θ held: the blocked sampler.

    (x_jw1, …, x_jwK) ~ Mult(x_jw; φ_wk θ_jk)

for every non-zero cell, all cells independent (Zhou, Cong and Chen 2016, eq. (multinomial)).
`allocate_blocked` splits cells, `draw_labels` draws the same law as a label a token. Further terms
of the rate take part as pseudo-topics (`pseudo`).
"""

from functools import partial

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.executor import SERIAL, Executor, cut_rows, row_word
from pgbn.samplers.first_layer.behind_ones import allocate_behind
from pgbn.samplers.first_layer.known_sums import allocate_known
from pgbn.samplers.first_layer.pseudo import PseudoTopics, draw_pseudo, pseudo_weight
from pgbn.samplers.first_layer.topic_draw import (
    BEYOND,
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
from pgbn.samplers.uncounted import uncounted
from pgbn.samplers.variates.multinomial import draw_multinomial

__all__ = ["allocate_blocked", "draw_labels", "split_all_cells"]

_MANY = 4  # from this many counts a topic on, a cell is split by binomials


@njit(cache=True, nogil=True)
def allocate_blocked(key, start, stop, cells, loadings, theta, n_wk, m, pseudo=None, split_e=None):
    """Split the cells of rows start..stop; add to n_wk (R, V, K), write m (rows, K).

    Rows of one replicate add to the same n_wk: `split_all_cells` gives each thread its own.
    ``split_e`` are the counts of the pseudo-topics, as `PseudoTopics`, which are treated likewise.
    """
    indptr, indices, data = cells
    rows, topics = theta.shape
    replicates, vocabulary, _ = loadings.value.shape
    documents = rows // replicates
    values = held_values(loadings)
    rng, weight = np.empty(2, np.uint64), weights_room(topics)
    weights = weights_in(weight)
    further = 0 if pseudo is None else pseudo.row.shape[1]
    product, split = np.empty(topics + further), np.zeros(topics + further, np.int64)
    for row in range(start, stop):
        replicate = row // documents
        counts = m[row]
        counts[:] = 0
        if pseudo is not None:
            split_e.row[row] = 0
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
            slot = np.uint64(replicate * vocabulary + w)
            if count > _MANY * topics:
                for k in range(topics):
                    product[k] = loadings.value[replicate, w, k] * weight[k]
                if pseudo is not None:
                    for e in range(further):
                        product[topics + e] = pseudo.row[row, e] * pseudo.word[slot, e]
                split[:] = 0
                draw_multinomial(rng, count, product, split)
                for k in range(topics):
                    n_wk[replicate, w, k] += split[k]
                    counts[k] += split[k]
                if pseudo is not None:
                    split_e.row[row] += split[topics:]
                    split_e.word[slot] += split[topics:]
                continue
            word = listed_word(values, slot, weights)
            beyond = pseudo_weight(pseudo, row, slot)
            for _ in range(count):
                k = draw_topic(pointer(rng), values, word, weights, total, beyond)
                if pseudo is not None and k == BEYOND:
                    e = draw_pseudo(pointer(rng), pseudo, row, slot, beyond)
                    split_e.row[row, e] += 1
                    split_e.word[slot, e] += 1
                    continue
                if k >= np.uint64(topics):  # all products underflowed
                    k = np.uint64(uniform(rng) * topics)
                n_wk[replicate, w, k] += 1
                counts[k] += 1


def split_all_cells(
    key,
    cells: SparseCounts,
    loadings,
    theta,
    n_wk,
    m,
    executor: Executor = SERIAL,
    pseudo: PseudoTopics | None = None,
    split_e: PseudoTopics | None = None,
    known=None,
    behind=None,
) -> None:
    """Split all cells; n_wk (R, V, K) and m (rows, K), and the counts ``split_e`` of the
    pseudo-topics, are written anew. ``known`` are `padded_topics` and `cell_sums`, if they are.
    ``behind`` are those in single precision and the factors of rows: then the counts are drawn too,
    see `allocate_behind`."""
    rows = cells.indptr.size - 1
    word, edges = row_word(executor, key, rows), cut_rows(executor, rows, cells, theta, m)
    n_wk[...] = 0
    free: list[tuple[np.ndarray, PseudoTopics | None]] = [(n_wk, split_e)]
    if split_e is not None:
        split_e.word[...] = 0
    for _ in range(executor.workers - 1):
        own = split_e and split_e._replace(word=np.zeros_like(split_e.word))
        free.append((np.zeros_like(n_wk), own))

    def split(start, stop):
        counts, further = free.pop()  # a thread's own, while it works
        given = (theta, counts, m, pseudo, further)
        if behind is not None:
            allocate_behind(word, start, stop, cells, *behind, *given)
        elif known is None:
            allocate_blocked(word, start, stop, cells, loadings, *given)
        else:
            phi, sums = known
            allocate_known(word, start, stop, sums, cells, phi, *given)
        free.append((counts, further))

    executor.calls([partial(split, *edge) for edge in edges])
    for counts, further in free:
        if counts is not n_wk:
            n_wk += counts
            if split_e is not None and further is not None:
                split_e.word[...] += further.word


@njit(cache=True, nogil=True)
def draw_labels(key, start, stop, tokens, loadings, theta, z, pseudo=None):
    """P(z_i = k) ∝ φ_wk θ_jk for the tokens of rows start..stop."""
    rows, topics = theta.shape
    replicates, vocabulary, _ = loadings.value.shape
    documents = rows // replicates
    row_start, words = tokens
    values, scale = held_values(uncounted(loadings)), loadings.scale
    rng, weight = np.empty(2, np.uint64), weights_room(topics)
    weights = weights_in(weight)
    for row in range(start, stop):
        if row_start[row] == row_start[row + 1]:
            continue
        replicate = row // documents
        for k in range(topics):
            weight[k] = theta[row, k] * scale[replicate, k]
        total = sum_weights(weights)
        restart(rng, key, row)
        previous = -1
        word = ListedWord(np.uint64(0), np.uint64(0), np.uint64(0), 0.0, 0.0)
        for token in range(row_start[row], row_start[row + 1]):
            w = words[token]
            later = replicate * vocabulary + words[min(token + 4, row_start[row + 1] - 1)]
            prefetch_word(values, later)
            slot = np.uint64(replicate * vocabulary + w)
            if w != previous:
                word = listed_word(values, slot, weights)
                previous = w
            beyond = pseudo_weight(pseudo, row, slot)
            k = draw_topic(pointer(rng), values, word, weights, total, beyond)
            if k == BEYOND:
                k = np.uint64(topics) + draw_pseudo(pointer(rng), pseudo, row, slot, beyond)
            elif k >= np.uint64(topics):  # all products underflowed
                k = np.uint64(uniform(rng) * topics)
            z[token] = k
