"""Moments of hidden units, added up over sweeps.

With α = a + m, E θ_k = α_k / rate and E θ_k/θ_· = α_k / α_·: conditional moments given (a, m, c),
not draws of θ. The expectation is the same, the variance smaller.
"""

from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.simd.sums import row_total

__all__ = ["Moments", "add_moments"]

_0 = np.uint64(0)


class Moments(NamedTuple):
    """First and second moments of θ^(t)/θ^(t)_· and of θ^(t), (documents, places) each.

    Layer t goes to the columns from ``column[t]`` on, or nowhere if that is negative. Arrays of no
    columns are not filled.
    """

    column: np.ndarray
    share: np.ndarray
    share_square: np.ndarray
    unit: np.ndarray
    unit_square: np.ndarray


@njit(cache=True, nogil=True)
def _total(a, m):
    """Σ_k α_k, in an order that no machine changes."""
    return row_total(a, _0, np.uint64(a.size)) + row_total(m, _0, np.uint64(m.size))


@njit(cache=True, nogil=True)
def _add(a, m, first, second, mean, square):
    """Add first · α and second · α (α + 1), α = a + m."""
    for k in range(mean.size):
        alpha = a[k] + m[k]
        mean[k] += first * alpha
        square[k] += second * alpha * (alpha + 1.0)


@njit(cache=True, nogil=True)
def add_moments(row, layers, moments, state, scale):
    """Add the conditional moments of every layer that is asked for, times ``scale``."""
    for t in range(layers.width.size):
        if moments.column[t] < 0:
            continue
        here = slice(layers.at[t], layers.at[t] + layers.width[t])
        columns = slice(moments.column[t], moments.column[t] + layers.width[t])
        a, m = state.a[here], state.m[here]
        if moments.share.shape[1]:
            mean, square = moments.share[row, columns], moments.share_square[row, columns]
            total = _total(a, m)
            if total > 0.0:
                first = scale / total
                _add(a, m, first, first / (total + 1.0), mean, square)
            else:  # a document without counts whose shapes all underflowed: no news of shares
                for k in range(mean.size):
                    mean[k] += scale / mean.size
                    square[k] += scale / mean.size
        if moments.unit.shape[1]:
            mean, square = moments.unit[row, columns], moments.unit_square[row, columns]
            rate = state.c[t] + state.q[t]
            first = scale / rate
            _add(a, m, first, first / rate, mean, square)
