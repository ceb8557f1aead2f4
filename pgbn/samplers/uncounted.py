"""Bundles of arrays that cost nothing to pass on.

numba passes a bundle by its parts, seven words for each array, and counts the references to every
array: up when a function takes it, down when it returns. For a bundle of thirty arrays that is as
much work as a sweep over a short document, and the compiler takes many seconds to see what it may
leave out. An uncounted bundle is passed by its address, and its arrays have no counter.
"""

from pgbn.samplers.from_numba import (
    AttributeTemplate,
    cgutils,
    infer_getattr,
    intrinsic,
    ir,
    lower_getattr_generic,
    models,
    register_model,
    types,
)

_ADDRESS = ir.IntType(8).as_pointer()


class _Uncounted(types.Type):
    """A named tuple of arrays, numbers and named tuples, known by its address."""

    def __init__(self, bundle):
        self.bundle = bundle
        super().__init__(name=f"Uncounted({bundle})")

    def part(self, name):
        """Its number, what it is in the bundle, and what a reader gets."""
        number = self.bundle.fields.index(name)
        kind = self.bundle.types[number]
        return number, kind, _Uncounted(kind) if isinstance(kind, types.BaseNamedTuple) else kind


@register_model(_Uncounted)
class _UncountedModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _ADDRESS)


@infer_getattr
class _Parts(AttributeTemplate):
    key = _Uncounted

    def generic_resolve(self, bundle, name):
        return bundle.part(name)[2] if name in bundle.bundle.fields else None


@lower_getattr_generic(_Uncounted)
def _part(context, builder, kind, value, name):
    number, stored, read = kind.part(name)
    whole = builder.bitcast(value, context.get_value_type(kind.bundle).as_pointer())
    place = cgutils.gep_inbounds(builder, whole, 0, number)
    if isinstance(read, _Uncounted):
        return builder.bitcast(place, _ADDRESS)
    return _without_counter(context, builder, stored, builder.load(place))


def _without_counter(context, builder, kind, value):
    """The value of an array without its counter, or a number."""
    if not isinstance(kind, types.Array):
        return value
    array = cgutils.create_struct_proxy(kind)(context, builder, value=value)
    array.meminfo = ir.Constant(array.meminfo.type, None)
    array.parent = ir.Constant(array.parent.type, None)
    return array._getvalue()


@intrinsic
def uncounted(typing_context, bundle):
    """The same bundle by its address, its arrays uncounted.

    It does not keep the arrays, and lasts as long as the function that asks. The arrays must be
    arguments of that function, or parts of them, so that its caller keeps them until it returns; or
    the function keeps them by `keep`.
    """

    def code(context, builder, signature, arguments):
        slot = cgutils.alloca_once(builder, arguments[0].type)
        builder.store(arguments[0], slot)
        return builder.bitcast(slot, _ADDRESS)

    return _Uncounted(bundle)(bundle), code


@intrinsic
def keep(typing_context, bundle):
    """Until here the arrays of a bundle are kept, whoever reads them."""

    def code(context, builder, signature, arguments):
        return context.get_dummy_value()

    return types.void(bundle), code
