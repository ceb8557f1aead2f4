"""Multinomial splits."""

import math

import numpy as np
from numba import njit

from pgbn.random import exponential
from pgbn.samplers.binomial import binomial

__all__ = ["multinomial"]


@njit(cache=True, nogil=True)
def _split_by_search(rng, count, weights, total, out):
    """Meet the cumulative weights with ``count`` uniforms drawn in ascending order.

    With i uniforms left, the next of them is where -ln(1 - u) has grown by E / i, E ~ Exp(1).
    """
    survival = -exponential(rng) / count
    target = -math.expm1(survival) * total
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
            target = -math.expm1(survival) * total
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
            part = binomial(rng, count, weights[k] / rest[k])
            out[k] += part
            count -= part
            if count == 0:
                return


@njit(cache=True, nogil=True)
def multinomial(rng, count, weights, out):
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
        weights = np.ones(weights.size)
        total = float(weights.size)
    # One binomial for each entry costs about as much as one step of the search for each unit.
    if count <= weights.size:
        _split_by_search(rng, count, weights, total, out)
    else:
        _split_by_binomials(rng, count, weights, out)
