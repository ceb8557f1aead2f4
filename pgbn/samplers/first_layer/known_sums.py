"""Layer-1 cells whose rate is needed before their counts: data behind which counts are drawn.

    λ_jv = Σ_k φ_vk θ_jk,   then   (x_jv1, …, x_jvK) ~ Mult(x_jv; φ_vk θ_jk / λ_jv)

The sums visit all topics, so that the split may do so too, without the lists of large values.
Products are added in sixteen lanes, topic k in lane k mod 16: first a lane is picked, then a topic
of it.
"""

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.first_layer.pseudo import draw_pseudo, pseudo_weight
from pgbn.samplers.first_layer.value_lists import Loadings
from pgbn.samplers.random import restart, uniform
from pgbn.samplers.simd.lanes import (
    LANES,
    above,
    add_product,
    broadcast,
    last,
    load_lanes,
    lowest_bit,
    pointer,
    running_sum,
    store_lanes,
    zeros,
)
from pgbn.samplers.variates.multinomial import draw_multinomial

__all__ = [
    "allocate_known",
    "cell_sums",
    "padded_topics",
    "pick_topic",
    "split_many",
    "weigh_topics",
]

_MANY = 4  # from this many counts a topic on, a cell is split by binomials
_0, _1, _LANES = np.uint64(0), np.uint64(1), np.uint64(LANES)


def padded_topics(loadings: Loadings, kind: type[np.floating] = np.float64) -> np.ndarray:
    """φ of every word w = replicate · V + v, (R·V, K), with zeros up to whole lanes."""
    replicates, vocabulary, topics = loadings.value.shape
    out = np.zeros((replicates * vocabulary, topics + -topics % LANES), kind)
    np.multiply(loadings.value, loadings.scale[:, None, :], casting="same_kind",
                out=out.reshape(replicates, vocabulary, -1)[:, :, :topics])  # fmt: skip
    return out


@njit(cache=True, nogil=True, forceinline=True)
def weigh_topics(phi, begin, weight, size, reached, lanes):
    """Σ_k φ_k weight_k; reached[k] becomes the running sum within the lane of topic k, and
    lanes[1 + i] that over the lanes 0 … i."""
    total, k = zeros(weight), _0
    while k < size:
        total = add_product(total, load_lanes(phi, begin + k), load_lanes(weight, k))
        store_lanes(reached, k, total)
        k += _LANES
    total = running_sum(total)
    store_lanes(lanes, _1, total)
    return last(total)


@njit(cache=True, nogil=True, forceinline=True)
def pick_topic(target, size, reached, lanes):
    """The topic where the running sum, lane after lane, passes the ``target``; see `weigh_topics`.

    Rounding may lead beyond the end of the lanes or of a lane, or before its beginning: then it is
    ``size`` or more, and another target is to be drawn.
    """
    passed = above(load_lanes(lanes, _1), broadcast(target))
    if not passed:
        return size
    chosen = k = lowest_bit(passed)
    rest = target - lanes[chosen]
    while k < size:
        chosen += _LANES * np.uint64(rest >= reached[k])
        k += _LANES
    return chosen if rest >= 0.0 else size


@njit(cache=True, nogil=True)
def split_many(rng, count, row, slot, phi, theta, n_w, counts, pseudo, split_e):
    """Split a cell of many counts among the topics and pseudo-topics; see `allocate_blocked`."""
    topics, further = counts.size, 0 if pseudo is None else pseudo.row.shape[1]
    product, split = np.empty(topics + further), np.zeros(topics + further, np.int64)
    for k in range(topics):
        product[k] = phi[slot, k] * theta[row, k]
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
    `padded_topics` of a ``vocabulary`` for every so many ``documents``."""
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
            total = weigh_topics(value, slot * size, weights, size, places, sums)
            out[cell] = total + pseudo_weight(pseudo, row, slot)
    lanes[0] = reached[0]  # keeps the arrays until here


@njit(cache=True, nogil=True)
def allocate_known(key, start, stop, sums, cells, phi, theta, n_wk, m, pseudo=None, split_e=None):
    """As `allocate_blocked`, given `padded_topics` and the `cell_sums`."""
    indptr, indices, data = cells
    rows, topics = theta.shape
    rng, vocabulary = np.empty(2, np.uint64), n_wk.shape[1]
    weight, reached, lanes = np.zeros(phi.shape[1]), np.empty(phi.shape[1]), np.zeros(2 * LANES)
    size, places, running = np.uint64(phi.shape[1]), pointer(reached), pointer(lanes)
    value, weights = pointer(phi), pointer(weight)
    for row in range(start, stop):
        replicate = row // (rows // n_wk.shape[0])
        counts = m[row]
        counts[:] = 0
        for k in range(topics):
            weight[k] = theta[row, k]
        if pseudo is not None:
            split_e.row[row] = 0
        restart(rng, key, row)
        for cell in range(indptr[row], indptr[row + 1]):
            w, count = indices[cell], data[cell]
            slot = np.uint64(replicate * vocabulary + w)
            if count > _MANY * topics:
                split_many(rng, count, row, slot, phi, theta, n_wk[replicate, w], counts, pseudo,
                           split_e)  # fmt: skip
                continue
            total = weigh_topics(value, slot * size, weights, size, places, running)
            for _ in range(count):
                target = uniform(rng) * sums[cell]
                if pseudo is not None and target >= total and sums[cell] > total:
                    beyond = pseudo_weight(pseudo, row, slot)
                    e = draw_pseudo(pointer(rng), pseudo, row, slot, beyond)
                    split_e.row[row, e] += 1
                    split_e.word[slot, e] += 1
                    continue
                if total > 0.0:
                    k = pick_topic(target, size, places, running)
                    while k >= size:
                        k = pick_topic(uniform(rng) * total, size, places, running)
                else:  # all products underflowed
                    k = np.uint64(uniform(rng) * topics)
                n_wk[replicate, w, k] += 1
                counts[k] += 1
    lanes[0] = reached[0]  # keeps the arrays until here
