"""The private parts of numba that pgbn uses: kernels are linked, and bundles passed by address.

numba optimises every function that it meets and turns it into machine code, with all that it calls
linked in. A function five calls deep is optimised five times; and numba wraps every one for callers
in Python. Here a function that a kernel calls is only translated, once, to LLVM's intermediate
code. The kernel that Python calls links all of it in, and is optimised once. LLVM still decides
what to inline. Results stay bit-identical: neither way reorders floating-point sums.

The function itself can still be called from Python; it is then compiled as usual, as a kernel.

Only `pgbn.samplers.compiled` and `pgbn.samplers.random` import this module, when a kernel is first
used. The kernel of `pgbn.samplers.probe` reaches all of it before any other kernel does. If that
fails, nothing of this module is used.
"""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from types import FrameType
from typing import Any, cast

from llvmlite import ir as llvm
from numba.core import registry, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, lower_getattr_generic, models, register_model


def link(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """A dispatcher for callers in Python, as `numba.njit` would make it."""
    chosen = {"nopython": True, "boundscheck": None, "no_cfunc_wrapper": True, **options}
    inlined = chosen.pop("forceinline", False)
    made: Any = _Dispatcher(function, targetoptions=chosen)
    made.forceinline = inlined
    return made


@contextmanager
def uninterrupted() -> Iterator[None]:
    """A context that delays Ctrl-C until its end, as often as it was pressed.

    It protects the compiler. If that is stopped anywhere, it leaves objects of LLVM that are half
    made or half deleted, and the interpreter crashes on them minutes later.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    pressed: list[FrameType | None] = []
    signal.signal(signal.SIGINT, lambda number, frame: pressed.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        for frame in pressed:
            handler(signal.SIGINT, frame)


class _Dispatcher(registry.CPUDispatcher):  # type: ignore[misc, unused-ignore]
    """A dispatcher for callers in Python, which shows callers in kernels its `linked` counterpart.

    Both have the same flags, since numba compiles its own functions (`np.empty`, `min`) again for
    callers with other flags. Options of the counterpart alone are set when it is translated.
    """

    forceinline = False

    def __init__(self, function: Any, local_types: Any = None, targetoptions: Any = None) -> None:
        # numba 0.60 takes no None here.
        given = (local_types or {}, targetoptions or {})
        super().__init__(function, *given)

    def compile(self, sig: Any) -> Any:
        """Compile as numba does, without Python's search for cycles. The compiler makes millions of
        objects that live until it is done; a search through them takes a seventh of its time."""
        collects = gc.isenabled()
        gc.disable()
        try:
            with uninterrupted():
                return super().compile(sig)
        finally:
            if collects:
                gc.enable()

    @property
    def _numba_type_(self) -> Any:
        return cast(Any, self.linked)._numba_type_

    @cached_property
    def linked(self) -> Any:
        """The same function for kernels: no wrapper, no machine code, nothing on disk."""
        compiler = _InlinedCompiler if self.forceinline else _Compiler
        return _Linked(self.py_func, targetoptions=self.targetoptions, pipeline_class=compiler)


class _Linked(registry.CPUDispatcher):  # type: ignore[misc, unused-ignore]
    def get_call_template(self, args: Any, kws: Any) -> Any:
        """A literal integer in the call is treated as any integer: one version serves f(0),
        f(1)."""
        named = {name: _general(kind) for name, kind in kws.items()}
        return super().get_call_template(tuple(map(_general, args)), named)

    def add_overload(self, cres: Any) -> None:
        """Kernels find it; the table of functions for Python stays empty."""
        self.overloads[tuple(cres.signature.args)] = cres


def _general(kind: Any) -> Any:
    return types.unliteral(kind) if isinstance(kind, types.IntegerLiteral) else kind


class _Library(JITCodeLibrary):  # type: ignore[misc, unused-ignore]
    """Intermediate code of a function, to be linked into the library of a kernel. The libraries of
    its callees are separate, not in it."""

    def finalize(self) -> None:
        self._finalized = True

    @property
    def all_linked(self) -> list[Any]:
        """This library and those of all its callees, direct or not, each once."""
        return list(dict.fromkeys([self, *self._linking_libraries]))


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):  # type: ignore[misc, unused-ignore]
    """Translates a function, and does nothing more."""

    _name = "linked_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _Library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        state.flags = state.flags.copy()
        state.flags.no_compile = state.flags.no_cpython_wrapper = True
        state.flags.forceinline = state.pipeline.forceinline
        super().run_pass(state)
        lowered, name = state["cr"], object()  # by which callers find it
        state["cr"] = lowered._replace(cfunc=name)
        state.targetctx.insert_user_function(name, lowered.fndesc, state.library.all_linked)
        return True


class _Compiler(CompilerBase):  # type: ignore[misc, unused-ignore]
    """numba's steps, with the last of them replaced."""

    forceinline = False

    def define_pipelines(self) -> list[Any]:
        manager = PassManager("linked")
        for part in (
            DefaultPassBuilder.define_untyped_pipeline(self.state),
            DefaultPassBuilder.define_typed_pipeline(self.state),
            DefaultPassBuilder.define_nopython_lowering_pipeline(self.state),
        ):
            for step, description in part.passes:
                manager.add_pass(_Lowering if step is NativeLowering else step, description)
        manager.finalize()
        return [manager]


class _InlinedCompiler(_Compiler):
    forceinline = True


# ---- bundles by address ---------------------------------------------------------------

_ADDRESS = llvm.IntType(8).as_pointer()


class _Uncounted(types.Type):  # type: ignore[misc, unused-ignore]
    """A named tuple of arrays, numbers and named tuples, passed by its address."""

    def __init__(self, bundle: Any) -> None:
        self.bundle = bundle
        super().__init__(name=f"Uncounted({bundle})")

    def part(self, name: str) -> tuple[int, Any, Any]:
        """The number of a part, its type in the bundle, and its type for a reader."""
        number = self.bundle.fields.index(name)
        kind = self.bundle.types[number]
        return number, kind, _Uncounted(kind) if isinstance(kind, types.BaseNamedTuple) else kind


@register_model(_Uncounted)
class _UncountedModel(models.PrimitiveModel):  # type: ignore[misc, unused-ignore]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _ADDRESS)


@infer_getattr
class _Parts(AttributeTemplate):  # type: ignore[misc, unused-ignore]
    key = _Uncounted

    def generic_resolve(self, bundle: Any, name: str) -> Any:  # type: ignore[override, unused-ignore]
        return bundle.part(name)[2] if name in bundle.bundle.fields else None


@lower_getattr_generic(_Uncounted)
def _part(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    number, stored, read = kind.part(name)
    whole = builder.bitcast(value, context.get_value_type(kind.bundle).as_pointer())
    at = [llvm.IntType(32)(0), llvm.IntType(32)(number)]
    place = builder.gep(whole, at, inbounds=True)
    if isinstance(read, _Uncounted):
        return builder.bitcast(place, _ADDRESS)
    return _without_counter(context, builder, stored, builder.load(place))


def _without_counter(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """An array without its counter, a tuple of such, or a number."""
    if isinstance(kind, types.BaseTuple):
        for number, part in enumerate(cast(Any, kind)):
            bare = _without_counter(context, builder, part, builder.extract_value(value, number))
            value = builder.insert_value(value, bare, number)
    if not isinstance(kind, types.Array):
        return value
    array = context.make_array(kind)(context, builder, value)
    array.meminfo = llvm.Constant(array.meminfo.type, None)
    array.parent = llvm.Constant(array.parent.type, None)
    return array._getvalue()


def words_here(words: Any) -> Any:
    """The result of an intrinsic that gives two words in the frame of its caller, as an array that
    has no counter; see `new_rng`."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = llvm.IntType(64)
        with builder.goto_entry_block():
            slot = builder.alloca(llvm.ArrayType(number, 2))
        array = context.make_array(words)(context, builder)
        array.meminfo = llvm.Constant(array.meminfo.type, None)
        array.parent = llvm.Constant(array.parent.type, None)
        array.nitems, array.itemsize = number(2), number(8)
        array.data = builder.bitcast(slot, array.data.type)
        array.shape = llvm.Constant(array.shape.type, [2])
        array.strides = llvm.Constant(array.strides.type, [8])
        return array._getvalue()

    return words(), code


def without_counters(kind: Any) -> Any:
    """The result of an intrinsic that gives arrays without counters; see `uncounted`."""
    if isinstance(kind, types.BaseNamedTuple):
        return _by_address(kind)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _without_counter(context, builder, kind, arguments[0])

    return kind(kind), code


def _by_address(bundle: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        with builder.goto_entry_block():
            slot = builder.alloca(arguments[0].type)
        builder.store(arguments[0], slot)
        return builder.bitcast(slot, _ADDRESS)

    return _Uncounted(bundle)(bundle), code
