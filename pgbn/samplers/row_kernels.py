"""Kernels of the vectorised draws: one row after another, each from its own stream.

``kernel(key, start, stop, *operands, out)`` fills the rows from ``start`` to ``stop`` of ``out``.
"""

import math

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import exp
from pgbn.samplers.random import exponential, normal, restart, uniform
from pgbn.samplers.rows import row_of
from pgbn.samplers.uncounted import keep, uncounted
from pgbn.samplers.variates.crt import draw_crt
from pgbn.samplers.variates.dirichlet import draw_log_beta_odds, draw_neg_log_beta
from pgbn.samplers.variates.gamma import HUGE, TINY, draw_log_gamma, fill_rows, workspace
from pgbn.samplers.variates.gig import draw_bessel, draw_gig
from pgbn.samplers.variates.multinomial import draw_binomial
from pgbn.samplers.variates.poisson import draw_poisson, draw_truncated_poisson
from pgbn.samplers.variates.polya_gamma import draw_polya_gamma

_LOG_LIMIT = 300.0 * math.log(10.0)


@njit(cache=True, nogil=True)
def uniform_rows(key, start, stop, out):
    """x ~ U(0, 1)."""
    rng = np.empty(2, np.uint64)
    for row in range(start, stop):
        restart(rng, key, row)
        x = row_of(out, row, out)
        for i in range(x.size):
            x[i] = uniform(rng)


@njit(cache=True, nogil=True)
def normal_rows(key, start, stop, out):
    """x ~ N(0, 1)."""
    rng = np.empty(2, np.uint64)
    for row in range(start, stop):
        restart(rng, key, row)
        x = row_of(out, row, out)
        for i in range(x.size):
            x[i] = normal(rng)


@njit(cache=True, nogil=True)
def exponential_rows(key, start, stop, out):
    """x ~ Exp(1)."""
    rng = np.empty(2, np.uint64)
    for row in range(start, stop):
        restart(rng, key, row)
        x = row_of(out, row, out)
        for i in range(x.size):
            x[i] = exponential(rng)


@njit(cache=True, nogil=True)
def gamma_rows(key, start, stop, shape, rate, out):
    """x ~ Gam(shape, rate)."""
    size = out.shape[3]
    rng = np.empty(2, np.uint64)
    room, scale = workspace(1, size, np.float64), np.empty(1)
    work = uncounted(room)
    shapes = work.shape[0]
    flat = out.reshape(-1)
    for row in range(start, stop):
        restart(rng, key, row)
        a, c, line = row_of(shape, row, out), row_of(rate, row, out), row_of(out, row, out)
        if a.size == 1:
            for i in range(shapes.size):
                shapes[i] = a[0]
        else:
            for i in range(size):
                shapes[i] = a[i]
        if c.size == 1:
            scale[0] = 1.0 / c[0]
            fill_rows(rng, work, 1, scale, TINY, row * size, flat)
        else:
            scale[0] = 1.0
            fill_rows(rng, work, 1, scale, 0.0, row * size, flat)
            for i in range(size):
                value = min(max(line[i] * (1.0 / c[i]), TINY), HUGE)
                line[i] = value if shapes[i] > 0.0 else shapes[i]
    keep(room)


@njit(cache=True, nogil=True)
def log_gamma_rows(key, start, stop, shape, out):
    """ln x, x ~ Gam(shape, 1)."""
    rng = np.empty(2, np.uint64)
    for row in range(start, stop):
        restart(rng, key, row)
        a, x = row_of(shape, row, out), row_of(out, row, out)
        for i in range(x.size):
            x[i] = draw_log_gamma(rng, a[min(i, a.size - 1)])


@njit(cache=True, nogil=True)
def beta_odds_rows(key, start, stop, a, b, out):
    """(1 - p) / p, p ~ Beta(a, b)."""
    rng = np.empty(2, np.uint64)
    for row in range(start, stop):
        restart(rng, key, row)
        u, v, x = row_of(a, row, out), row_of(b, row, out), row_of(out, row, out)
        for i in range(x.size):
            log_odds = draw_log_beta_odds(rng, u[min(i, u.size - 1)], v[min(i, v.size - 1)])
            x[i] = exp(max(-_LOG_LIMIT, min(log_odds, _LOG_LIMIT)))


