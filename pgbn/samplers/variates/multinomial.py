"""Multinomial splits."""

import math

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import exp, expm1, log1p
from pgbn.samplers.lanes import filled
from pgbn.samplers.random import exponential, uniform
from pgbn.samplers.variates.gamma import draw_gamma_from_one

# ---- binomial -----------------------------------------------------------------------------------
#
# Binomial variates.


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


# ---- multinomial --------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _split_by_search(rng, count, weights, total, out):
    """Meet the cumulative weights with ``count`` uniforms drawn in ascending order.

    With i uniforms left, the next of them is where -ln(1 - u) has grown by E / i, E ~ Exp(1).
    """
    survival = -exponential(rng) / count
    target = -expm1(survival) * total
    cumulative = 0.0
    last = 0
    for k in range(weights.size):
        if weights[k] <= 0.0:
            continue
        last = k
        cumulative += weights[k]
        while target <= cumulative:
            out[k] += 1
            count -= 1
            if count == 0:
                return
            survival -= exponential(rng) / count
            target = -expm1(survival) * total
    out[last] += count  # only rounding can leave some


@njit(cache=True, nogil=True)
def _split_by_binomials(rng, count, weights, out):
    """n_k ~ Binomial(n - n_1 - ... - n_{k-1}, w_k / (w_k + w_{k+1} + ...)) for each k in turn."""
    # Sums from the back: a difference of cumulative sums would lose the small last weights.
    rest = np.empty(weights.size)
    sum_of_rest = 0.0
    for k in range(weights.size - 1, -1, -1):
        sum_of_rest += weights[k]
        rest[k] = sum_of_rest
    for k in range(weights.size):
        if weights[k] > 0.0:
            part = draw_binomial(rng, count, weights[k] / rest[k])
            out[k] += part
            count -= part
            if count == 0:
                return


@njit(cache=True, nogil=True)
def draw_multinomial(rng, count, weights, out):
    """Add to ``out`` a split of ``count``: n ~ Multinomial(count; w / sum w), exactly.

    The weights need not sum to 1. Weights that are all 0 stand for weights that all underflowed:
    the split is then uniform over the entries.
    """
    if count <= 0:
        return
    total = 0.0
    for k in range(weights.size):
        total += weights[k]
    if total == 0.0:
        weights = filled(np.empty(weights.size), 1.0)
        total = float(weights.size)
    # One binomial for each entry costs about as much as one step of the search for each unit.
    if count <= weights.size:
        _split_by_search(rng, count, weights, total, out)
    else:
        _split_by_binomials(rng, count, weights, out)


# ---- categorical --------------------------------------------------------------------------------
#
# Categorical variates: one of finitely many, given the logarithms of their weights.


@njit(cache=True, nogil=True)
def draw_categorical(rng, logs):
    """k with P(k) proportional to exp(logs[k]), by inversion; any k if all weights are 0."""
    largest = logs.max()
    if largest == -math.inf:
        return min(int(uniform(rng) * logs.size), logs.size - 1)
    total = 0.0
    for k in range(logs.size):
        total += exp(logs[k] - largest)
    left = uniform(rng) * total
    last = 0
    for k in range(logs.size):
        weight = exp(logs[k] - largest)
        if weight > 0.0:
            last = k
            left -= weight
            if left <= 0.0:
                return k
    return last
