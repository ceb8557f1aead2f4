"""Sixteen numbers at a time, in registers.

The compiler turns simple loops into vector instructions by itself, but keeps a sum over rows in
memory and does not make lists; these few operations do. Machines with shorter vectors do the same
in two, four or eight instructions, with the same results. Arrays are flat, of float32 or float64,
or pointers into them; indices are unsigned and unchecked.
"""

import math

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import LN_2, bits_of, fused, number_of
from pgbn.samplers.from_numba import intrinsic, ir, models, register_model, types
from pgbn.samplers.random import uniform

LANES = 16


class _Lanes(types.Type):
    def __init__(self, element):
        self.element = element
        super().__init__(name=f"Lanes({element})")


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _vector(kind.element))


def lanes_of(element):
    """The type of sixteen elements, for further intrinsics."""
    return _Lanes(element)


def _vector(element):
    """The machine's type of sixteen elements."""
    return ir.VectorType(ir.FloatType() if element == types.float32 else ir.DoubleType(), LANES)


def _place(context, builder, kind, source, index, vector):
    """The address of sixteen neighbours, by the flat array that they are in or a pointer."""
    if isinstance(kind, types.Array):
        source = context.make_array(kind)(context, builder, source).data
    return builder.bitcast(builder.gep(source, [index]), vector.as_pointer())


@intrinsic
def pointer(typing_context, array):
    """Where the numbers of a contiguous array begin: p[i] is its i-th number.

    Passing an array to a function counts a reference up and down, which takes longer than ten
    sums; a pointer is free. It does not keep the array: that must be, or be part of, an argument
    of the function that takes the pointer, or be used there after the pointer.
    """

    def code(context, builder, signature, arguments):
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return types.CPointer(array.dtype)(array), code


@intrinsic
def zeros(typing_context, array):
    """Sixteen zeros of the kind that an array holds."""

    def code(context, builder, signature, arguments):
        return ir.Constant(_vector(signature.args[0].dtype), [0.0] * LANES)

    return _Lanes(array.dtype)(array), code


