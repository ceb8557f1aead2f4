"""Bessel variates: the latent count of a Poisson-randomised gamma."""

import math

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import exp, log, log_factorial
from pgbn.samplers.random import uniform

__all__ = ["draw_bessel"]

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
    """Inversion outwards from the mode, whose probability is known from the expansion of I_1."""
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
        # Rounding may leave a crumb of probability (1e-9 at alpha = 1e6): then draw again.
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

    Yuan and Kalbfleisch (2000); math.md 0.6. Takes ln alpha, as alpha^2 may underflow: n -> 1 as
    alpha -> 0. The time grows as sqrt(alpha); accurate for alpha up to 1e6 and beyond, a draw
    above alpha = 1e12 is made at 1e12.
    """
    if not log_alpha > -300.0:  # P(n > 1) is below alpha^2 / 8
        return 1
    alpha = exp(min(log_alpha, 27.63))
    if alpha < _SERIES:
        return _search_from_one(rng, 0.25 * alpha * alpha)
    return _search_from_mode(rng, alpha)
