"""Layer-1 labels with Φ and θ fixed: the blocked sampler.

    (x_jw1, …, x_jwK) ~ Mult(x_jw; φ_wk θ_jk)

for every non-zero cell, all cells independent (Zhou, Cong and Chen 2016, eq. (multinomial)).
`allocate_blocked` splits cells; `draw_labels` draws from the same law, a label for each token.
Further terms of the rate take part as pseudo-topics (`pseudo`).
"""

from functools import partial

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.executor import SERIAL, Executor
from pgbn.samplers.first_layer.extra_terms import PseudoTopics, draw_pseudo, pseudo_weight
from pgbn.samplers.first_layer.topic_lists import (
    EXTRA_TERM,
    draw_topic,
    given_values,
    prefetch_word,
    sum_top,
    sum_weights,
    weights_in,
    weights_room,
)
from pgbn.samplers.first_layer.value_lists import Loadings
from pgbn.samplers.lanes import LANES, pick_at, pointer, weigh
from pgbn.samplers.random import new_rng, restart, uniform
from pgbn.samplers.thinning import SparseCounts
from pgbn.samplers.uncounted import uncounted
from pgbn.samplers.variates.multinomial import draw_multinomial
from pgbn.samplers.variates.poisson import draw_small_truncated

# ---- all products -------------------------------------------------------------------------------
#
# These cells need their rate Σ_k φ_vk θ_jk before their counts: the data are not the counts. The
# sums visit all topics, so the split does so too, without the lists of large values.


_MANY = 4  # from this many counts a topic on, a cell is split by binomials
_0 = np.uint64(0)
_LEAST, _MOST = 1e-30, 1e30  # sums that single precision holds, with all that matters in them


def padded_topics(loadings: Loadings, kind: type[np.floating] = np.float64) -> np.ndarray:
    """φ of every word w = replicate · V + v, (R·V, K), with zeros up to full lanes."""
    replicates, vocabulary, topics = loadings.value.shape
    out = np.zeros((replicates * vocabulary, topics + -topics % LANES), kind)
    np.multiply(loadings.value, loadings.scale[:, None, :], casting="same_kind",
                out=out.reshape(replicates, vocabulary, -1)[:, :, :topics])  # fmt: skip
    return out


@njit(cache=True, nogil=True)
def _split_many(rng, count, row, slot, value, weight, n_w, counts, pseudo, split_e):
    """Split a cell of many counts among the topics, by value_k weight_k, and the pseudo-topics; see
    `allocate_blocked`."""
    topics, further = counts.size, 0 if pseudo is None else pseudo.row.shape[1]
    product, split = np.empty(topics + further), np.zeros(topics + further, np.int64)
    for k in range(topics):
        product[k] = value[k] * weight[k]
    if pseudo is not None:
        for e in range(further):
            product[topics + e] = pseudo.row[row, e] * pseudo.word[slot, e]
    draw_multinomial(rng, count, product, split)
    for k in range(topics):
        n_w[k] += split[k]
        counts[k] += split[k]
    if pseudo is not None:
        split_e.row[row] += split[topics:]
        split_e.word[slot] += split[topics:]


@njit(cache=True, nogil=True)
def cell_sums(key, start, stop, cells, documents, vocabulary, phi, theta, pseudo, out):
    """out = Σ_k φ_vk θ_jk, and the pseudo-topics, for the cells of rows start..stop; ``phi`` are
    `padded_topics`, of a ``vocabulary`` for each group of ``documents`` rows."""
    topics = theta.shape[1]
    weight, reached, lanes = np.zeros(phi.shape[1]), np.empty(phi.shape[1]), np.zeros(2 * LANES)
    size, places, sums = np.uint64(phi.shape[1]), pointer(reached), pointer(lanes)
    value, weights = pointer(phi), pointer(weight)
    for row in range(start, stop):
        base = row // documents * vocabulary
        for k in range(topics):
            weight[k] = theta[row, k]
        for cell in range(cells.indptr[row], cells.indptr[row + 1]):
            slot = np.uint64(base + cells.indices[cell])
            total = weigh(value, slot * size, weights, size, places, _0, sums, _0)
            out[cell] = total + pseudo_weight(pseudo, row, slot)
    lanes[0] = reached[0]  # keeps the arrays until here