@intrinsic
def broadcast(typing_context, number):
    """A number, sixteen times."""

    def code(context, builder, signature, arguments):
        vector = _vector(signature.args[0])
        empty = ir.Constant(vector, ir.Undefined)
        one = builder.insert_element(empty, arguments[0], ir.IntType(32)(0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(one, empty, mask)

    return _Lanes(number)(number), code


@intrinsic
def load_lanes(typing_context, array, index):
    """array[index : index + 16]."""

    def code(context, builder, signature, arguments):
        vector = _vector(signature.args[0].dtype)
        place = _place(context, builder, signature.args[0], *arguments, vector)
        return builder.load(place, align=signature.args[0].dtype.bitwidth // 8)

    return _Lanes(array.dtype)(array, types.uint64), code


@intrinsic
def store_lanes(typing_context, array, index, lanes):
    """array[index : index + 16] = lanes."""

    def code(context, builder, signature, arguments):
        vector = _vector(signature.args[0].dtype)
        place = _place(context, builder, signature.args[0], *arguments[:2], vector)
        builder.store(arguments[2], place, align=signature.args[0].dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.uint64, lanes), code


@intrinsic
def add_lanes(typing_context, a, b):
    """a + b."""

    def code(context, builder, signature, arguments):
        return builder.fadd(*arguments)

    return a(a, b), code


@intrinsic
def add_product(typing_context, total, a, b):
    """total + a · b, rounded once; see `pgbn.samplers.elementary.fused`."""

    def code(context, builder, signature, arguments):
        total, a, b = arguments
        name = f"llvm.fma.v{LANES}f{signature.return_type.element.bitwidth}"
        kind = ir.FunctionType(a.type, [a.type] * 3)
        return builder.call(builder.module.declare_intrinsic(name, fnty=kind), [a, b, total])

    return total(total, a, b), code


@intrinsic
def above(typing_context, a, b):
    """Which of the sixteen a are greater than their b: a bit each, the first the lowest."""

    def code(context, builder, signature, arguments):
        flags = builder.fcmp_ordered(">", *arguments)
        return builder.zext(builder.bitcast(flags, ir.IntType(LANES)), ir.IntType(64))

    return types.uint64(a, b), code


@intrinsic
def nonzero(typing_context, array, index):
    """Which of array[index : index + 16], integers, are not 0: a bit each, as in `above`."""

    def code(context, builder, signature, arguments):
        kind = signature.args[0]
        integers = ir.VectorType(ir.IntType(kind.dtype.bitwidth), LANES)
        place = _place(context, builder, kind, *arguments, integers)
        value = builder.load(place, align=kind.dtype.bitwidth // 8)
        flags = builder.icmp_signed("!=", value, ir.Constant(integers, [0] * LANES))
        return builder.zext(builder.bitcast(flags, ir.IntType(LANES)), ir.IntType(64))

    return types.uint64(array, types.uint64), code


@intrinsic
def lowest_bit(typing_context, word):
    """The place of the lowest bit that is set; the word must not be 0."""

    def code(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.uint64(types.uint64), code


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


def aligned(size):
    """Zeros, float32, that begin where a line of the cache does: one access reads a register."""
    room = np.zeros(size + 16, np.float32)
    first = -room.ctypes.data % 64 // 4
    return room[first : first + size]


# ---- places -------------------------------------------------------------------------------------
#
# The places where something holds, one after another, from words of 64 bits.
#
# Sixteen comparisons at once give bits, whose places are then taken from a word one by one. A
# branch for each number would be mispredicted, and so would the end of many short runs of them.


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
    how many there are. If step is 0, b[first : first + 16] are all the same number."""
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


# ---- sums ---------------------------------------------------------------------------------------
#
# Sums of rows, bit-identical on every machine: the order of the sum is fixed.


_0, _1, _LANES = np.uint64(0), np.uint64(1), np.uint64(LANES)


@njit(cache=True, nogil=True, forceinline=True)
def row_total(numbers, begin, size):
    """Σ numbers[begin : begin + size], in sixteen sums that are added up at the end."""
    sums, k = zeros(numbers), _0
    while k + _LANES <= size:
        sums = add_lanes(sums, load_lanes(numbers, begin + k))
        k += _LANES
    total = last(running_sum(sums))
    while k < size:
        total += numbers[begin + k]
        k += _1
    return total


# ---- logarithms ---------------------------------------------------------------------------------
#
# Logarithms and powers of two without branches or calls: loops over them become vector
# instructions.


_FRACTION = np.uint64(0x000FFFFFFFFFFFFF)
_HALF_ROOT = np.uint64(0x3FE6A09E00000000)  # the bits of a number close to sqrt(1/2)
_SHIFT = np.uint64(0x3FF0000000000000 - 0x3FE6A09E00000000)
_52 = np.uint64(52)
# log2 m = Σ_i L_i s^(2i + 1), s = (m - 1) / (m + 1), |s| < 0.172: the rest is below 1e-17.
_L0, _L1, _L2, _L3, _L4, _L5, _L6, _L7, _L8, _L9 = (2.0 / ((2 * i + 1) * LN_2) for i in range(10))
# 2^f = Σ_i E_i f^i, |f| <= 1/2: the rest is below 1e-17.
_E1, _E2, _E3, _E4, _E5, _E6, _E7, _E8, _E9, _E10, _E11, _E12, _E13 = (
    LN_2**i / math.factorial(i) for i in range(1, 14)
)


@njit(cache=True, nogil=True, forceinline=True)
def log2(x):
    """log2 of a positive normal double."""
    word = bits_of(x) + _SHIFT
    whole = np.float64(np.int64(word >> _52) - 1023)
    fraction = number_of((word & _FRACTION) + _HALF_ROOT)
    s = (fraction - 1.0) / (fraction + 1.0)
    t = s * s
    p = fused(fused(fused(_L9, t, _L8), t, _L7), t, _L6)
    p = fused(fused(fused(p, t, _L5), t, _L4), t, _L3)
    p = fused(fused(fused(p, t, _L2), t, _L1), t, _L0)
    return fused(p, s, whole)


@njit(cache=True, nogil=True, forceinline=True)
def exp2(y):
    """2^y; 0 below the normal doubles, and 2^1000 at most."""
    clipped = min(max(y, -1080.0), 1000.0)
    whole = math.floor(clipped + 0.5)
    f = clipped - whole
    p = fused(fused(fused(_E13, f, _E12), f, _E11), f, _E10)
    p = fused(fused(fused(p, f, _E9), f, _E8), f, _E7)
    p = fused(fused(fused(p, f, _E6), f, _E5), f, _E4)
    p = fused(fused(fused(p, f, _E3), f, _E2), f, _E1)
    scale = number_of(np.uint64(max(np.int64(whole) + 1023, 0)) << _52)
    return fused(p, f, 1.0) * scale


# ---- the same in single precision. Sums of 32-bit integers are 64 bits wide in numba, and are
# cut; every number is a single, or the sum would be a double. ----

_FRACTION_1 = np.uint32(0x007FFFFF)
_HALF_ROOT_1 = np.uint32(0x3F3504F3)
_SHIFT_1 = np.uint32(0x3F800000 - 0x3F3504F3)
_23, _BIAS = np.uint32(23), np.float32(127.0)
_S0, _S1, _S2, _S3, _S4 = (np.float32(c) for c in (_L0, _L1, _L2, _L3, _L4))
_D1, _D2, _D3, _D4, _D5, _D6, _D7 = (np.float32(c) for c in (_E1, _E2, _E3, _E4, _E5, _E6, _E7))
_HALF, _ONE, _LEAST, _MOST = (np.float32(c) for c in (0.5, 1.0, -127.0, 126.0))


@njit(cache=True, nogil=True, forceinline=True)
def log2_single(x):
    """log2 of a positive normal single; the rest of the series is below 1e-8."""
    word = np.uint32(bits_of(x) + _SHIFT_1)
    whole = np.float32(np.int32(word >> _23)) - _BIAS
    fraction = number_of(np.uint32((word & _FRACTION_1) + _HALF_ROOT_1))
    s = (fraction - _ONE) / (fraction + _ONE)
    t = s * s
    p = fused(fused(fused(fused(_S4, t, _S3), t, _S2), t, _S1), t, _S0)
    return fused(p, s, whole)


@njit(cache=True, nogil=True, forceinline=True)
def exp2_single(y):
    """2^y; 0 below the normal singles, and 2^126 at most."""
    clipped = min(max(y, _LEAST), _MOST)
    whole = np.floor(clipped + _HALF)
    f = clipped - whole
    p = fused(fused(fused(_D7, f, _D6), f, _D5), f, _D4)
    p = fused(fused(fused(p, f, _D3), f, _D2), f, _D1)
    scale = number_of(np.uint32(np.uint32(np.int32(whole + _BIAS)) << _23))
    return fused(p, f, _ONE) * scale


# ---- pick ---------------------------------------------------------------------------------------
#
# One of many units with probability ∝ φ_k θ_k.
#
# Products are added in sixteen lanes, unit k in lane k mod 16: first a lane is picked, then a unit
# of it. If they are float32 numbers, so are their running sums: an error of 1e-7 in a probability.
# Vectors are filled with zeros to a multiple of 16; indices are those of flat arrays.


ROOM = 2 * LANES  # places of one sum over lanes: a zero, the sixteen, and the rest of a line
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
def pick_at(target, size, reached, at, lanes, first):
    """The unit where the running sum, lane after lane, passes the ``target``; see `weigh`.

    There are no branches, which would be mispredicted. Rounding may lead beyond the end of the
    lanes or of a lane, or before its beginning. The result is then ``size`` or more, and the caller
    draws another target.
    """
    passed = above(load_lanes(lanes, first + _1), broadcast(target))
    if not passed:
        return size
    chosen = k = lowest_bit(passed)
    rest = target - lanes[first + chosen]
    while k < size:
        chosen += _LANES * np.uint64(rest >= reached[at + k])
        k += _LANES
    return chosen if rest >= _NOTHING else size


@njit(cache=True, nogil=True, forceinline=True)
def pick(rng, size, reached, at, lanes, first, weight):
    """A unit by a random target below ``weight``, the result of `weigh` in single precision."""
    chosen = size
    while chosen >= size:
        chosen = pick_at(np.float32(uniform(rng) * weight), size, reached, at, lanes, first)
    return chosen


# ---- filled -------------------------------------------------------------------------------------
#
# Arrays that hold one number, cheap to compile: for `np.zeros`, `np.ones`, `np.full` and
# assignments to a slice numba compiles several functions of its own, for each kind of array.


@njit(cache=True, nogil=True)
def filled(array, number):
    """The array, flat, every entry of it set to the number."""
    for i in range(array.size):
        array[i] = number
    return array
