"""Σ_k a[i, k] b[j, k]: the product of two matrices, the same bits for any number of threads.

A library's product may sum in another order when it runs on other threads; this one adds the
summands of every entry in the order of k. The inner loop runs over j, four summands at a time,
so that it vectorises without changing that order. Entries of ``a`` below 1e-20 of their row's
sum are left out: most hidden units of a deep layer are such, and a count that one of them
causes has a probability below the resolution of a random number (2^-53).
"""

import numpy as np
from numba import njit

__all__ = ["contract", "find_active"]

_NEGLIGIBLE = 1e-20


@njit(cache=True, nogil=True)
def find_active(row, active):
    """List the entries of a row that are not negligible; how many there are."""
    a = b = c = d = 0.0
    whole = row.size // 4 * 4
    for k in range(0, whole, 4):  # four sums at a time, since one would wait for itself
        a += row[k]
        b += row[k + 1]
        c += row[k + 2]
        d += row[k + 3]
    for k in range(whole, row.size):
        a += row[k]
    least = ((a + b) + (c + d)) * _NEGLIGIBLE
    found = 0
    for k in range(row.size):
        active[found] = k
        found += row[k] > least
    return found


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add_four(line, w0, w1, w2, w3, s0, s1, s2, s3):
    for j in range(line.size):
        line[j] = (((line[j] + w0 * s0[j]) + w1 * s1[j]) + w2 * s2[j]) + w3 * s3[j]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add_one(line, w, s):
    for j in range(line.size):
        line[j] += w * s[j]


@njit(cache=True, nogil=True)
def contract(_key, start, stop, a, b, out):
    """Rows start…stop of out[r, i, :] = Σ_k a[r, i, k] b[r, :, k], rows numbered r·I + i."""
    _, size, columns = out.shape
    inner = a.shape[2]
    turned = np.empty((inner, columns))
    active = np.empty(inner + 1, np.int64)
    current = -1
    for row in range(start, stop):
        r = row // size
        i = row % size
        if r != current:
            if current < 0 or b.shape[0] > 1:
                source = b[min(r, b.shape[0] - 1)]
                for j in range(columns):
                    for k in range(inner):
                        turned[k, j] = source[j, k]
            current = r
        line = out[r, i]
        left = a[min(r, a.shape[0] - 1), i]
        line[:] = 0.0
        found = find_active(left, active)
        p = 0
        while p + 4 <= found:
            k0, k1, k2, k3 = active[p], active[p + 1], active[p + 2], active[p + 3]
            _add_four(
                line, left[k0], left[k1], left[k2], left[k3],
                turned[k0], turned[k1], turned[k2], turned[k3],
            )  # fmt: skip
            p += 4
        while p < found:
            k0 = active[p]
            _add_one(line, left[k0], turned[k0])
            p += 1
