"""Sixteen numbers at a time, in registers.

The compiler turns simple loops into vector instructions by itself, but keeps a sum over rows in
memory and does not make lists; these few operations do. Machines with shorter vectors do the same
in two, four or eight instructions, with the same results. Arrays are flat, of float32 or float64,
or pointers into them; indices are unsigned and unchecked.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

__all__ = [
    "LANES",
    "above",
    "add_lanes",
    "add_product",
    "aligned",
    "broadcast",
    "lanes_of",
    "last",
    "load_lanes",
    "lowest_bit",
    "nonzero",
    "pointer",
    "running_sum",
    "store_lanes",
    "zeros",
]

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
