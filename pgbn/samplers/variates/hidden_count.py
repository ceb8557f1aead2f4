"""The hidden count of a gamma whose shape is a0 + h, h ~ Pois(λ)."""

import math

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.random import restart, uniform
from pgbn.samplers.rows import row_of

__all__ = ["draw_hidden_count", "hidden_count_rows"]


@njit(cache=True, nogil=True)
def _ratio(h, w, offset, count):
    """P(h + 1) / P(h); a count below 0 means that the gamma itself is known."""
    if count == 0:
        return w / (h + 1.0)
    more = 1.0 if count < 0 else offset + h + count
    return w * more / ((h + 1.0) * (offset + h))


@njit(cache=True, nogil=True)
def draw_hidden_count(rng, w, offset, count):
    """h with P(h) proportional to w^h Γ(a0 + h + m) / (h! Γ(a0 + h)), by inversion from the mode;
    given the gamma itself (m < 0), to w^h / (h! Γ(a0 + h)), the Bessel law of order a0 - 1.

    With a0 = 0 a gamma of shape 0 is 0: h >= 1 where m > 0, or where the gamma is known and not 0.
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


@njit(cache=True, nogil=True)
def hidden_count_rows(key, start, stop, w, offset, count, out):
    """`draw_hidden_count` of every cell of some rows."""
    rng = np.empty(2, np.uint64)
    for row in range(start, stop):
        restart(rng, key, row)
        u, a, m = row_of(w, row, out), row_of(offset, row, out), row_of(count, row, out)
        x = row_of(out, row, out)
        for i in range(x.size):
            x[i] = draw_hidden_count(
                rng, u[min(i, u.size - 1)], a[min(i, a.size - 1)], m[min(i, m.size - 1)]
            )
