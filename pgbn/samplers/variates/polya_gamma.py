"""Pólya-gamma variates: given these, a logistic likelihood is Gaussian."""

import math

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import exp, log
from pgbn.samplers.random import exponential, normal, uniform

_CUT = 0.64  # where the two series for the density meet


@njit(cache=True, nogil=True)
def _upper_tail(x):
    """P(N(0, 1) > x) e^{x²/2}, for x >= 0: by the series of the lower part if x is small, else by a
    continued fraction."""
    if x < 3.0:
        term, total, k = x, x, 1
        while term > 1e-17 * total:
            term *= x * x / (2.0 * k + 1.0)
            total += term
            k += 1
        return 0.5 * exp(0.5 * x * x) - total / math.sqrt(2.0 * math.pi)
    fraction = 0.0
    for k in range(60, 0, -1):
        fraction = k / (x + fraction)
    return 1.0 / (math.sqrt(2.0 * math.pi) * (x + fraction))


@njit(cache=True, nogil=True)
def _lower_mass(z):
    """P(x < cut) of an inverse Gaussian x of mean 1 / z and shape 1."""
    root = math.sqrt(1.0 / _CUT)
    low, high = root * (1.0 - _CUT * z), root * (1.0 + _CUT * z)
    # Φ(-low) + e^{2z} Φ(-high); high² / 2 = low² / 2 + 2 z, so both have the factor e^{-low²/2}
    second = _upper_tail(high) * exp(-0.5 * low * low)
    if low >= 0.0:
        return _upper_tail(low) * exp(-0.5 * low * low) + second
    return 1.0 - _upper_tail(-low) * exp(-0.5 * low * low) + second


@njit(cache=True, nogil=True)
def _coefficient(n, x):
    """Term n of the alternating series for the density of J*(1, 0) at x."""
    k = n + 0.5
    if x > _CUT:
        return math.pi * k * exp(-0.5 * k * k * math.pi * math.pi * x)
    return math.pi * k * exp(-1.5 * log(0.5 * math.pi * x) - 2.0 * k * k / x)


@njit(cache=True, nogil=True)
def _below_cut(rng, z):
    """An inverse Gaussian of mean 1 / z and shape 1, given that it is below the cut."""
    if z < 1.0 / _CUT:
        while True:
            while True:
                first, second = exponential(rng), exponential(rng)
                if first * first <= 2.0 * second / _CUT:
                    break
            x = _CUT / ((1.0 + _CUT * first) * (1.0 + _CUT * first))
            if uniform(rng) <= exp(-0.5 * z * z * x):
                return x
    mean = 1.0 / z
    while True:
        y = normal(rng)
        y = mean * y * y
        x = mean * (1.0 + 0.5 * y - 0.5 * math.sqrt(4.0 * y + y * y))
        if uniform(rng) > mean / (mean + x):
            x = mean * mean / x
        if x < _CUT:
            return x


@njit(cache=True, nogil=True)
def draw_polya_gamma(rng, tilt):
    """ω ~ PG(1, tilt), exactly: E e^{-ω t} = cosh(tilt / 2) / cosh(√(tilt² / 4 + t / 2)).

    Polson, Scott and Windle, "Bayesian inference for logistic models using Pólya-gamma latent
    variables" (2013): a proposal of two pieces, and Devroye's squeeze by an alternating series.
    """
    z = 0.5 * abs(tilt)
    rate = 0.125 * math.pi * math.pi + 0.5 * z * z
    above = 0.5 * math.pi / rate * exp(-rate * _CUT)
    below = 2.0 * exp(-z) * _lower_mass(z)
    while True:
        if uniform(rng) * (above + below) < above:
            x = _CUT + exponential(rng) / rate
        else:
            x = _below_cut(rng, z)
        total = _coefficient(0, x)
        level, n = uniform(rng) * total, 0
        while True:
            n += 1
            if n % 2:
                total -= _coefficient(n, x)
                if level <= total:
                    return 0.25 * x
            else:
                total += _coefficient(n, x)
                if level > total:
                    break
