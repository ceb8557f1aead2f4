"""Poisson variates, plain and zero-truncated."""

import math

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import exp, expm1, log1p
from pgbn.samplers.random import uniform
from pgbn.samplers.variates.gamma import draw_gamma_from_one
from pgbn.samplers.variates.multinomial import draw_binomial

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
    """The count at which the cumulative probability passes u; a large rate does not use u."""
    if not rate <= _SEARCH:
        return draw_truncated_poisson(rng, rate)
    probability, n = rate / expm1(rate), 1
    while u > probability > 0.0:
        u -= probability
        n += 1
        probability *= rate / n
    return n


# ---- hidden count -------------------------------------------------------------------------------
#
# The hidden count of a gamma whose shape is a0 + h, h ~ Pois(λ).


@njit(cache=True, nogil=True)
def _ratio(h, w, offset, count):
    """P(h + 1) / P(h); a count below 0 means that the gamma itself is given."""
    if count == 0:
        return w / (h + 1.0)
    more = 1.0 if count < 0 else offset + h + count
    return w * more / ((h + 1.0) * (offset + h))


@njit(cache=True, nogil=True)
def draw_hidden_count(rng, w, offset, count):
    """h with P(h) proportional to w^h Γ(a0 + h + m) / (h! Γ(a0 + h)), by inversion from the mode;
    given the gamma itself (m < 0), to w^h / (h! Γ(a0 + h)), the Bessel law of order a0 - 1.

    With a0 = 0 a gamma of shape 0 is 0: h >= 1 if m > 0, or if the gamma is given and not 0.
    """
    low = 1 if offset == 0.0 and count != 0 else 0
    if not w > 0.0:
        return 0 if count < 0 else low
    if count < 0:  # where the ratio of two probabilities is about 1
        top = 0.5 * (math.sqrt((offset - 1.0) * (offset - 1.0) + 4.0 * w) - offset - 1.0)
    else:
        half = 0.5 * (w - 1.0 - offset)
        top = half + math.sqrt(half * half + max(w * (offset + count) - offset, 0.0))
    mode = max(low, int(top))
    while _ratio(mode, w, offset, count) > 1.0:
        mode += 1
    while mode > low and _ratio(mode - 1, w, offset, count) < 1.0:
        mode -= 1
    total, weight, h = 1.0, 1.0, mode
    while weight > 1e-18 * total:
        weight *= _ratio(h, w, offset, count)
        total += weight
        h += 1
    below, weight, h = 0.0, 1.0, mode
    while h > low and weight > 1e-18 * total:
        h -= 1
        weight /= _ratio(h, w, offset, count)
        below += weight
    left = uniform(rng) * (total + below)
    weight, h = 1.0, mode
    if left > total:  # below the mode
        left -= total
        while h > low:
            h -= 1
            weight /= _ratio(h, w, offset, count)
            left -= weight
            if left <= 0.0:
                return h
        return low
    while left > weight > 0.0:
        left -= weight
        weight *= _ratio(h, w, offset, count)
        h += 1
    return h
