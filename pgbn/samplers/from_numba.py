"""The parts of numba and llvmlite that kernels use, or stand-ins if nothing can be compiled.

That is so if they are not installed, or if ``NUMBA_DISABLE_JIT=1`` switches numba off: kernels use
instructions of the processor that Python does not have. All modules can still be imported, so that
networks can be declared, explained and sampled with ``engine="reference"``. Only a kernel that is
called needs the compiler, and says so.
"""

# ruff: noqa: F401

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from pgbn.errors import PgbnError

__all__ = [
    "COMPILES", "binding", "carray", "cfunc", "errors", "intrinsic", "ir", "is_jitted",
    "models", "numba", "overload", "register_model", "typeof_impl", "types", "without_compiler",
]  # fmt: skip


class _StandIn:
    """A stand-in for any name that a module imports: a type, a base class, a decorator."""

    def __getattr__(self, name: str) -> Any:
        return self

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return ()


try:
    import llvmlite
    import numba

    COMPILES = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]
    _REASON = "which NUMBA_DISABLE_JIT switches off: unset it"
except ImportError:
    COMPILES, _REASON = False, "which is not installed: pip install numba"

if TYPE_CHECKING or COMPILES:
    from llvmlite import binding, ir
    from numba import carray, cfunc, errors, types  # type: ignore[attr-defined]
    from numba.extending import intrinsic, is_jitted, models, overload, register_model, typeof_impl
else:
    numba = binding = ir = carray = cfunc = errors = types = _StandIn()
    intrinsic = is_jitted = models = overload = register_model = typeof_impl = _StandIn()


def without_compiler(function: Callable[..., Any]) -> Callable[..., Any]:
    """The stand-in for a kernel if nothing can compile it."""

    @wraps(function)
    def kernel(*arguments: Any) -> Any:
        raise PgbnError(
            f"this needs numba, {_REASON}, or sample small data with net.sample(..., "
            "engine='reference')"
        )

    return kernel
