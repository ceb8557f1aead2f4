"""Bundles of arrays that cost nothing to pass on.

numba counts the references to an array: up when a function takes it, down when it returns. For a
bundle of thirty arrays that is as much work as a sweep over a short document. The arrays of an
uncounted bundle have no counter, and the compiler leaves out what would be done with it.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["uncounted"]


def _without_counters(context, builder, kind, value):
    """The value of an array, or of a tuple of arrays, tuples and numbers, without counters."""
    if isinstance(kind, types.Array):
        array = cgutils.create_struct_proxy(kind)(context, builder, value=value)
        array.meminfo = ir.Constant(array.meminfo.type, None)
        array.parent = ir.Constant(array.parent.type, None)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        parts = [builder.extract_value(value, i) for i in range(len(kind))]
        pairs = zip(kind.types, parts, strict=True)
        parts = [_without_counters(context, builder, each, part) for each, part in pairs]
        return context.make_tuple(builder, kind, parts)
    return value


@intrinsic
def uncounted(typing_context, bundle):
    """The same bundle, its arrays uncounted.

    It does not keep the arrays: they must be arguments of the function that asks, or parts of them,
    so that its caller keeps them until it returns.
    """

    def code(context, builder, signature, arguments):
        return _without_counters(context, builder, signature.args[0], arguments[0])

    return bundle(bundle), code
