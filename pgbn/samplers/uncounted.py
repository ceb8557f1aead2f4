"""Bundles of arrays that cost nothing to pass on.

numba passes a bundle by its parts, seven words for each array, and counts the references to every
array: up when a function takes it, down when it returns. For a bundle of thirty arrays that is as
much work as a sweep over a short document, and the compiler takes many seconds to find out which
counts it may drop. An uncounted bundle is passed by its address, and its arrays have no counter.
Arrays and tuples of arrays lose their counters alone. If kernels are compiled by plain numba
(`pgbn.samplers.compiled`), all of them stay what they are.
"""

from pgbn.samplers.compiled import way
from pgbn.samplers.from_numba import intrinsic, types


@intrinsic
def uncounted(typing_context, bundle):
    """The same bundle by its address, its arrays uncounted; or an uncounted array or tuple of them.

    It does not keep the arrays, and lasts as long as the calling function. The arrays must be
    arguments of that function, or parts of them, so that its caller keeps them until it returns; or
    the function keeps them by `keep`.
    """
    if way().linked:
        from pgbn.samplers.linked import without_counters

        return without_counters(bundle)

    def code(context, builder, signature, arguments):
        return context.compile_internal(builder, _same, signature, arguments)

    return bundle(bundle), code


def _same(bundle):
    return bundle


@intrinsic
def keep(typing_context, bundle):
    """Keep the arrays of a bundle alive up to this call."""

    def code(context, builder, signature, arguments):
        return context.get_dummy_value()

    return types.void(bundle), code
