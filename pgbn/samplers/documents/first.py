"""The first layer of one document with Φ^(1) held: labels of tokens, splits of cells.

    P(z_i = k | z_-i) ∝ φ_wk (m_k + a_k)          counts, θ^(1) marginalised
    (n_w1 … n_wK) ~ Mult(n_w; φ_wk θ_k)            large counts, and other links, where n_w is
                                                   drawn given the datum

``rows`` are the rows of Φ^(1) of the document's terms, each divided by its largest entry ``peak``,
in float32, filled with zeros to a multiple of 16. Only the ratios within a row matter to labels.
"""

import math

import numpy as np
from numba import njit

from pgbn.samplers.documents.units import expected_weights, likeliest
from pgbn.samplers.random import uniform
from pgbn.samplers.simd.pick import pick, weigh
from pgbn.samplers.variates.bessel import draw_bessel
from pgbn.samplers.variates.multinomial import draw_multinomial
from pgbn.samplers.variates.poisson import draw_truncated_poisson

__all__ = ["BERNOULLI", "GAMMA", "POISSON", "has_labels", "label_tokens", "split_cells"]

POISSON, BERNOULLI, GAMMA = 0, 1, 2
_MOST_LABELS = 10**8  # of a document: 0.4 GB
_WORTH = 4  # with so many labels for each binomial, labels cost 4 to 16 times what splits cost
_BESIDES = 16  # what a cell costs besides its binomials, in topics
# Unsigned, or numba would allow for negative indices in the innermost loops.
_0, _1 = np.uint64(0), np.uint64(1)


@njit(cache=True, nogil=True)
def has_labels(link, tokens, cells, topics):
    """Whether every token of a document gets a label, rather than every cell a split.

    Labels take about half the sweeps, as θ^(1) is marginalised, though with a small a both take
    many to leave a topic; splits cost the same however large the counts are. The choice goes by
    the document and the model alone, or a batch would change its results.
    """
    most = min(_WORTH * cells * (topics + _BESIDES), _MOST_LABELS)
    return link == POISSON and tokens <= most


@njit(cache=True, nogil=True)
def label_tokens(
    rng, first, end, data, rows, smooth, a, least, expected, product, z, used, held, place,
    running, sums,
):  # fmt: skip
    """One pass over the tokens of a document; z = -1 for a token without a label yet.

    First labels have the weights φ_wk a_k, whatever labels the tokens before got: with (m_k + a_k)
    and a small a all would follow the first one, and the chain would take thousands of sweeps to
    leave that topic. Where a chain starts does not change its law, only how soon it gets there.

    φ_wk (m_k + a_k) is the sum over the few topics with counts and the prior's part,
    ``smooth`` = Σ_k φ_wk a_k for each of the terms, ``a`` up to a factor. If Σ_k φ_wk a_k is not
    above smooth · ``least``, so much is missing in ``a`` that the label is drawn by ``expected``
    instead. The topics with counts are used[1 … used[0]], their counts ``held`` beside them, and
    place[k] is where k is listed, 0 if it is not.
    """
    token = 0
    active = used[0]
    flat = rows.reshape(-1)
    size = np.uint64(rows.shape[1])
    for cell in range(first, end):
        begin = np.uint64(cell - first) * size
        for _ in range(np.int64(data[cell])):
            old = z[token]
            if old >= 0:
                spot = place[old]
                held[spot] -= 1.0
                if held[spot] == 0.0:
                    moved = used[active]
                    used[spot], held[spot] = moved, held[active]
                    place[moved] = spot
                    place[old] = 0
                    active -= 1
            listed = 0.0
            for i in range(_1, np.uint64(active + 1)):
                listed += flat[begin + np.uint64(used[i])] * held[i]
                running[i] = listed
            target = uniform(rng) * (listed + smooth[cell - first])
            if old >= 0 and target < listed:
                i = _1
                while running[i] <= target:
                    i += _1
                held[i] += 1.0
                new = used[i]
            else:
                weight = weigh(flat, begin, a, size, sums.reached, _0, sums.lanes, _0)
                if least * smooth[cell - first] < weight < math.inf:
                    new = np.int32(pick(rng, size, sums.reached, _0, sums.lanes, _0, weight))
                else:
                    expected_weights(rows[cell - first], expected, product)
                    new = np.int32(likeliest(rng, product))
                if place[new] == 0:
                    active += 1
                    used[active], held[active] = new, 0.0
                    place[new] = active
                held[place[new]] += 1.0
            z[token] = new
            token += 1
    used[0] = active


@njit(cache=True, nogil=True)
def split_cells(
    rng, first, last, data, link, noise, rows, peak, part, total, expected, m, product
):  # fmt: skip
    """n_w given the data and the rate λ_w = Σ_k φ_wk θ_k, then a multinomial split of n_w.

    ``part`` is θ_k / θ_·, ``total`` is θ_·, and ``expected`` is E θ_k up to a factor.
    """
    m[:] = 0
    for cell in range(first, last):
        value = rows[cell - first]
        rate = 0.0
        for k in range(m.size):
            product[k] = np.float64(value[k]) * part[k] * (peak[cell - first] * total)
            rate += product[k]
        if link == POISSON:
            count = np.int64(data[cell])
        elif link == BERNOULLI:
            count = draw_truncated_poisson(rng, rate)
        else:
            safe = max(rate, 1e-300)
            log_alpha = math.log(2.0) + 0.5 * (math.log(noise * data[cell]) + math.log(safe))
            count = draw_bessel(rng, log_alpha)
        if rate == 0.0:
            expected_weights(value, expected, product)
        draw_multinomial(rng, count, product, m)
