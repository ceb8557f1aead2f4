"""From log-gammas to points of a simplex."""

import math

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import exp

__all__ = ["softmax_lines"]


@njit(cache=True, nogil=True)
def softmax_lines(key, start, stop, array):
    """x_i = exp(l_i - max l) / sum_h exp(l_h - max l), in place, on the lines start..stop.

    With l_i = ln Gam(a_i) this is Dir(a) however small the a_i: the largest l always survives.
    Line b * after + c of an array (before, size, after) is array[b, :, c]. A line of -inf only
    becomes uniform. The key is not used: the signature is that of the row kernels.
    """
    _, size, after = array.shape
    top = np.empty(after)
    total = np.empty(after)
    line = start
    while line < stop:
        before = line // after
        low = line - before * after
        high = min(after, low + stop - line)
        # Neighbouring lines together, so that memory is read in order.
        top[low:high] = -math.inf
        total[low:high] = 0.0
        for i in range(size):
            for c in range(low, high):
                top[c] = max(top[c], array[before, i, c])
        for i in range(size):
            for c in range(low, high):
                value = array[before, i, c]
                # Equal to the top first: -inf minus -inf is not a number.
                value = 1.0 if value == top[c] else exp(value - top[c])
                array[before, i, c] = value
                total[c] += value
        for i in range(size):
            for c in range(low, high):
                array[before, i, c] /= total[c]
        line += high - low