@njit(cache=True, nogil=True)
def neg_log_beta_rows(key, start, stop, a, n, out):
    """-ln s, s ~ Beta(a, n)."""
    rng = np.empty(2, np.uint64)
    for row in range(start, stop):
        restart(rng, key, row)
        u, v, x = row_of(a, row, out), row_of(n, row, out), row_of(out, row, out)
        for i in range(x.size):
            x[i] = draw_neg_log_beta(rng, u[min(i, u.size - 1)], v[min(i, v.size - 1)])


@njit(cache=True, nogil=True)
def bernoulli_rows(key, start, stop, p, out):
    """1.0 with probability p."""
    rng = np.empty(2, np.uint64)
    for row in range(start, stop):
        restart(rng, key, row)
        u, x = row_of(p, row, out), row_of(out, row, out)
        for i in range(x.size):
            x[i] = 1.0 if uniform(rng) < u[min(i, u.size - 1)] else 0.0


@njit(cache=True, nogil=True)
def poisson_rows(key, start, stop, rate, out):
    """n ~ Poisson(rate)."""
    rng = np.empty(2, np.uint64)
    for row in range(start, stop):
        restart(rng, key, row)
        u, x = row_of(rate, row, out), row_of(out, row, out)
        for i in range(x.size):
            x[i] = draw_poisson(rng, u[min(i, u.size - 1)])


@njit(cache=True, nogil=True)
def truncated_poisson_rows(key, start, stop, rate, out):
    """n ~ Poisson(rate) given n >= 1."""
    rng = np.empty(2, np.uint64)
    for row in range(start, stop):
        restart(rng, key, row)
        u, x = row_of(rate, row, out), row_of(out, row, out)
        for i in range(x.size):
            x[i] = draw_truncated_poisson(rng, u[min(i, u.size - 1)])


@njit(cache=True, nogil=True)
def bessel_rows(key, start, stop, log_alpha, out):
    """n ~ Bessel(-1, alpha), n >= 1."""
    rng = np.empty(2, np.uint64)
    for row in range(start, stop):
        restart(rng, key, row)
        u, x = row_of(log_alpha, row, out), row_of(out, row, out)
        for i in range(x.size):
            x[i] = draw_bessel(rng, u[min(i, u.size - 1)])


@njit(cache=True, nogil=True)
def binomial_rows(key, start, stop, n, p, out):
    """k ~ Binomial(n, p)."""
    rng = np.empty(2, np.uint64)
    for row in range(start, stop):
        restart(rng, key, row)
        u, v, x = row_of(n, row, out), row_of(p, row, out), row_of(out, row, out)
        for i in range(x.size):
            x[i] = draw_binomial(rng, u[min(i, u.size - 1)], v[min(i, v.size - 1)])


@njit(cache=True, nogil=True)
def crt_rows(key, start, stop, m, r, out):
    """l ~ CRT(m, r)."""
    rng = np.empty(2, np.uint64)
    for row in range(start, stop):
        restart(rng, key, row)
        u, v, x = row_of(m, row, out), row_of(r, row, out), row_of(out, row, out)
        for i in range(x.size):
            count = u[min(i, u.size - 1)]
            x[i] = draw_crt(rng, count, v[min(i, v.size - 1)]) if count else 0


@njit(cache=True, nogil=True)
def gig_rows(key, start, stop, order, a, b, out):
    """x ~ GIG(order, a, b)."""
    rng = np.empty(2, np.uint64)
    for row in range(start, stop):
        restart(rng, key, row)
        p, u, v = row_of(order, row, out), row_of(a, row, out), row_of(b, row, out)
        x = row_of(out, row, out)
        for i in range(x.size):
            x[i] = draw_gig(
                rng, p[min(i, p.size - 1)], u[min(i, u.size - 1)], v[min(i, v.size - 1)]
            )


@njit(cache=True, nogil=True)
def polya_gamma_rows(key, start, stop, tilt, out):
    """x ~ PG(1, tilt)."""
    rng = np.empty(2, np.uint64)
    for row in range(start, stop):
        restart(rng, key, row)
        u, x = row_of(tilt, row, out), row_of(out, row, out)
        for i in range(x.size):
            x[i] = draw_polya_gamma(rng, u[min(i, u.size - 1)])
