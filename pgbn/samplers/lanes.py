"""Eight doubles at a time, in a register.

The compiler turns simple loops into vector instructions by itself, but keeps a sum over rows in
memory; these few operations keep it in registers. Machines with shorter vectors do the same in
two or four instructions, with the same results. Indices are those of flat arrays, unsigned and
unchecked.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

__all__ = ["add_product", "broadcast", "load", "store", "zeros"]

_DOUBLE = ir.DoubleType()
_LANES = ir.VectorType(_DOUBLE, 8)


class _Lanes(types.Type):
    def __init__(self):
        super().__init__(name="Lanes")


_lanes = _Lanes()


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _LANES)


def _place(context, builder, array_type, array, index):
    """The address of eight neighbours in a flat array."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), _LANES.as_pointer())


@intrinsic
def zeros(typing_context):
    """Eight zeros."""

    def code(context, builder, signature, arguments):
        return ir.Constant(_LANES, [0.0] * 8)

    return _lanes(), code


@intrinsic
def broadcast(typing_context, number):
    """A number, eight times."""

    def code(context, builder, signature, arguments):
        empty = ir.Constant(_LANES, ir.Undefined)
        first = ir.IntType(32)(0)
        one = builder.insert_element(empty, arguments[0], first)
        mask = ir.Constant(ir.VectorType(ir.IntType(32), 8), [0] * 8)
        return builder.shuffle_vector(one, empty, mask)

    return _lanes(types.float64), code


@intrinsic
def load(typing_context, array, index):
    """array[index : index + 8]."""

    def code(context, builder, signature, arguments):
        place = _place(context, builder, signature.args[0], *arguments)
        return builder.load(place, align=8)

    return _lanes(array, types.uint64), code


@intrinsic
def store(typing_context, array, index, lanes):
    """array[index : index + 8] = lanes."""

    def code(context, builder, signature, arguments):
        place = _place(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], place, align=8)
        return context.get_dummy_value()

    return types.void(array, types.uint64, lanes), code


@intrinsic
def add_product(typing_context, total, a, b):
    """total + a · b; rounded once where the machine can."""

    def code(context, builder, signature, arguments):
        total, a, b = arguments
        product = builder.fmul(a, b, flags=("contract",))
        return builder.fadd(total, product, flags=("contract",))

    return _lanes(_lanes, _lanes, _lanes), code
