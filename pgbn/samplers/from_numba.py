"""What kernels take from numba and llvmlite, or stand-ins where these are not installed.

All modules can then be imported, so that networks can be declared, explained and sampled with
``engine="reference"``. Only a kernel that is called needs the compiler, and says so.
"""

# ruff: noqa: F401, I001

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from pgbn.errors import PgbnError

__all__ = [
    "IS_INSTALLED",
    "AttributeTemplate",
    "NumbaError",
    "binding",
    "carray",
    "cfunc",
    "cgutils",
    "event",
    "get_or_insert_function",
    "infer_getattr",
    "intrinsic",
    "ir",
    "is_jitted",
    "lower_getattr_generic",
    "models",
    "numba",
    "overload",
    "register_model",
    "types",
    "without_compiler",
]  # fmt: skip


class _StandIn:
    """Whatever a module names when it is imported: a type, a base class, a decorator."""

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
    from numba import carray, cfunc, types  # type: ignore[attr-defined]
    from numba.core import cgutils, event
    from numba.core.cgutils import get_or_insert_function
    from numba.core.errors import NumbaError
    from numba.core.typing.templates import AttributeTemplate
    from numba.extending import infer_getattr, intrinsic, is_jitted, lower_getattr_generic
    from numba.extending import models, overload, register_model
else:
    numba = binding = ir = carray = cfunc = types = cgutils = event = _StandIn()
    get_or_insert_function = NumbaError = AttributeTemplate = infer_getattr = _StandIn()
    intrinsic = is_jitted = lower_getattr_generic = models = overload = register_model = _StandIn()


def without_compiler(function: Callable[..., Any]) -> Callable[..., Any]:
    """What stands for a kernel where nothing can compile it."""

    @wraps(function)
    def kernel(*arguments: Any) -> Any:
        raise PgbnError(
            "this needs numba, which is not installed: pip install numba, or sample small data "
            "with net.sample(..., engine='reference')"
        )

    return kernel
