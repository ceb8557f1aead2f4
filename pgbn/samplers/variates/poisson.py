"""Poisson variates, plain and zero-truncated."""

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import exp, expm1, log1p
from pgbn.samplers.random import uniform
from pgbn.samplers.variates.binomial import draw_binomial
from pgbn.samplers.variates.gamma import draw_gamma_from_one

__all__ = ["draw_poisson", "draw_small_truncated", "draw_truncated_poisson"]

_SEARCH = 12.0  # sequential search below this rate
_LARGEST = 1e18  # rates above it are cut to it: the count must fit in an int64


@njit(cache=True, nogil=True, forceinline=True)
def draw_poisson(rng, rate):
    """k ~ Poisson(rate), exactly.

    A large rate is split at the time x ~ Gam(n) of the n-th point of a unit-rate Poisson process
    on (0, rate), n = 7/8 rate (Ahrens and Dieter, 1974): if x < rate, n points and
    Poisson(rate - x) more; else Binomial(n - 1, rate / x). Small rates by sequential search.
    """
    if not rate > 0.0:
        return 0
    rate = min(rate, _LARGEST)
    base = 0
    while rate > _SEARCH:
        n = int(0.875 * rate)
        x = draw_gamma_from_one(rng, float(n))
        if x > rate:
            return base + draw_binomial(rng, n - 1, rate / x)
        base += n
        rate -= x
    probability = exp(-rate)
    u = uniform(rng)
    k = 0
    while u > probability > 0.0:
        u -= probability
        k += 1
        probability *= rate / k
    return base + k


@njit(cache=True, nogil=True, forceinline=True)
def draw_truncated_poisson(rng, rate):
    """n ~ Poisson(rate) given n >= 1: 1 + Poisson(rate - t), t the time of the first point.

    t is exponential truncated to (0, rate): t = -log1p(u expm1(-rate)). No rejection, and 1 as
    rate -> 0.
    """
    if not rate > 1e-300:
        return 1
    remaining = rate + log1p(uniform(rng) * expm1(-rate))
    return 1 + draw_poisson(rng, remaining)


@njit(cache=True, nogil=True, forceinline=True)
def draw_small_truncated(rng, rate):
    """n ~ Poisson(rate) given n >= 1, for rates that are mostly far below 1.

    P(n = 1) = rate / (e^rate - 1) >= 1 - rate / 2, which decides most draws.
    """
    u = uniform(rng)
    if u < 1.0 - 0.5 * rate:
        return 1
    return _search_truncated(rng, u, rate)


@njit(cache=True, nogil=True)
def _search_truncated(rng, u, rate):
    """The count at which the cumulative probability passes u, which a large rate has no use for."""
    if not rate <= _SEARCH:
        return draw_truncated_poisson(rng, rate)
    probability, n = rate / expm1(rate), 1
    while u > probability > 0.0:
        u -= probability
        n += 1
        probability *= rate / n
    return n
