"""The parts of numba and llvmlite that kernels use, or stand-ins if these are not installed.

All modules can then be imported, so that networks can be declared, explained and sampled with
``engine="reference"``. Only a kernel that is called needs the compiler, and says so.
"""

# ruff: noqa: F401

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from pgbn.errors import PgbnError

__all__ = [
    "IS_INSTALLED", "binding", "carray", "cfunc", "errors", "intrinsic", "ir", "is_jitted",
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

    IS_INSTALLED = True
except ImportError:
    IS_INSTALLED = False

if TYPE_CHECKING or IS_INSTALLED:
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
            "this needs numba, which is not installed: pip install numba, or sample small data "
            "with net.sample(..., engine='reference')"
        )

    return kernel
