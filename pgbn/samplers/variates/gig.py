"""Generalised inverse Gaussian variates."""

import math

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import exp, log, log_factorial
from pgbn.samplers.random import uniform
from pgbn.samplers.variates.gamma import draw_gamma_rate


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

    The log density of ln y is concave. A constant around the mode and exponential tails beyond,
    each a tangent, are above it. A draw is rejected with a bounded probability.
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

    A gamma at b = 0 (order > 0), an inverse gamma at a = 0 (order < 0); NaN if neither is a law.
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


# ---- bessel -------------------------------------------------------------------------------------
#
# Bessel variates: the latent count of a Poisson-randomised gamma.


_SERIES = 40.0  # below this alpha the weights are simply summed


@njit(cache=True, nogil=True)
def _search_from_one(rng, square):
    """Inversion upwards from n = 1 with the weights (alpha^2 / 4)^(n-1) / (n! (n-1)!)."""
    total, weight, n = 0.0, 1.0, 1
    while weight > 1e-18 * total:
        total += weight
        weight *= square / (n * (n + 1.0))
        n += 1
    u = uniform(rng) * total
    weight, n = 1.0, 1
    while u > weight > 0.0:
        u -= weight
        weight *= square / (n * (n + 1.0))
        n += 1
    return n


@njit(cache=True, nogil=True)
def _search_from_mode(rng, alpha):
    """Inversion outwards from the mode, whose probability follows from the expansion of I_1."""
    # I_1(a) = e^a / sqrt(2 pi a) * (1 - 3 / (8 a) - 15 / (128 a^2) - ...): term k is the last
    # times -(4 - (2k - 1)^2) / (8 k a). Beyond a = 40 it reaches 1e-17 before it diverges.
    series, term, k = 1.0, 1.0, 1
    while abs(term) > 1e-17 and k < 60:
        term *= ((2.0 * k - 1.0) ** 2 - 4.0) / (8.0 * k * alpha)
        series += term
        k += 1
    log_bessel = alpha - 0.5 * log(2.0 * math.pi * alpha) + log(series)
    mode = int(0.5 * (math.sqrt(alpha * alpha + 1.0) + 1.0))
    log_mode = (2.0 * mode - 1.0) * log(0.5 * alpha) - log_factorial(float(mode))
    at_mode = exp(log_mode - log_factorial(mode - 1.0) - log_bessel)
    square = 0.25 * alpha * alpha
    while True:
        u = uniform(rng) - at_mode
        if u <= 0.0:
            return mode
        above, below = mode, mode
        up, down = at_mode, at_mode
        # Rounding may leave a small probability (1e-9 at alpha = 1e6): then draw again.
        while up > 1e-25 or down > 1e-25:
            up *= square / (above * (above + 1.0))
            above += 1
            u -= up
            if u <= 0.0:
                return above
            if below > 1:
                down *= below * (below - 1.0) / square
                below -= 1
                u -= down
                if u <= 0.0:
                    return below
            else:
                down = 0.0


@njit(cache=True, nogil=True)
def draw_bessel(rng, log_alpha):
    """n >= 1 with P(n) = (alpha/2)^(2n-1) / (n! (n-1)! I_1(alpha)): Bessel(-1, alpha).

    Yuan and Kalbfleisch (2000). Takes ln alpha, as alpha^2 may underflow: n -> 1 as
    alpha -> 0. The time grows as sqrt(alpha); accurate for alpha up to 1e6 and beyond, a draw
    above alpha = 1e12 is made at 1e12.
    """
    if not log_alpha > -300.0:  # P(n > 1) is below alpha^2 / 8
        return 1
    alpha = exp(min(log_alpha, 27.63))
    if alpha < _SERIES:
        return _search_from_one(rng, 0.25 * alpha * alpha)
    return _search_from_mode(rng, alpha)
