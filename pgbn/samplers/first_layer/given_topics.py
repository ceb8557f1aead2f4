"""The first layer with Φ given: labels with θ integrated out, and splits given θ.

    partial   P(z_i = k | z_-i, Φ) ∝ φ_wk (m_jk + a_jk)
    blocked   (x_jw1, …, x_jwK) ~ Mult(x_jw; φ_wk θ_jk)   for every cell that is not 0

with m the counts without token i (Zhou, Cong and Chen 2016, section 4 and eq. (multinomial)). Given
Φ the rows are independent: threads over rows draw from exactly these laws. Further terms of the
rate take part as pseudo-topics (`pseudo`).
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit, uncounted
from pgbn.samplers.executor import SERIAL, Executor
from pgbn.samplers.first_layer.loadings import (
    EXTRA_TERM,
    Loadings,
    Pointer,
    draw_topic,
    given_values,
    pick_weight,
    prefetch_head,
    prefetch_number,
    prefetch_word,
    sum_top,
    sum_weights,
    weights_in,
    weights_room,
)
from pgbn.samplers.first_layer.tokens import PseudoTopics, RowPriors, draw_pseudo, pseudo_weight
from pgbn.samplers.lanes import LANES, filled, find_nonzero, pick_at, pointer, weigh
from pgbn.samplers.random import new_rng, restart, uniform
from pgbn.samplers.thinning import SparseCounts
from pgbn.samplers.variates.multinomial import draw_multinomial
from pgbn.samplers.variates.poisson import draw_small_truncated

# ---- partial -----------------------------------------------------------------------------------
#
# `allocate_partial` reads the lists of large φ; `allocate_shared` needs none, and is for rows that
# share their prior.


_GROUP = 32  # topics whose prior weights are summed together
_0, _1, _2, _3, _4, _8, _32 = (np.uint64(i) for i in (0, 1, 2, 3, 4, 8, _GROUP))
_LEAST, _MOST = 1e-30, 1e30  # the range of sums that single precision represents well


@njit(cache=True, nogil=True)
def allocate_partial(key, start, stop, tokens, z, loadings, m, priors, pseudo=None):
    """One sweep over the tokens of rows start..stop; z and m change in place.

    Tokens of one word and topic that follow each other have the same law until one of them leaves.
    """
    rows, topics = m.shape
    replicates, vocabulary, _ = loadings.value.shape
    documents = rows // replicates
    word = tokens.word
    values = given_values(loadings)
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
                    # Nearly all was cancelled: sum again, so that rounding does not decide.
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


# ---- rows that share the prior --------------------------------------------------------------
#
#     P(z_i = k | z_-i, Φ) ∝ φ_wk m_jk + φ_wk a_k
#
# The first part is a sum over the topics of the row: few, whatever the number of all topics. The
# second part is computed for each word before the sweep. φ is read in single precision, as in the
# lists; if that is too narrow, a topic is drawn from all products in double.


class WordWeights(NamedTuple):
    """φ_wk of the words w = replicate · V + v, in single precision (words, K); and the running sums
    of φ_wk a_k over groups of 32 topics (words, groups)."""

    phi: np.ndarray
    sums: np.ndarray


def word_weights(words: int, topics: int) -> WordWeights:
    """Space for the weights of some words."""
    return WordWeights(np.empty((words, topics), np.float32),
                       np.empty((words, -(-topics // _GROUP)), np.float32))  # fmt: skip


def weigh_words(
    loadings: Loadings,
    priors: RowPriors,
    documents: int,
    out: WordWeights,
    executor: Executor = SERIAL,
) -> WordWeights:
    """Fill the weights of all words, given Φ and the prior."""
    executor.rows(_weigh_words, len(out.phi), 0, loadings.value, loadings.scale, priors, documents,
                  out)  # fmt: skip
    return out


@njit(cache=True, nogil=True)
def _weigh_words(key, start, stop, value, scale, priors, documents, out):
    """`weigh_words` of the words start..stop."""
    _, vocabulary, topics = value.shape
    for slot in range(start, stop):
        replicate, total = slot // vocabulary, np.float32(0.0)
        row, factor = value[replicate, slot % vocabulary], scale[replicate]
        shape, phi = priors.shape[replicate * documents // priors.share], out.phi[slot]
        for k in range(topics):
            phi[k] = row[k] * factor[k]
        for group in range(out.sums.shape[1]):
            k, end = group * _GROUP, min(group * _GROUP + _GROUP, topics)
            a = b = c = d = 0.0  # four sums at a time: one alone would wait for each addition
            while k + 4 <= end:
                a += phi[k] * shape[k]
                b += phi[k + 1] * shape[k + 1]
                c += phi[k + 2] * shape[k + 2]
                d += phi[k + 3] * shape[k + 3]
                k += 4
            while k < end:
                a += phi[k] * shape[k]
                k += 1
            total += np.float32((a + b) + (c + d))
            out.sums[slot, group] = total


class _RowTopics(NamedTuple):
    """Entry i < size is the topic ``topic[i]`` with ``count[i]`` tokens of the row, and
    ``place[topic[i]]`` is i. All other counts are 0. ``running[i]`` is the sum before entry i, of
    the last word that was asked for."""

    topic: Pointer
    count: Pointer
    place: Pointer
    running: Pointer


class _Given(NamedTuple):
    """The inputs that all rows of a replicate share: `WordWeights`, its first word, a_k, φ in
    double."""

    phi: Pointer
    sums: Pointer
    base: np.uint64
    prior: Pointer
    value: np.ndarray
    scale: np.ndarray
    topics: np.uint64
    groups: np.uint64


@njit(cache=True, nogil=True, forceinline=True)
def _sum_of_row(phi, begin, own, size):
    """Σ φ_wk m_jk over the topics of the row; the running sums are kept for the pick. Four at a
    time, since each sum waits for the previous one."""
    topic, count, running, total = own.topic, own.count, own.running, 0.0
    for i in range(_0, size, _4):
        first = phi[begin + topic[i]] * count[i]
        second = first + phi[begin + topic[i + _1]] * count[i + _1]
        third = phi[begin + topic[i + _2]] * count[i + _2]
        running[i + _1] = total + first
        running[i + _2] = total + second
        running[i + _3] = total + (second + third)
        total += second + (third + phi[begin + topic[i + _3]] * count[i + _3])
        running[i + _4] = total
    return total


@njit(cache=True, nogil=True, forceinline=True)
def _pick_in_row(own, size, target):
    """The topic where the running sum passes ``target``."""
    i = _0
    for j in range(_1, size):
        i += np.uint64(own.running[j] <= target)
    return own.topic[i]


@njit(cache=True, nogil=True)
def _pick_by_prior(given, slot, target):
    """The topic where the sum of φ_wk a_k passes ``target``; the number of topics if only rounding
    keeps the sum below it."""
    group, first = _0, slot * given.groups
    for g in range(given.groups - _1):
        group += np.uint64(given.sums[first + g] <= target)
    rest = target - (given.sums[first + group - _1] if group > _0 else np.float32(0.0))
    k, end = group * _32, min(group * _32 + _32, given.topics)
    while k < end:
        rest -= given.phi[slot * given.topics + k] * given.prior[k]
        if rest < 0.0:
            return k
        k += _1
    return given.topics


@njit(cache=True, nogil=True)
def _draw_by_products(rng, given, slot, counts, beyond):
    """A topic from all products, or `EXTRA_TERM` with the weight ``beyond``; the number of topics
    if nothing is possible."""
    room, value = weights_room(given.topics), given.value[np.int64(slot - given.base)]
    for k in range(given.topics):
        room[k] = value[k] * given.scale[k] * (counts[k] + given.prior[k])
    products = weights_in(room)
    total = sum_weights(products)
    target = uniform(rng) * (total + beyond)
    chosen = EXTRA_TERM if beyond > 0.0 and target >= total else pick_weight(products, target)
    room[0] = 0.0  # used after its pointer, which does not keep it
    return given.topics if chosen == products.size else chosen


@njit(cache=True, nogil=True, forceinline=True)
def _draw(rng, given, slot, own, size, counts, row_sum, beyond):
    """A topic, or `EXTRA_TERM`; the number of topics if nothing is possible."""
    end = row_sum + given.sums[slot * given.groups + given.groups - _1]
    if not _LEAST < end < _MOST:
        return _draw_by_products(rng, given, slot, counts, beyond)
    while True:
        target = uniform(rng) * (end + beyond)
        if target < row_sum:
            return _pick_in_row(own, size, target)
        if beyond > 0.0 and target >= end:
            return EXTRA_TERM
        k = _pick_by_prior(given, slot, target - row_sum)
        if k < given.topics:
            return k


@njit(cache=True, nogil=True, forceinline=True)
def _prefetch(given, slot, own, size):
    """Prefetch the weights of a word: all words are too many for the caches."""
    prefetch_number(given.sums, slot * given.groups)
    for i in range(_0, size):
        prefetch_number(given.phi, slot * given.topics + own.topic[i])


@njit(cache=True, nogil=True)
def allocate_shared(key, start, stop, tokens, z, loadings, m, priors, weights, pseudo=None):
    """One sweep over the tokens of rows start..stop; z and m change in place."""
    rows, topics = m.shape
    replicates, vocabulary, _ = loadings.value.shape
    rng, places = new_rng(), np.empty(topics + 1, np.uint64)
    topic, place = filled(np.empty(topics + 4, np.uint64), 0), np.empty(topics, np.uint64)
    count, running = filled(np.empty(topics + 4), 0.0), filled(np.empty(topics + 5), 0.0)
    own = _RowTopics(pointer(topic), pointer(count), pointer(place), pointer(running))
    prior, line = np.empty(topics), -1  # of the line that is copied there
    tokens, z = uncounted(tokens), uncounted(z)
    for row in range(start, stop):
        if tokens.row_start[row] == tokens.row_start[row + 1]:
            continue
        replicate = row // (rows // replicates)
        counts = uncounted(m[row])
        if row // priors.share != line:
            line = row // priors.share
            for k in range(topics):
                prior[k] = priors.shape[line, k]
        given = _Given(
            pointer(weights.phi), pointer(weights.sums), np.uint64(replicate * vocabulary),
            pointer(prior), uncounted(loadings.value[replicate]),
            uncounted(loadings.scale[replicate]), np.uint64(topics),
            np.uint64(weights.sums.shape[1]),
        )  # fmt: skip
        size = find_nonzero(pointer(counts), _0, np.uint64(topics), pointer(places))
        for i in range(size):
            k = places[i]
            topic[i], count[i], place[k] = k, counts[k], i
        restart(rng, key, row)
        size = _allocate_row(pointer(rng), row, tokens, z, given, counts, own, size, pseudo)
        for i in range(size):
            count[i] = 0.0
    count[0] = running[0] = prior[0] = topic[0] = place[0] = 0  # used after their pointers


@njit(cache=True, nogil=True, forceinline=True)
def _allocate_row(rng, row, tokens, z, given, counts, own, size, pseudo):
    """`allocate_shared` for one row, whose ``own`` topics are listed; their number in the end.

    Tokens of one word and topic that follow each other have the same law until one of them leaves.
    """
    word, topics, topic, count, place = tokens.word, given.topics, own.topic, own.count, own.place
    token, end = np.uint64(tokens.row_start[row]), np.uint64(tokens.row_start[row + 1])
    ahead = EXTRA_TERM  # the word that was prefetched last, none yet
    while token < end:
        slot = given.base + np.uint64(word[token])
        old = np.uint64(z[token])
        is_topic = old < topics
        if is_topic:
            counts[old] -= 1
            count[place[old]] -= 1.0
        beyond = pseudo_weight(pseudo, row, slot)
        row_sum = _sum_of_row(given.phi, slot * topics, own, size)
        new, same = old, True
        while same:
            later = given.base + np.uint64(word[min(token + _4, end - _1)])
            if later != ahead:
                _prefetch(given, later, own, size)
                ahead = later
            new = _draw(rng, given, slot, own, size, counts, row_sum, beyond)
            if new == EXTRA_TERM:
                new = topics + draw_pseudo(rng, pseudo, row, slot, beyond)
            elif new == topics:  # nothing is possible without this token
                new = old
            if new != old:
                break
            token += _1
            same = token < end and word[token] == word[token - _1] and z[token] == old
        if new == old:
            if is_topic:
                counts[old] += 1
                count[place[old]] += 1.0
            continue
        z[token] = new
        if is_topic and counts[old] == 0:  # the last topic gets its place
            size -= _1
            i, moved = place[old], topic[size]
            topic[i], count[i], place[moved] = moved, count[size], i
            count[size] = 0.0
        if new < topics:
            counts[new] += 1
            if counts[new] == 1:
                topic[size], count[size], place[new] = new, 0.0, size
                size += _1
            count[place[new]] += 1.0
        token += _1
    return size


# ---- all products -------------------------------------------------------------------------------
#
# The cells of a link need their rate Σ_k φ_vk θ_jk before their counts: the data are not the
# counts. The sums visit all topics, so the split does so too, without the lists of large values.


_MANY = 4  # from this many counts a topic on, a cell is split by binomials


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
    indptr, indices, data = uncounted(cells[0]), uncounted(cells[1]), uncounted(cells[2])
    rows, topics = theta.shape
    replicates, vocabulary, _ = loadings.value.shape
    documents = rows // replicates
    values = given_values(loadings)
    rng, weight = new_rng(), weights_room(topics)
    weights = weights_in(weight)
    for row in range(start, stop):
        replicate = row // documents
        counts, n_w = uncounted(m[row]), uncounted(n_wk[replicate])
        for k in range(topics):
            counts[k] = 0
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
            last = indptr[row + 1] - 1
            prefetch_head(values, replicate * vocabulary + indices[min(cell + 8, last)])
            prefetch_word(values, replicate * vocabulary + indices[min(cell + 4, last)])
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
                n_w[w, k] += 1
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
    word, edges = executor._row_key(key, rows), executor.cut(rows, cells, theta, m)
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
