"""Arrays that hold one number, cheap to compile: for `np.zeros`, `np.ones`, `np.full` and
assignments to a slice numba compiles several functions of its own, for each kind of array."""

from pgbn.samplers.compiled import njit

__all__ = ["filled"]


@njit(cache=True, nogil=True)
def filled(array, number):
    """The array, flat, every entry of it set to the number."""
    for i in range(array.size):
        array[i] = number
    return array
