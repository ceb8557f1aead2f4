"""The places where something holds, one after another, from words of 64 bits.

Sixteen comparisons at once give bits, whose places are then taken from a word one by one: a
branch for each number would be guessed wrongly, and so would the end of many short runs of them.
"""

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.simd.lanes import LANES, above, load_lanes, lowest_bit, nonzero

__all__ = ["find_above", "find_nonzero", "find_outside"]

_0, _1, _16, _64 = np.uint64(0), np.uint64(1), np.uint64(LANES), np.uint64(4 * LANES)
_SHIFTS = (np.uint64(0), np.uint64(16), np.uint64(32), np.uint64(48))


@njit(cache=True, nogil=True, forceinline=True)
def _take(word, first, places, found):
    """Append ``first`` + the place of each bit of a word; how many there are now."""
    while word:
        places[found] = first + lowest_bit(word)
        word &= word - _1
        found += _1
    return found


@njit(cache=True, nogil=True, forceinline=True)
def find_nonzero(m, begin, size, places):
    """Write the k < size with m[begin + k] != 0 to ``places``; how many there are. Flat arrays or
    pointers."""
    found, k = _0, _0
    while k + _64 <= size:
        word = _0
        for shift in _SHIFTS:
            word |= nonzero(m, begin + k + shift) << shift
        found = _take(word, k, places, found)
        k += _64
    while k + _16 <= size:
        found = _take(nonzero(m, begin + k), k, places, found)
        k += _16
    while k < size:
        places[found] = k
        found += np.uint64(m[begin + k] != 0)
        k += _1
    return found


@njit(cache=True, nogil=True, forceinline=True)
def find_above(a, begin, b, first, step, size, places, at):
    """Write the k < size with a[begin + k] > b[first + step k] to ``places``, from places[at] on;
    how many there are. Where step is 0, b[first : first + 16] are all the same number."""
    found, k = at, _0
    while k + _64 <= size:
        word = _0
        for shift in _SHIFTS:
            i = k + shift
            word |= above(load_lanes(a, begin + i), load_lanes(b, first + step * i)) << shift
        found = _take(word, k, places, found)
        k += _64
    while k + _16 <= size:
        word = above(load_lanes(a, begin + k), load_lanes(b, first + step * k))
        found = _take(word, k, places, found)
        k += _16
    while k < size:
        places[found] = k
        found += np.uint64(a[begin + k] > b[first + step * k])
        k += _1
    return found - at


@njit(cache=True, nogil=True, forceinline=True)
def find_outside(a, bounds, size, places):
    """Write the k < size with a[k] < bounds[0] or a[k] > bounds[16] to ``places``; how many there
    are. ``bounds`` holds each of the two sixteen times."""
    least, most = load_lanes(bounds, _0), load_lanes(bounds, _16)
    found, k = _0, _0
    while k + _64 <= size:
        word = _0
        for shift in _SHIFTS:
            lanes = load_lanes(a, k + shift)
            word |= (above(least, lanes) | above(lanes, most)) << shift
        found = _take(word, k, places, found)
        k += _64
    while k + _16 <= size:
        lanes = load_lanes(a, k)
        found = _take(above(least, lanes) | above(lanes, most), k, places, found)
        k += _16
    while k < size:
        places[found] = k
        found += np.uint64(a[k] < bounds[_0] or a[k] > bounds[_16])
        k += _1
    return found
