"""Running sums in a register, and arrays that begin with a line of the cache; see lanes.py."""

import numpy as np
from llvmlite import ir
from numba import njit
from numba.extending import intrinsic

from pgbn.samplers.lanes import LANES

__all__ = ["aligned", "last", "running_sum"]


@njit(cache=True, nogil=True)
def aligned(size):
    """Zeros, float32, that begin where a line of the cache does: one access reads a register."""
    room = np.zeros(size + 16, np.float32)
    first = (64 - room.ctypes.data % 64) % 64 // 4
    return room[first : first + size]


@intrinsic
def running_sum(typing_context, lanes):
    """Lane i becomes the sum of the lanes 0 … i, by shifts of 1, 2, 4 and 8 lanes.

    The sums are rounded separately: two neighbours may be in the wrong order by a rounding error.
    """

    def code(context, builder, signature, arguments):
        total = arguments[0]
        zeros = ir.Constant(total.type, [0.0] * LANES)
        shift = 1
        while shift < LANES:
            places = [i - shift if i >= shift else LANES + i for i in range(LANES)]
            mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), places)
            total = builder.fadd(total, builder.shuffle_vector(total, zeros, mask))
            shift *= 2
        return total

    return lanes(lanes), code


@intrinsic
def last(typing_context, lanes):
    """The last lane."""

    def code(context, builder, signature, arguments):
        return builder.extract_element(arguments[0], ir.IntType(32)(LANES - 1))

    return lanes.element(lanes), code
