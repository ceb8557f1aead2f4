"""Log-normal variates given a Poisson count."""

import math

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import exp, expm1, log
from pgbn.samplers.random import exponential, normal, uniform


@njit(cache=True, nogil=True)
def _omega(z):
    """The w with w + ln w = z, by Newton's method."""
    if z < -36.0:
        return exp(z)
    w = z - log(z) if z > 1.0 else exp(z)
    for _ in range(20):
        new = w * (1.0 + z - log(w)) / (1.0 + w)
        if abs(new - w) <= 1e-15 * new:
            return new
        w = new
    return w


@njit(cache=True, nogil=True)
def _log_ratio(t, h, precision):
    """ln of the density at distance t from the mode, over that at the mode."""
    return h * (t - expm1(t)) - 0.5 * precision * t * t


@njit(cache=True, nogil=True)
def draw_log_rate(rng, mean, precision, count, exposure):
    """y = ln λ, y ~ N(μ, 1/τ), given n ~ Pois(qλ): the density exp(n y − q e^y − ½τ(y−μ)²).

    With ν = μ + n/τ the mode is ν − w, w + ln w = ν + ln(q/τ), and at a distance t of it the log
    density is h(t − e^t + 1) − ½τt², h = τw: concave. Rejection from a hat of three pieces, flat
    around the mode and with tangents one standard deviation to both sides (Devroye 1986, ch. VII).
    """
    centre = mean + count / precision
    if not exposure > 0.0:
        return centre + normal(rng) / math.sqrt(precision)
    w = _omega(centre + log(exposure) - log(precision))
    h = precision * w
    step = 1.0 / math.sqrt(precision + h)
    slope_left = precision * step - h * expm1(-step)
    slope_right = precision * step + h * expm1(step)
    edge_left = -step - _log_ratio(-step, h, precision) / slope_left
    edge_right = step + _log_ratio(step, h, precision) / slope_right
    left, right = 1.0 / slope_left, 1.0 / slope_right
    middle = edge_right - edge_left
    while True:
        place = uniform(rng) * (left + middle + right)
        if place < left:
            tail = exponential(rng)
            t, hat = edge_left - tail * left, -tail
        elif place < left + right:
            tail = exponential(rng)
            t, hat = edge_right + tail * right, -tail
        else:
            t, hat = edge_left + middle * uniform(rng), 0.0
        if -exponential(rng) <= _log_ratio(t, h, precision) - hat:
            return centre - w + t
