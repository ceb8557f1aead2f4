"""Multinomial splits."""

import math

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import exp, expm1, log1p
from pgbn.samplers.lanes import filled
from pgbn.samplers.random import exponential, new_rng, restart, uniform
from pgbn.samplers.rows import entry
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


@njit(cache=True, nogil=True, forceinline=True)
def _first_cell(line, axis, shape):
    """The place (i, j, k, m) where a line along ``axis`` of an array begins."""
    _, first, second, third = shape
    first = 1 if axis == 1 else first
    second = 1 if axis == 2 else second
    third = 1 if axis == 3 else third
    rest = line // third
    return rest // (second * first), rest // second % first, rest % second, line % third


@njit(cache=True, nogil=True, forceinline=True)
def _read_line(array, i, j, k, m, axis, out):
    """The entries of a broadcast operand along ``axis``, from a place on."""
    for t in range(out.size):
        out[t] = entry(array, i, j + t * (axis == 1), k + t * (axis == 2), m + t * (axis == 3))


@njit(cache=True, nogil=True)
def multinomial_lines(key, start, stop, n, probability, axis, out):
    """`draw_multinomial` on the lines start..stop along ``axis``, each with a stream of its own."""
    size, rng = out.shape[axis], new_rng()
    weights, parts = np.empty(size), np.empty(size, np.int64)
    for line in range(start, stop):
        restart(rng, key, line)
        i, j, k, m = _first_cell(line, axis, out.shape)
        _read_line(probability, i, j, k, m, axis, weights)
        parts[:] = 0
        draw_multinomial(rng, entry(n, i, j, k, m), weights, parts)
        for t in range(size):
            out[i, j + t * (axis == 1), k + t * (axis == 2), m + t * (axis == 3)] = parts[t]


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


@njit(cache=True, nogil=True)
def categorical_lines(key, start, stop, logs, axis, out):
    """`draw_categorical` on the lines start..stop along ``axis``, as zeros with a single one."""
    size, rng = out.shape[axis], new_rng()
    own = np.empty(size)
    for line in range(start, stop):
        restart(rng, key, line)
        i, j, k, m = _first_cell(line, axis, out.shape)
        _read_line(logs, i, j, k, m, axis, own)
        chosen = draw_categorical(rng, own)
        for t in range(size):
            out[i, j + t * (axis == 1), k + t * (axis == 2), m + t * (axis == 3)] = t == chosen
