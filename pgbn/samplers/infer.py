"""Hidden units of separate documents, with Φ^(1…T) and r held: all sweeps of one document.

One sweep of document j (Zhou, Cong and Chen 2015, section 2.3, without the global steps):

    z_i        ∝ φ^(1)_wk (m^(1)_k + a^(1)_k)                 θ^(1) marginalised (Poisson link)
    x^(t)_k    ~ CRT(m^(t-1)_k, a^(t-1)_k),   split ∝ φ^(t)_kl θ^(t)_l → m^(t)_l
    p^(2)      ~ Beta(a0 + m^(1)_·, b0 + a^(1)_·),   c^(t) ~ Gam(e0 + θ^(t)_·, f0 + θ^(t-1)_·)
    θ^(t)_k    ~ Gam(a^(t)_k + m^(t)_k, c^(t+1) + q^(t)),   t = T … 2 (… 1 for other links)

with a^(t) = Φ^(t+1) θ^(t+1), a^(T) = r and q^(1) = 1, q^(t+1) = log(1 + q^(t) / c^(t+1)).

The kernel adds up conditional moments given (a, m, c), not draws of θ: with α = a + m,
E θ_k = α_k / rate and E θ_k/θ_· = α_k / α_·. The expectation is the same, the variance smaller.
A document draws from a stream keyed by its content, so its result is its own.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from pgbn.random import exponential, mix, restart, uniform
from pgbn.samplers.beta import log_beta_odds
from pgbn.samplers.crt import crt
from pgbn.samplers.gamma import gamma_from_one, gamma_rate
from pgbn.samplers.infer_first import POISSON, label_tokens, split_cells, sum_prior
from pgbn.samplers.multinomial import multinomial

__all__ = ["Layers", "Moments", "hash_documents", "infer_documents"]

_TINY = 1e-290
# Unsigned, or numba would allow for negative indices in the innermost loops.
_1, _2, _3, _4, _5, _6, _7 = (np.uint64(i) for i in range(1, 8))


class Layers(NamedTuple):
    """The layers above the first, packed: layer t has the places at[t] … at[t + 1] of a vector.

    ``down`` and ``up`` hold, from place[t] on, Φ^(t+1) as (K_{t+1}, K_t) and its transpose, for
    t = 1 … T-1 (here and below, t is counted from 0). ``prior`` is (a0, b0, e0, f0).
    """

    at: np.ndarray
    place: np.ndarray
    down: np.ndarray
    up: np.ndarray
    r: np.ndarray
    prior: np.ndarray


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
def _pick_factor(line, theta, target):
    """Where the running sum of φ_l θ_l passes ``target``; -1 if all are 0."""
    size = np.uint64(line.size)
    k = np.uint64(0)
    while k + _7 < size:
        part = (
            (line[k] * theta[k] + line[k + _1] * theta[k + _1])
            + (line[k + _2] * theta[k + _2] + line[k + _3] * theta[k + _3])
        ) + (
            (line[k + _4] * theta[k + _4] + line[k + _5] * theta[k + _5])
            + (line[k + _6] * theta[k + _6] + line[k + _7] * theta[k + _7])
        )
        if target < part:
            break
        target -= part
        k += _7 + _1
    while k < size:
        target -= line[k] * theta[k]
        if target < 0.0:
            return np.int64(k)
        k += _1
    for i in range(line.size - 1, -1, -1):  # rounding led beyond the last
        if line[i] * theta[i] > 0.0:
            return i
    return -1


@njit(cache=True, nogil=True)
def _pass_up(rng, m_below, a_below, phi_up, theta, m, product):
    """Tables of every factor k below, each given to a factor l of this layer ∝ φ_kl θ_l.

    a_k = Σ_l φ_kl θ_l is known, so that one table needs no sum over l.
    """
    m[:] = 0
    for k in range(m_below.size):
        if m_below[k]:
            tables = crt(rng, m_below[k], a_below[k])
            line = phi_up[k]
            if tables <= 8:
                for _ in range(tables):
                    chosen = _pick_factor(line, theta, uniform(rng) * a_below[k])
                    if chosen < 0:  # all products underflowed
                        chosen = np.int64(uniform(rng) * m.size)
                    m[chosen] += 1
            else:
                for i in range(m.size):
                    product[i] = line[i] * theta[i]
                multinomial(rng, tables, product[: m.size], m)


@njit(cache=True, nogil=True)
def _down(layers, t):
    """Φ between the layers t and t + 1, a factor of the upper one a row."""
    at = layers.at
    flat = layers.down[layers.place[t] : layers.place[t + 1]]
    return flat.reshape((at[t + 2] - at[t + 1], at[t + 1] - at[t]))


@njit(cache=True, nogil=True)
def _up(layers, t):
    """Φ between the layers t - 1 and t, a factor of the lower one a row."""
    at = layers.at
    flat = layers.up[layers.place[t - 1] : layers.place[t]]
    return flat.reshape((at[t] - at[t - 1], at[t + 1] - at[t]))


@njit(cache=True, nogil=True)
def _mix_down(theta, phi_down, out):
    """out = Σ_l θ_l φ_l: the shapes of the layer below."""
    out[:] = 0.0
    for i in range(theta.size):
        weight = theta[i]
        if weight > 0.0:
            line = phi_down[i]
            for k in range(out.size):
                out[k] += weight * line[k]


@njit(cache=True, nogil=True)
def _total(vector):
    total = 0.0
    for k in range(vector.size):
        total += vector[k]
    return total


@njit(cache=True, nogil=True)
def _draw_rates(rng, layers, theta, a, m, c, q):
    """c[t] and q[t]: rate and exposure of layer t, θ^(t) ~ Gam(a, c[t]) heard through q[t]."""
    at, prior = layers.at, layers.prior
    depth = at.size - 1
    count = 0
    for k in range(at[1]):
        count += m[k]
    log_odds = log_beta_odds(rng, prior[0] + count, prior[1] + _total(a[: at[1]]))
    c[0] = math.exp(log_odds)
    q[0] = 1.0
    # The exposure of the second layer is ln(1 + 1/c), without forming 1/c.
    log_one_plus = math.log1p(math.exp(-abs(log_odds))) + max(-log_odds, 0.0)
    for t in range(1, depth):
        q[t] = log_one_plus if t == 1 else math.log1p(q[t - 1] / c[t - 1])
        above = layers.r if t == depth - 1 else theta[at[t + 1] : at[t + 2]]
        shape = prior[2] + _total(above)
        c[t] = gamma_rate(rng, shape, prior[3] + _total(theta[at[t] : at[t + 1]]))


@njit(cache=True, nogil=True, error_model="numpy")
def _draw_units(rng, a, m, rate, theta):
    """θ_k ~ Gam(a_k + m_k, rate).

    A unit of shape a < 1 without counts is Gam(a + 1, rate) e^{-E/a}, E ~ Exp(1). Beyond
    E/a = 100 it is below 1e-43 and set to 0, which saves most draws of the inner layers. If all
    units vanish, one is kept as a tiny number, k with probability a_k / a_·: that is the limit of
    θ/θ_· ~ Dir(a) as a → 0, so that the shares of a document without counts stay right.
    """
    total = 0.0
    for k in range(theta.size):
        if m[k] == 0 and a[k] < 1.0:
            decay = exponential(rng)
            if decay < 100.0 * a[k]:
                theta[k] = gamma_from_one(rng, a[k] + 1.0) / rate * math.exp(-decay / a[k])
            else:
                theta[k] = 0.0
        else:
            theta[k] = gamma_from_one(rng, a[k] + m[k]) / rate
        total += theta[k]
    if total == 0.0:
        target = uniform(rng) * _total(a)
        chosen = 0
        for k in range(theta.size):
            if a[k] > 0.0:
                chosen = k
                target -= a[k]
                if target < 0.0:
                    break
        theta[chosen] = _TINY


@njit(cache=True, nogil=True, error_model="numpy")
def _record(row, layers, moments, a, m, c, q, scale):
    """Add the conditional moments of every layer that is asked for, times ``scale``."""
    for t in range(layers.at.size - 1):
        column = moments.column[t]
        if column < 0:
            continue
        first, last = layers.at[t], layers.at[t + 1]
        size = last - first
        total = 0.0
        for i in range(first, last):
            total += a[i] + m[i]
        if moments.share.shape[1]:
            # A document without counts whose shapes all underflowed tells nothing of shares.
            mean, square = moments.share[row], moments.share_square[row]
            for i in range(size):
                alpha = a[first + i] + m[first + i]
                part = alpha / total if total > 0.0 else 1.0 / size
                mean[column + i] += scale * part
                square[column + i] += scale * part * ((alpha + 1.0) / (total + 1.0))
        if moments.unit.shape[1]:
            rate = c[t] + q[t]
            mean, square = moments.unit[row], moments.unit_square[row]
            for i in range(size):
                alpha = a[first + i] + m[first + i]
                mean[column + i] += scale * (alpha / rate)
                square[column + i] += scale * (alpha / rate) * ((alpha + 1.0) / rate)


@njit(cache=True, nogil=True)
def infer_documents(
    key, start, stop, indptr, indices, data, hashes, link, noise, phi, layers, burn_in, samples,
    moments,
):  # fmt: skip
    """All sweeps of documents start..stop; their moments are written to their rows.

    ``phi`` is Φ^(1) with a term a row, (V, K_1).
    """
    at = layers.at
    depth, topics = at.size - 1, at[1]
    longest, distinct, width = 1, 1, 0
    for row in range(start, stop):
        tokens = 0.0
        if link == POISSON:
            for cell in range(indptr[row], indptr[row + 1]):
                tokens += data[cell]
        longest = max(longest, np.int64(tokens))
        distinct = max(distinct, indptr[row + 1] - indptr[row])
    for t in range(depth):
        width = max(width, at[t + 1] - at[t])
    padded = (topics + 7) // 8 * 8
    rng = np.empty(2, np.uint64)
    z = np.empty(longest, np.int32)
    rows, edges = np.zeros((distinct, padded)), np.zeros((distinct, padded // 8))
    used, place = np.zeros(topics + 1, np.int32), np.zeros(topics, np.int32)
    held, running, prior = np.zeros(topics + 1), np.zeros(topics + 1), np.zeros(padded)
    m = np.zeros(at[-1], np.int64)
    a, theta = np.zeros(at[-1]), np.zeros(at[-1])
    c, q = np.ones(depth), np.ones(depth)
    product = np.zeros(width)
    for row in range(start, stop):
        first, last = indptr[row], indptr[row + 1]
        restart(rng, key ^ hashes[row], 0)
        z[:] = -1
        m[:] = 0
        used[0] = 0
        place[:] = 0
        for cell in range(first, last):
            rows[cell - first, :topics] = phi[indices[cell]]
        # Start where every unit has the expectation that r implies for c = 1.
        theta[at[depth - 1] :] = layers.r
        a[at[depth - 1] :] = layers.r
        for t in range(depth - 2, -1, -1):
            _mix_down(theta[at[t + 1] : at[t + 2]], _down(layers, t), a[at[t] : at[t + 1]])
            theta[at[t] : at[t + 1]] = a[at[t] : at[t + 1]]
        for sweep in range(burn_in + samples):
            if link == POISSON:
                if sweep == 0 or depth > 1:
                    prior[:topics] = a[:topics]
                    sum_prior(rows, last - first, prior, edges)
                label_tokens(
                    rng, first, last, data, rows, edges, prior, z, used, held, place, running
                )
                m[:topics] = 0
                for i in range(1, used[0] + 1):
                    m[used[i]] = np.int64(held[i])
            else:
                split_cells(rng, first, last, data, link, noise, rows, theta, m[:topics], product)
            for t in range(1, depth):
                below, here = slice(at[t - 1], at[t]), slice(at[t], at[t + 1])
                _pass_up(rng, m[below], a[below], _up(layers, t), theta[here], m[here], product)
            _draw_rates(rng, layers, theta, a, m, c, q)
            for t in range(depth - 1, -1, -1):
                here = slice(at[t], at[t + 1])
                if t < depth - 1:
                    _mix_down(theta[at[t + 1] : at[t + 2]], _down(layers, t), a[here])
                if t > 0 or link != POISSON:
                    _draw_units(rng, a[here], m[here], c[t] + q[t], theta[here])
            if sweep >= burn_in:
                _record(row, layers, moments, a, m, c, q, 1.0 / samples)
