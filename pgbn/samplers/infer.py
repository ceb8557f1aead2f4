"""Hidden units of separate documents, with Φ^(1…T) and r held: all sweeps of one document.

One sweep of document j (Zhou, Cong and Chen 2015, section 2.3, without the global steps):

    z_i        ∝ φ^(1)_wk (m^(1)_k + a^(1)_k)                 θ^(1) marginalised (Poisson link)
    x^(t)_k    ~ CRT(m^(t-1)_k, a^(t-1)_k),   split ∝ φ^(t)_kl θ^(t)_l → m^(t)_l
    p^(2)      ~ Beta(a0 + m^(1)_·, b0 + a^(1)_·),   c^(t) ~ Gam(e0 + θ^(t)_·, f0 + θ^(t-1)_·)
    θ^(t)_k    ~ Gam(a^(t)_k + m^(t)_k, c^(t+1) + q^(t)),   t = T … 2 (… 1 for other links)

with a^(t) = Φ^(t+1) θ^(t+1), a^(T) = r and q^(1) = 1, q^(t+1) = log(1 + q^(t) / c^(t+1)).

The kernel adds up conditional moments given (a, m, c), not draws of θ: with α = a + m,
E θ_k = α_k / rate and E θ_k/θ_· = α_k / α_·. These have the same expectation and a smaller variance.
A document draws from a stream keyed by its content, so its result is its own.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from pgbn.random import mix, restart
from pgbn.samplers.bessel import bessel
from pgbn.samplers.beta import log_beta_odds
from pgbn.samplers.crt import crt
from pgbn.samplers.gamma import gamma_rate
from pgbn.samplers.listed import draw_topic, sum_dense, sum_listed
from pgbn.samplers.multinomial import multinomial
from pgbn.samplers.poisson import truncated_poisson

__all__ = ["Layers", "Moments", "hash_documents", "infer_documents"]

POISSON, BERNOULLI, GAMMA = 0, 1, 2


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
def _label_tokens(rng, first, last, indices, data, loadings, a, z, m, weight, before):
    """One pass over the tokens of a document; z = -1 for a token without a label yet."""
    topics = m.size
    for k in range(topics):
        weight[k] = m[k] + a[k]
    total = sum_dense(weight)
    token = 0
    for cell in range(first, last):
        w = np.uint64(indices[cell])
        begin = np.uint64(loadings.start[w])
        length = np.uint64(loadings.length[w])
        value = loadings.value[0, w]
        bound = loadings.bound[w]
        for _ in range(np.int64(data[cell])):
            old = z[token]
            if old >= 0:
                rest = m[old] - 1 + a[old]
                total += rest - weight[old]
                if total < 1e-6 * weight[old]:
                    weight[old] = rest
                    total = sum_dense(weight)
                weight[old] = rest
                m[old] -= 1
            listed = sum_listed(loadings.topic, loadings.large, begin, length, weight, before)
            new = np.int64(
                draw_topic(
                    rng,
                    loadings.topic,
                    loadings.large,
                    begin,
                    length,
                    value,
                    bound,
                    weight,
                    before,
                    listed,
                    total,
                )
            )
            if new >= topics:  # all products underflowed
                new = max(old, 0)
            z[token] = new
            m[new] += 1
            with_token = m[new] + a[new]
            total += with_token - weight[new]
            weight[new] = with_token
            token += 1


@njit(cache=True, nogil=True)
def _split_cells(rng, first, last, indices, data, link, noise, loadings, theta, m, product):
    """n_w given the data and the rate λ_w = Σ_k φ_wk θ_k, then a multinomial split of n_w."""
    m[:] = 0
    for cell in range(first, last):
        value = loadings.value[0, indices[cell]]
        rate = 0.0
        for k in range(m.size):
            product[k] = value[k] * theta[k]
            rate += product[k]
        if link == BERNOULLI:
            count = truncated_poisson(rng, rate)
        else:
            safe = max(rate, 1e-300)
            log_alpha = math.log(2.0) + 0.5 * (math.log(noise * data[cell]) + math.log(safe))
            count = bessel(rng, log_alpha)
        multinomial(rng, count, product[: m.size], m)


@njit(cache=True, nogil=True)
def _pass_up(rng, m_below, a_below, phi_up, theta, m, product):
    """Tables of every factor below, split among the factors of this layer."""
    m[:] = 0
    for k in range(m_below.size):
        if m_below[k]:
            tables = crt(rng, m_below[k], a_below[k])
            line = phi_up[k]
            for i in range(m.size):
                product[i] = line[i] * theta[i]
            multinomial(rng, tables, product[: m.size], m)


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
    for k in range(theta.size):
        theta[k] = gamma_rate(rng, a[k] + m[k], rate)


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
    key, start, stop, indptr, indices, data, hashes, link, noise, loadings, layers, burn_in,
    samples, moments,
):  # fmt: skip
    """All sweeps of documents start..stop; their moments are written to their rows."""
    at = layers.at
    depth = at.size - 1
    longest = 1
    for row in range(start, stop):
        tokens = 0.0
        if link == POISSON:
            for cell in range(indptr[row], indptr[row + 1]):
                tokens += data[cell]
        longest = max(longest, np.int64(tokens))
    width = 0
    for t in range(depth):
        width = max(width, at[t + 1] - at[t])
    rng = np.empty(2, np.uint64)
    z = np.empty(longest, np.int32)
    m = np.zeros(at[-1], np.int64)
    a = np.zeros(at[-1])
    theta = np.zeros(at[-1])
    c = np.ones(depth)
    q = np.ones(depth)
    product = np.zeros(width)
    weight = np.zeros((at[1] + 7) // 8 * 8)
    before = np.empty(weight.size // 8)
    a[at[depth - 1] :] = layers.r
    for row in range(start, stop):
        restart(rng, key ^ hashes[row], 0)
        z[:] = -1
        m[:] = 0
        # Start where every unit has the expectation that r implies for c = 1.
        theta[at[depth - 1] :] = layers.r
        for t in range(depth - 2, -1, -1):
            phi = layers.down[layers.place[t] : layers.place[t + 1]]
            phi = phi.reshape((at[t + 2] - at[t + 1], at[t + 1] - at[t]))
            _mix_down(theta[at[t + 1] : at[t + 2]], phi, a[at[t] : at[t + 1]])
            theta[at[t] : at[t + 1]] = a[at[t] : at[t + 1]]
        for sweep in range(burn_in + samples):
            first, last = indptr[row], indptr[row + 1]
            if link == POISSON:
                _label_tokens(
                    rng, first, last, indices, data, loadings, a[: at[1]], z, m[: at[1]], weight,
                    before,
                )  # fmt: skip
            else:
                _split_cells(
                    rng, first, last, indices, data, link, noise, loadings, theta[: at[1]],
                    m[: at[1]], product,
                )  # fmt: skip
            for t in range(1, depth):
                phi = layers.up[layers.place[t - 1] : layers.place[t]]
                phi = phi.reshape((at[t] - at[t - 1], at[t + 1] - at[t]))
                below, here = slice(at[t - 1], at[t]), slice(at[t], at[t + 1])
                _pass_up(rng, m[below], a[below], phi, theta[here], m[here], product)
            _draw_rates(rng, layers, theta, a, m, c, q)
            for t in range(depth - 1, -1, -1):
                here = slice(at[t], at[t + 1])
                if t < depth - 1:
                    phi = layers.down[layers.place[t] : layers.place[t + 1]]
                    phi = phi.reshape((at[t + 2] - at[t + 1], at[t + 1] - at[t]))
                    _mix_down(theta[at[t + 1] : at[t + 2]], phi, a[here])
                if t > 0 or link != POISSON:
                    _draw_units(rng, a[here], m[here], c[t] + q[t], theta[here])
            if sweep >= burn_in:
                _record(row, layers, moments, a, m, c, q, 1.0 / samples)
