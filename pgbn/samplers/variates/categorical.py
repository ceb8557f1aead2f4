"""Categorical variates: one of finitely many, given the logarithms of their weights."""

import math

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import exp
from pgbn.samplers.random import restart, uniform
from pgbn.samplers.rows import entry

__all__ = ["categorical_lines", "draw_categorical"]


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
    sizes = np.array(out.shape)
    sizes[axis] = 1
    _, first, second, third = sizes
    along_first, along_second, along_third = int(axis == 1), int(axis == 2), int(axis == 3)
    size = out.shape[axis]
    rng = np.empty(2, np.uint64)
    line_logs = np.empty(size)
    for line in range(start, stop):
        restart(rng, key, line)
        m = line % third
        k = line // third % second
        j = line // (third * second) % first
        i = line // (third * second * first)
        for t in range(size):
            line_logs[t] = entry(
                logs, i, j + t * along_first, k + t * along_second, m + t * along_third
            )
        chosen = draw_categorical(rng, line_logs)
        for t in range(size):
            out[i, j + t * along_first, k + t * along_second, m + t * along_third] = t == chosen
