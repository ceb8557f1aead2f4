"""The count behind a datum: n given y, where n ~ Pois(λ).

    DATUM       n = y
    TRUNCATED   n ~ Pois(λ) given n ≥ 1                   y = 1(n ≥ 1)
    BESSEL      n ~ Bessel_{-1}(2 √(noise · y · λ))       y ~ Gam(n, noise)
    OWN         by a function of (rng, y, λ, noise)       a link from outside the package

The first three are part of the kernel that asks. A function from outside is called by its address,
a number: so the kernel is compiled once and kept on disk, whichever function that is.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import carray, cfunc, errors, types  # type: ignore[attr-defined]
from numba.extending import intrinsic, is_jitted

from pgbn.errors import DataError
from pgbn.samplers.compiled import Kernel, njit
from pgbn.samplers.elementary import LN_2, log
from pgbn.samplers.simd.lanes import pointer
from pgbn.samplers.variates.bessel import draw_bessel
from pgbn.samplers.variates.poisson import draw_truncated_poisson

__all__ = ["DATUM", "CountLaw", "count_law", "draw_count"]

DATUM, TRUNCATED, BESSEL, OWN = range(4)
_BUILT_IN = {"truncated_poisson": TRUNCATED, "bessel": BESSEL}
_OF_FUNCTION = types.int64(types.CPointer(types.uint64), *[types.float64] * 3)


class CountLaw(NamedTuple):
    """The law of n given y: which one it is, its noise, and the address of a function (OWN)."""

    kind: int
    noise: float
    address: int


def count_law(latent: str | Callable[..., int] | None, noise: float) -> CountLaw:
    """The law that a link names: None (the data are the counts), a built-in one, or a function of
    (rng, value, rate, noise) that numba can compile."""
    if latent is None:
        return CountLaw(DATUM, noise, 0)
    if callable(latent):
        return CountLaw(OWN, noise, _compiled(latent).address)
    if latent not in _BUILT_IN:
        raise DataError(
            f"latent={latent!r}: give a function of (rng, value, rate, noise), or one of "
            f"{', '.join(map(repr, _BUILT_IN))}"
        )
    return CountLaw(_BUILT_IN[latent], noise, 0)


@cache
def _compiled(function: Callable[..., int]) -> Any:
    """The function with a plain address; it stays in memory as long as the process."""
    own = is_jitted(function) or isinstance(function, Kernel)
    inner = function if own else njit(nogil=True, error_model="python")(function)

    def outer(words, value, rate, noise):
        return np.int64(inner(carray(words, 2), value, rate, noise))

    try:
        return cfunc(_OF_FUNCTION)(outer)
    except errors.NumbaError as error:
        name = getattr(function, "__name__", repr(function))
        raise DataError(
            f"latent={name}: numba cannot compile it as a function of (rng, value, rate, noise) "
            f"that returns an integer:\n{error}"
        ) from error


@intrinsic
def _call(typing_context, address, words, value, rate, noise):
    """The function at an address."""

    def code(context, builder, signature, arguments):
        kinds = [context.get_value_type(kind) for kind in _OF_FUNCTION.args]
        kind = ir.FunctionType(context.get_value_type(_OF_FUNCTION.return_type), kinds)
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        return builder.call(function, arguments[1:])

    return types.int64(types.int64, *_OF_FUNCTION.args), code


@njit(cache=True, nogil=True)
def _own_count(rng, law, value, rate):
    """The count that a function from outside draws."""
    count = _call(law.address, pointer(rng), value, rate, law.noise)
    if count < 0:
        raise ValueError("the latent= of a link drew a negative count")
    return count


@njit(cache=True, nogil=True, forceinline=True)
def draw_count(rng, law, value, rate):
    """n given the datum ``value`` and the rate λ of its cell."""
    if law.kind == DATUM:
        return np.int64(value)
    if law.kind == TRUNCATED:
        return draw_truncated_poisson(rng, rate)
    if law.kind == BESSEL:
        safe = max(rate, 1e-300)
        return draw_bessel(rng, LN_2 + 0.5 * (log(law.noise * value) + log(safe)))
    return _own_count(rng, law, value, rate)
