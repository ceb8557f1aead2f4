"""Hidden units of separate documents, with Φ^(1…T) and r held: all sweeps of one document.

One sweep of document j (Zhou, Cong and Chen 2015, section 2.3, without the global steps):

    z_i        ∝ φ^(1)_wk (m^(1)_k + a^(1)_k)                 counts, θ^(1) marginalised
    x^(t)_k    ~ CRT(m^(t-1)_k, a^(t-1)_k),   split ∝ φ^(t)_kl θ^(t)_l → m^(t)_l
    p^(2)      ~ Beta(a0 + m^(1)_·, b0 + a^(1)_·),   c^(t) ~ Gam(e0 + θ^(t)_·, f0 + θ^(t-1)_·)
    θ^(t)_k    ~ Gam(a^(t)_k + m^(t)_k, c^(t+1) + q^(t)),   t = T … 2 (… 1 without labels)

with a^(t) = Φ^(t+1) θ^(t+1), a^(T) = r and q^(1) = 1, q^(t+1) = log(1 + q^(t) / c^(t+1)).

The kernel adds up conditional moments given (a, m, c), not draws of θ: with α = a + m,
E θ_k = α_k / rate and E θ_k/θ_· = α_k / α_·. The expectation is the same, the variance smaller.
A document draws from a stream keyed by its content, so its result is its own. Very large counts,
like the data of other links, have no labels: n_w1 … n_wK ~ Mult(n_w; φ^(1)_wk θ^(1)_k).

In a deep network most units of a layer are negligible in a given document. The others are listed,
and all sums over a layer run over the list (infer_units.py, which states what is left out and
why). So does the prior's part of the labels: Σ_k φ^(1)_wk a^(1)_k = Σ_l (Φ^(1)Φ^(2))_wl θ^(2)_l.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from pgbn.samplers.documents.first import has_labels, label_tokens, split_cells
from pgbn.samplers.documents.tables import pass_up, sums_of
from pgbn.samplers.documents.units import TILE, active_units, draw_units, list_units, mix_units
from pgbn.samplers.random import mix, restart
from pgbn.samplers.simd.lanes import aligned
from pgbn.samplers.variates.beta import draw_log_beta_odds
from pgbn.samplers.variates.gamma import draw_gamma_rate

__all__ = ["Moments", "hash_documents", "infer_documents", "project_terms"]


class Moments(NamedTuple):
    """First and second moments of θ^(t)/θ^(t)_· and of θ^(t), (documents, places) each.

    Layer t goes to the columns from ``column[t]`` on, or nowhere if that is negative. Arrays of no
    columns are not filled.
    """

    column: np.ndarray
    share: np.ndarray
    share_square: np.ndarray
    unit: np.ndarray
    unit_square: np.ndarray


@njit(cache=True, nogil=True)
def hash_documents(_key, start, stop, indptr, indices, data, out):
    """out_j = a hash of the (term, value) pairs of document j; ``data`` as 64-bit words."""
    for row in range(start, stop):
        word = np.uint64(indptr[row + 1] - indptr[row])
        for cell in range(indptr[row], indptr[row + 1]):
            word = mix(word + np.uint64(0x9E3779B97F4A7C15) + np.uint64(indices[cell]))
            word = mix(word ^ data[cell])
        out[row] = word


@njit(cache=True, nogil=True)
def _down(layers, t):
    """Φ between the layers t and t + 1, flat, a unit of the upper one a line."""
    return layers.down[layers.down_at[t] : layers.down_at[t + 1]]


@njit(cache=True, nogil=True)
def _up(layers, t):
    """Φ between the layers t - 1 and t, flat, a unit of the lower one a line."""
    return layers.up[layers.up_at[t - 1] : layers.up_at[t]]


@njit(cache=True, nogil=True)
def project_terms(_key, start, stop, phi, layers, out):
    """out_wl = Σ_k φ^(1)_wk φ^(2)_kl / Σ_k φ^(1)_wk for the terms start..stop."""
    at = layers.at
    active, parts = active_units(at[1]), aligned(at[1])
    for term in range(start, stop):
        list_units(phi[term], parts, active)
        mix_units(active, _up(layers, 1), at[2] - at[1], out[term])


@njit(cache=True, nogil=True)
def _scale(mixed, total, out):
    """out_k = mixed_k · total."""
    for k in range(out.size):
        out[k] = np.float64(mixed[k]) * total


@njit(cache=True, nogil=True)
def _draw_rates(rng, prior, count, top, theta, c, q):
    """c[t] and q[t]: rate and exposure of layer t, θ^(t) ~ Gam(a, c[t]) heard through q[t].

    ``theta[t]`` is Σ_k θ^(t)_k, and Σ_k a^(t)_k = Σ_l θ^(t+1)_l because the columns of Φ sum to
    one; at the top it is ``top``. ``count`` is the number of tokens.
    """
    depth = c.size
    above = theta[1] if depth > 1 else top
    log_odds = draw_log_beta_odds(rng, prior[0] + count, prior[1] + above)
    c[0] = math.exp(log_odds)
    q[0] = 1.0
    # The exposure of the second layer is ln(1 + 1/c), without forming 1/c.
    log_one_plus = math.log1p(math.exp(-abs(log_odds))) + max(-log_odds, 0.0)
    for t in range(1, depth):
        q[t] = log_one_plus if t == 1 else math.log1p(q[t - 1] / c[t - 1])
        above = top if t == depth - 1 else theta[t + 1]
        c[t] = draw_gamma_rate(rng, prior[2] + above, prior[3] + theta[t])


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def _add_up(a, m):
    total = 0.0
    for k in range(a.size):
        total += a[k] + m[k]
    return total


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add_moments(a, m, first, second, mean, square):
    """Add first · α and second · α (α + 1), α = a + m."""
    for k in range(mean.size):
        alpha = a[k] + m[k]
        mean[k] += first * alpha
        square[k] += second * alpha * (alpha + 1.0)


@njit(cache=True, nogil=True, error_model="numpy")
def _record(row, layers, moments, a, m, c, q, scale):
    """Add the conditional moments of every layer that is asked for, times ``scale``."""
    for t in range(layers.width.size):
        if moments.column[t] < 0:
            continue
        here = slice(layers.at[t], layers.at[t] + layers.width[t])
        columns = slice(moments.column[t], moments.column[t] + layers.width[t])
        shape, counts = a[here], m[here]
        if moments.share.shape[1]:
            mean, square = moments.share[row, columns], moments.share_square[row, columns]
            total = _add_up(shape, counts)
            if total > 0.0:
                first = scale / total
                _add_moments(shape, counts, first, first / (total + 1.0), mean, square)
            else:  # a document without counts whose shapes all underflowed: no news of shares
                mean += scale / mean.size
                square += scale / mean.size
        if moments.unit.shape[1]:
            first = scale / (c[t] + q[t])
            _add_moments(
                shape, counts, first, first / (c[t] + q[t]),
                moments.unit[row, columns], moments.unit_square[row, columns],
            )  # fmt: skip


@njit(cache=True, nogil=True)
def infer_documents(
    key, start, stop, indptr, indices, data, hashes, link, noise, phi, projected, layers, burn_in,
    samples, moments,
):  # fmt: skip
    """All sweeps of documents start..stop; their moments are written to their rows.

    ``phi`` is Φ^(1) with a term a row, (V, K_1), and ``projected`` the result of `project_terms`;
    it has no rows if there is no second layer.
    """
    at, width = layers.at, layers.width
    depth, topics = width.size, width[0]
    longest, distinct, widest = 1, 1, 0
    for row in range(start, stop):
        tokens, cells = data[indptr[row] : indptr[row + 1]].sum(), indptr[row + 1] - indptr[row]
        if has_labels(link, tokens, cells, topics):
            longest = max(longest, np.int64(tokens))
        distinct = max(distinct, cells)
    for t in range(depth):
        widest = max(widest, at[t + 1] - at[t])
    filled = (distinct + TILE - 1) // TILE * TILE
    second = at[2] - at[1] if depth > 1 else 0
    rng = np.empty(2, np.uint64)
    z = np.empty(longest, np.int32)
    rows, smooth = aligned(distinct * at[1]).reshape((distinct, at[1])), np.zeros(filled)
    columns, mixed, parts = aligned(second * filled), aligned(max(filled, widest)), aligned(at[-1])
    used, place = np.zeros((depth, widest + 1), np.int32), np.zeros(topics, np.int32)
    held, running = np.zeros(topics + 1), np.zeros(topics + 1)
    a, m, prior = np.zeros(at[-1]), np.zeros(at[-1]), aligned(at[1])
    peak, c, q, theta = np.ones(distinct), np.ones(depth), np.ones(depth), np.zeros(depth)
    product, split = np.zeros(topics), np.zeros(topics, np.int64)
    active, sums = active_units(widest), sums_of(widest)
    expected = layers.expected
    for row in range(start, stop):
        first, last = indptr[row], indptr[row + 1]
        terms = (last - first + TILE - 1) // TILE * TILE
        count = data[first:last].sum()
        labelled = has_labels(link, count, last - first, topics)
        restart(rng, key ^ hashes[row], 0)
        z[: np.int64(count) if labelled else 0] = -1
        m[:] = 0.0
        used[:, 0] = 0
        place[:] = 0
        for cell in range(first, last):
            line, i = phi[indices[cell]], cell - first
            peak[i] = max(line.max(), 1e-300)
            for k in range(topics):
                rows[i, k] = line[k] / peak[i]
            share = line.sum() / peak[i]
            for k in range(second):
                columns[k * terms + i] = projected[indices[cell], k] * share
        # Start where every unit has the expectation that r implies for c = 1.
        a[at[depth - 1] : at[depth - 1] + width[depth - 1]] = layers.r
        for t in range(depth - 1, -1, -1):
            here = slice(at[t], at[t + 1])
            if t < depth - 1:
                mix_units(active, _down(layers, t), at[t + 1] - at[t], mixed)
                _scale(mixed, theta[t + 1], a[here])
            if t == 0 and depth > 1:
                prior[:] = mixed[: at[1]]
                mix_units(active, columns, terms, mixed)
                _scale(mixed, theta[1], smooth[:terms])
            theta[t] = list_units(a[here], parts[here], active)
        top, least = theta[depth - 1], 0.0
        if depth == 1:
            prior[:] = parts
            least = 0.999 / top  # parts lack what is negligible in the layer, smooth does not
            for cell in range(last - first):
                smooth[cell] = 0.0
                for k in range(topics):
                    smooth[cell] += rows[cell, k] * a[k]
        for sweep in range(burn_in + samples):
            if labelled:
                label_tokens(
                    rng, first, last, data, rows, smooth, prior, least, expected[:topics], product,
                    z, used[0], held, place, running, sums,
                )  # fmt: skip
                m[: at[1]] = 0.0
                for i in range(1, used[0, 0] + 1):
                    m[used[0, i]] = held[i]
            else:
                split_cells(
                    rng, first, last, data, link, noise, rows, peak, parts, theta[0],
                    expected[:topics], split, product,
                )  # fmt: skip
                used[0, 0], count = 0, 0.0
                for k in range(topics):
                    m[k] = split[k]
                    count += m[k]
                    if split[k]:
                        used[0, 0] += 1
                        used[0, used[0, 0]] = k
            for t in range(1, depth):
                below, here = slice(at[t - 1], at[t]), slice(at[t], at[t + 1])
                pass_up(
                    rng, m[below], used[t - 1], a[below], _up(layers, t), parts[here],
                    expected[at[t] : at[t] + width[t]], m[here], used[t], sums,
                )  # fmt: skip
            _draw_rates(rng, layers.prior, count, top, theta, c, q)
            for t in range(depth - 1, -1, -1):
                here = slice(at[t], at[t + 1])
                if t < depth - 1:
                    mix_units(active, _down(layers, t), at[t + 1] - at[t], mixed)
                    _scale(mixed, theta[t + 1], a[here])
                    if t == 0 and labelled:
                        prior[:] = mixed[: at[1]]
                        mix_units(active, columns, terms, mixed)
                        _scale(mixed, theta[1], smooth[:terms])
                if t > 0 or not labelled:
                    theta[t] = draw_units(rng, a[here], m[here], c[t] + q[t], parts[here], active)
            if sweep >= burn_in:
                _record(row, layers, moments, a, m, c, q, 1.0 / samples)
