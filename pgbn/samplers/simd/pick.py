"""One of many units with probability ∝ φ_k θ_k.

Products are added in sixteen lanes, unit k in lane k mod 16: first a lane is picked, then a unit
of it. They are float32 numbers, and so are their running sums: an error of 1e-7 in a probability.
Vectors are filled with zeros to a multiple of 16; indices are those of flat arrays.
"""

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.random import uniform
from pgbn.samplers.simd.lanes import (
    LANES,
    above,
    add_product,
    broadcast,
    last,
    load_lanes,
    lowest_bit,
    running_sum,
    store_lanes,
    zeros,
)

__all__ = ["ROOM", "pick", "weigh"]

ROOM = 2 * LANES  # places of one sum over lanes: a zero, the sixteen, and the rest of a line
_0, _1, _LANES = np.uint64(0), np.uint64(1), np.uint64(LANES)
_NOTHING = np.float32(0.0)


@njit(cache=True, nogil=True, forceinline=True)
def weigh(phi, begin, theta, size, reached, at, lanes, first):
    """Σ_k φ_k θ_k, φ at the places from ``begin`` on.

    Fills the running sums for `pick`: reached[at + k] within the lane of unit k, and
    lanes[first + 1 + i] over the lanes 0 … i; lanes[first] must be 0.
    """
    total = zeros(theta)
    k = _0
    while k < size:
        total = add_product(total, load_lanes(phi, begin + k), load_lanes(theta, k))
        store_lanes(reached, at + k, total)
        k += _LANES
    total = running_sum(total)
    store_lanes(lanes, first + _1, total)
    return np.float64(last(total))


@njit(cache=True, nogil=True, forceinline=True)
def pick(rng, size, reached, at, lanes, first, weight):
    """The unit where the running sum, lane after lane, passes a random target; see `weigh`.

    Without branches, which would be guessed wrongly. Rounding may lead beyond the end of the
    lanes or of a lane, or before its beginning: then another target is drawn.
    """
    while True:
        target = np.float32(uniform(rng) * weight)
        passed = above(load_lanes(lanes, first + _1), broadcast(target))
        if not passed:
            continue
        chosen = k = lowest_bit(passed)
        rest = target - lanes[first + chosen]
        while k < size:
            chosen += _LANES * np.uint64(rest >= reached[at + k])
            k += _LANES
        if chosen < size and rest >= _NOTHING:
            return chosen
