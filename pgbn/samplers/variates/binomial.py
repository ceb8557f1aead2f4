"""Binomial variates."""

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import exp, log1p
from pgbn.samplers.random import uniform
from pgbn.samplers.variates.gamma import draw_gamma_from_one

__all__ = ["draw_binomial"]

_SEARCH = 10.0  # sequential search below this mean


@njit(cache=True, nogil=True, forceinline=True)
def _search(rng, n, p):
    """Binomial(n, p), n p <= 10, by inversion: P(k + 1) / P(k) = (n - k) p / ((k + 1) (1 - p))."""
    odds = p / (1.0 - p)
    probability = exp(n * log1p(-p))
    u = uniform(rng)
    k = 0
    while u > probability and k < n:
        u -= probability
        probability *= odds * (n - k) / (k + 1)
        k += 1
    return k


@njit(cache=True, nogil=True, forceinline=True)
def draw_binomial(rng, n, p):
    """k ~ Binomial(n, p), exactly, in O(log n).

    Beta splitting (Relles, 1972; Ahrens and Dieter, 1974): the i-th smallest of n uniforms is
    y ~ Beta(i, n + 1 - i); the uniforms on one side of y are all counted or all not, those on the
    other are again uniform.
    """
    if n <= 0 or not p > 0.0:
        return 0
    if p >= 1.0:
        return n
    # k = base + sign * Binomial(n, p) throughout; p is kept at or below one half.
    base, sign = 0, 1
    while True:
        if p > 0.5:
            base, sign = base + sign * n, -sign
            p = 1.0 - p
        if n * p <= _SEARCH:
            return base + sign * _search(rng, n, p)
        i = n // 2 + 1
        low = draw_gamma_from_one(rng, float(i))
        high = draw_gamma_from_one(rng, float(n + 1 - i))
        y = low / (low + high)
        if y <= p:
            base += sign * i
            n -= i
            p = (p - y) / (1.0 - y)
        else:
            n = i - 1
            p = p / y
