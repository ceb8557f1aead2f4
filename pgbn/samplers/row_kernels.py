"""Kernels of the vectorised draws: one row after another, each from its own stream.

``kernel(key, start, stop, *operands, out)`` fills the rows from ``start`` to ``stop`` of ``out``.
Most of them draw entry by entry, and are one loop around a function (rng, *operands) → number.
"""

import math

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import exp
from pgbn.samplers.random import exponential, new_rng, normal, restart, uniform
from pgbn.samplers.rows import row_of
from pgbn.samplers.uncounted import keep, uncounted
from pgbn.samplers.variates.crt import draw_crt
from pgbn.samplers.variates.dirichlet import draw_log_beta_odds, draw_neg_log_beta
from pgbn.samplers.variates.gamma import HUGE, TINY, draw_log_gamma, fill_rows, workspace
from pgbn.samplers.variates.gig import draw_bessel, draw_gig
from pgbn.samplers.variates.multinomial import draw_binomial
from pgbn.samplers.variates.poisson import (
    draw_hidden_count,
    draw_poisson,
    draw_truncated_poisson,
)
from pgbn.samplers.variates.polya_gamma import draw_polya_gamma

_LOG_LIMIT = 300.0 * math.log(10.0)


def _rows_of_none(draw):
    def kernel(key, start, stop, out):
        rng = new_rng()
        for row in range(start, stop):
            restart(rng, key, row)
            x = row_of(out, row, out)
            for i in range(x.size):
                x[i] = draw(rng)

    return kernel


def _rows_of_one(draw):
    def kernel(key, start, stop, a, out):
        rng = new_rng()
        for row in range(start, stop):
            restart(rng, key, row)
            u, x = row_of(a, row, out), row_of(out, row, out)
            for i in range(x.size):
                x[i] = draw(rng, u[min(i, u.size - 1)])

    return kernel


def _rows_of_two(draw):
    def kernel(key, start, stop, a, b, out):
        rng = new_rng()
        for row in range(start, stop):
            restart(rng, key, row)
            u, v, x = row_of(a, row, out), row_of(b, row, out), row_of(out, row, out)
            for i in range(x.size):
                x[i] = draw(rng, u[min(i, u.size - 1)], v[min(i, v.size - 1)])

    return kernel


def _rows_of_three(draw):
    def kernel(key, start, stop, a, b, c, out):
        rng = new_rng()
        for row in range(start, stop):
            restart(rng, key, row)
            u, v, w = row_of(a, row, out), row_of(b, row, out), row_of(c, row, out)
            x = row_of(out, row, out)
            for i in range(x.size):
                x[i] = draw(
                    rng, u[min(i, u.size - 1)], v[min(i, v.size - 1)], w[min(i, w.size - 1)]
                )

    return kernel


def _rows(name, draw, operands):
    """The kernel of a draw of one number. The name is that of its files on disk."""
    kernel = (_rows_of_none, _rows_of_one, _rows_of_two, _rows_of_three)[operands](draw)
    kernel.__name__ = kernel.__qualname__ = name
    kernel.__doc__ = draw.__doc__
    return njit(cache=True, nogil=True)(kernel)


@njit(cache=True, nogil=True, forceinline=True)
def _beta_odds(rng, a, b):
    """(1 - p) / p, p ~ Beta(a, b)."""
    return exp(max(-_LOG_LIMIT, min(draw_log_beta_odds(rng, a, b), _LOG_LIMIT)))


@njit(cache=True, nogil=True, forceinline=True)
def _bernoulli(rng, p):
    """1.0 with probability p."""
    return 1.0 if uniform(rng) < p else 0.0


@njit(cache=True, nogil=True, forceinline=True)
def _crt(rng, m, r):
    """l ~ CRT(m, r)."""
    return draw_crt(rng, m, r) if m else 0


uniform_rows = _rows("uniform_rows", uniform, 0)
normal_rows = _rows("normal_rows", normal, 0)
exponential_rows = _rows("exponential_rows", exponential, 0)
log_gamma_rows = _rows("log_gamma_rows", draw_log_gamma, 1)
beta_odds_rows = _rows("beta_odds_rows", _beta_odds, 2)
neg_log_beta_rows = _rows("neg_log_beta_rows", draw_neg_log_beta, 2)
bernoulli_rows = _rows("bernoulli_rows", _bernoulli, 1)
poisson_rows = _rows("poisson_rows", draw_poisson, 1)
truncated_poisson_rows = _rows("truncated_poisson_rows", draw_truncated_poisson, 1)
bessel_rows = _rows("bessel_rows", draw_bessel, 1)
binomial_rows = _rows("binomial_rows", draw_binomial, 2)
crt_rows = _rows("crt_rows", _crt, 2)
hidden_count_rows = _rows("hidden_count_rows", draw_hidden_count, 3)
gig_rows = _rows("gig_rows", draw_gig, 3)
polya_gamma_rows = _rows("polya_gamma_rows", draw_polya_gamma, 1)


@njit(cache=True, nogil=True)
def gamma_rows(key, start, stop, shape, rate, out):
    """x ~ Gam(shape, rate)."""
    size = out.shape[3]
    rng = new_rng()
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
