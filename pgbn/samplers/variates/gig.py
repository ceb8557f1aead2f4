"""Generalised inverse Gaussian variates."""

import math

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import exp, log
from pgbn.samplers.random import uniform
from pgbn.samplers.variates.gamma import draw_gamma_rate

__all__ = ["draw_gig"]


@njit(cache=True, nogil=True)
def _psi(x, alpha, order):
    """The log density of ln x, moved to its mode 0: -alpha (cosh x - 1) - order (e^x - x - 1)."""
    up = exp(x)
    return -alpha * (0.5 * (up + 1.0 / up) - 1.0) - order * (up - x - 1.0)


@njit(cache=True, nogil=True)
def _slope(x, alpha, order):
    up = exp(x)
    return -alpha * 0.5 * (up - 1.0 / up) - order * (up - 1.0)


@njit(cache=True, nogil=True)
def _right(alpha, order):
    """Where the tail above the mode begins: about where the density has fallen by e."""
    fall = -_psi(1.0, alpha, order)
    if fall > 2.0:
        return math.sqrt(2.0 / (alpha + order))
    return 1.0 if fall >= 0.5 else log(4.0 / (alpha + 2.0 * order))


@njit(cache=True, nogil=True)
def _left(alpha, order):
    """The same below the mode."""
    fall = -_psi(-1.0, alpha, order)
    if fall > 2.0:
        return math.sqrt(4.0 / (alpha * 1.5430806348152437 + order))  # cosh 1
    if fall >= 0.5:
        return 1.0
    by_alpha = log(1.0 + 1.0 / alpha + math.sqrt(1.0 / (alpha * alpha) + 2.0 / alpha))
    return min(1.0 / order, by_alpha) if order > 0.0 else by_alpha


@njit(cache=True, nogil=True)
def _log_gig(rng, order, omega):
    """ln y with p(y) proportional to y^(order-1) exp(-omega (y + 1/y) / 2), order >= 0: Devroye,
    "Random variate generation for the generalized inverse Gaussian distribution" (2014).

    The log density of ln y is concave: a constant around the mode, exponential tails beyond, each a
    tangent, lie above it, and a draw is rejected with a probability that is bounded.
    """
    alpha = omega * omega / (math.sqrt(omega * omega + order * order) + order)
    t, s = _right(alpha, order), _left(alpha, order)
    eta, zeta = -_psi(t, alpha, order), -_slope(t, alpha, order)
    theta, xi = -_psi(-s, alpha, order), _slope(-s, alpha, order)
    right, left = 1.0 / zeta, 1.0 / xi
    begin, end = -(s - left * theta), t - right * eta
    middle = end - begin
    while True:
        u, v = uniform(rng) * (left + middle + right), uniform(rng)
        if u < middle:
            x, bound = begin + middle * v, 0.0
        elif u < middle + right:
            x = end - right * log(v)
            bound = -eta - zeta * (x - t)
        else:
            x = begin + left * log(v)
            bound = -theta + xi * (x + s)
        if log(uniform(rng)) + bound <= _psi(x, alpha, order):
            ratio = order / omega
            return x + log(ratio + math.sqrt(1.0 + ratio * ratio))


@njit(cache=True, nogil=True)
def draw_gig(rng, order, a, b):
    """x with density proportional to x^(order-1) exp(-(a x + b / x) / 2).

    A gamma at b = 0 (order > 0), an inverse gamma at a = 0 (order < 0); NaN where neither is a law.
    """
    if b == 0.0 and order > 0.0 and a > 0.0:
        return draw_gamma_rate(rng, order, 0.5 * a)
    if a == 0.0 and order < 0.0 and b > 0.0:
        return 1.0 / draw_gamma_rate(rng, -order, 0.5 * b)
    if not (a > 0.0 and b > 0.0):
        return math.nan
    root = math.sqrt(a) * math.sqrt(b)
    log_y = _log_gig(rng, abs(order), root)
    scale = 0.5 * (log(b) - log(a))
    return exp(scale + (log_y if order >= 0.0 else -log_y))