@njit(cache=True, nogil=True)
def allocate_weighed(
    key, start, stop, cells, phi, scale, theta, n_wk, m, pseudo=None, split_e=None
):
    """As `allocate_blocked`, by all products of φ, which are `padded_topics`, and θ.

    Cells may only be marked as above 0 (Zhou 2015, Bernoulli–Poisson link). Then ``scale`` has the
    factor s of every row, and is None otherwise. The counts n ~ Pois(s λ) given n ≥ 1 are drawn and
    written to the data of the cells, and φ is in single precision; sums that it cannot represent
    are computed in double. The terms of a rate that are pseudo-topics are divided by s.
    """
    indptr, indices, data = cells
    rows, topics = theta.shape
    rng, vocabulary = new_rng(), n_wk.shape[1]
    weight, reached = np.zeros(phi.shape[1], phi.dtype), np.empty(phi.shape[1], phi.dtype)
    lanes, number = np.zeros(2 * LANES, phi.dtype), phi.dtype.type
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
            total = weigh(value, slot * size, weights, size, places, _0, running, _0)
            beyond = pseudo_weight(pseudo, row, slot)
            rate, is_narrow = total + beyond, False
            if scale is not None:
                if not _LEAST < rate < _MOST:
                    rate = beyond
                    for k in range(topics):
                        rate += phi[slot, k] * theta[row, k]
                    is_narrow = rate > 0.0 and not _LEAST < rate < _MOST
                data[cell] = draw_small_truncated(words, scale[row] * rate)
            if data[cell] > _MANY * topics or is_narrow:
                _split_many(rng, data[cell], row, slot, phi[slot], theta[row], n_wk[replicate, w],
                            counts, pseudo, split_e)  # fmt: skip
                continue
            for _ in range(data[cell]):
                target = uniform(words) * rate if scale is None or rate > 0.0 else 0.0
                if pseudo is not None and target >= total and rate > total:
                    e = draw_pseudo(words, pseudo, row, slot, beyond)
                    split_e.row[row, e] += 1
                    split_e.word[slot, e] += 1
                    continue
                if rate > 0.0:
                    k = pick_at(number(target), size, places, _0, running, _0)
                    while k >= size:
                        k = pick_at(number(uniform(words) * total), size, places, _0, running, _0)
                else:  # all products underflowed
                    k = np.uint64(uniform(words) * topics)
                n_wk[replicate, w, k] += 1
                counts[k] += 1
    lanes[0] = reached[0] + weight[0]  # keeps the arrays until here
    rng[0] = 0


# ---- blocked ------------------------------------------------------------------------------------


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
    values = given_values(loadings)
    rng, weight = new_rng(), weights_room(topics)
    weights = weights_in(weight)
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
                _split_many(rng, count, row, slot, loadings.value[replicate, w], weight,
                            n_wk[replicate, w], counts, pseudo, split_e)  # fmt: skip
                continue
            top_sum = sum_top(values, slot, weights)
            beyond = pseudo_weight(pseudo, row, slot)
            for _ in range(count):
                k = draw_topic(pointer(rng), values, slot, weights, total, beyond, top_sum)
                if pseudo is not None and k == EXTRA_TERM:
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
    weighed=None,
) -> None:
    """Split all cells; n_wk (R, V, K) and m (rows, K), and the counts ``split_e`` of the
    pseudo-topics, are written anew. ``weighed``, if given, are `padded_topics` and the factors of
    rows or None, see `allocate_weighed`."""
    rows = cells.indptr.size - 1
    word, edges = executor.row_key(key, rows), executor.cut(rows, cells, theta, m)
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
        if weighed is None:
            allocate_blocked(word, start, stop, cells, loadings, *given)
        else:
            allocate_weighed(word, start, stop, cells, *weighed, *given)
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
    values, scale = given_values(uncounted(loadings)), loadings.scale
    rng, weight = new_rng(), weights_room(topics)
    weights = weights_in(weight)
    for row in range(start, stop):
        if row_start[row] == row_start[row + 1]:
            continue
        replicate = row // documents
        for k in range(topics):
            weight[k] = theta[row, k] * scale[replicate, k]
        total = sum_weights(weights)
        restart(rng, key, row)
        previous, top_sum = -1, 0.0
        for token in range(row_start[row], row_start[row + 1]):
            w = words[token]
            later = replicate * vocabulary + words[min(token + 4, row_start[row + 1] - 1)]
            prefetch_word(values, later)
            slot = np.uint64(replicate * vocabulary + w)
            if w != previous:
                top_sum, previous = sum_top(values, slot, weights), w
            beyond = pseudo_weight(pseudo, row, slot)
            k = draw_topic(pointer(rng), values, slot, weights, total, beyond, top_sum)
            if k == EXTRA_TERM:
                k = np.uint64(topics) + draw_pseudo(pointer(rng), pseudo, row, slot, beyond)
            elif k >= np.uint64(topics):  # all products underflowed
                k = np.uint64(uniform(rng) * topics)
            z[token] = k
