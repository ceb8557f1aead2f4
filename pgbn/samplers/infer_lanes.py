"""Arrays that begin with a line of the cache; see lanes.py."""

import numpy as np
from numba import njit

__all__ = ["aligned"]


@njit(cache=True, nogil=True)
def aligned(size):
    """Zeros, float32, that begin where a line of the cache does: one access reads a register."""
    room = np.zeros(size + 16, np.float32)
    first = (64 - room.ctypes.data % 64) % 64 // 4
    return room[first : first + size]
