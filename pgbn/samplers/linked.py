"""What pgbn uses of numba's private parts: kernels are linked, and bundles passed by address.

numba optimises every function that it meets and turns it into machine code, with all that it calls
linked in, so that a function five calls deep is optimised five times; and it wraps every one for
callers in Python. Here a function that a kernel calls is translated once, to LLVM's intermediate
code, and left at that: the kernel that Python calls links all of it in, and is optimised once.
Inlining is LLVM's choice as before, and so are the bits: neither reorders floating-point sums.
Steps of numba's that have nothing to do in a function are left out.

The function itself can still be called from Python; it is then compiled as usual, as a kernel.

Only `pgbn.samplers.compiled` and `uncounted` import this module, when a kernel is first used. The
kernel of `pgbn.samplers.probe` reaches every line of it but those of Ctrl-C, before any other kernel
does: where numba is built otherwise, nothing here is used.
"""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from types import FrameType
from typing import Any, ClassVar, cast

from llvmlite import ir as llvm
from numba.core import ir, registry, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering, NopythonRewrites
from numba.core.typing.templates import AttributeTemplate
from numba.core.untyped_passes import InlineClosureLikes
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
    """Ctrl-C takes effect when this is left, as often as it was pressed.

    For the compiler: stopped anywhere, it leaves objects of LLVM that are half made or half
    deleted, and the interpreter ends when somebody meets them, minutes later.
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
    """A dispatcher for callers in Python, which shows callers in kernels its `linked` twin.

    Both have the same flags, since numba compiles its own functions (`np.empty`, `min`) anew for
    callers with others: what only the twin needs is said when it is translated.
    """

    forceinline = False

    def __init__(self, function: Any, local_types: Any = None, targetoptions: Any = None) -> None:
        # numba 0.60 takes no None here.
        given = (local_types or {}, targetoptions or {})
        super().__init__(function, *given, pipeline_class=_Compiler)

    def compile(self, sig: Any) -> Any:
        """As numba does, without Python's search for cycles: the compiler makes millions of objects
        that live until it is done, and looking through them takes a seventh of its time."""
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
        compiler = _InlinedCompiler if self.forceinline else _LinkedCompiler
        return _Linked(self.py_func, targetoptions=self.targetoptions, pipeline_class=compiler)


class _Linked(registry.CPUDispatcher):  # type: ignore[misc, unused-ignore]
    def get_call_template(self, args: Any, kws: Any) -> Any:
        """An integer that is written in the call is any integer: one version serves f(0), f(1)."""
        named = {name: _general(kind) for name, kind in kws.items()}
        return super().get_call_template(tuple(map(_general, args)), named)

    def add_overload(self, cres: Any) -> None:
        """Kernels find it; the table of what Python may call stays empty."""
        self.overloads[tuple(cres.signature.args)] = cres


def _general(kind: Any) -> Any:
    return types.unliteral(kind) if isinstance(kind, types.IntegerLiteral) else kind


class _Library(JITCodeLibrary):  # type: ignore[misc, unused-ignore]
    """numba's library, which optimises the functions of a module that have a body, not the names of
    those that they call: numba prepares all of its steps anew for each."""

    def _optimize_functions(self, ll_module: Any) -> None:
        super()._optimize_functions(_Bodies(ll_module))


class _Bodies:
    """A module whose functions are those that it defines."""

    def __init__(self, module: Any) -> None:
        self.__dict__["module"] = module

    @property
    def functions(self) -> list[Any]:
        return [each for each in self.module.functions if not each.is_declaration]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.module, name, value)


class _LinkedLibrary(_Library):
    """Intermediate code of a function, to be linked into the library of a kernel; the libraries of
    what it calls are beside it, not in it."""

    def finalize(self) -> None:
        self._finalized = True

    @property
    def all_linked(self) -> list[Any]:
        """This library and those of all that it calls, directly or not, each once."""
        return list(dict.fromkeys([self, *self._linking_libraries]))


def _results(state: Any, *operations: str) -> list[str]:
    """The names of what a function gets by some operations."""
    return [
        each.target.name
        for block in state.func_ir.blocks.values()
        for each in block.find_insts(ir.Assign)
        if isinstance(each.value, ir.Expr) and each.value.op in operations
    ]


@register_pass(mutates_CFG=True, analysis_only=False)
class _Closures(InlineClosureLikes):  # type: ignore[misc, unused-ignore]
    """Functions within a function, where there are any: numba takes long to find that out."""

    _name = "linked_closures"

    def run_pass(self, state: Any) -> bool:
        return bool(_results(state, "make_function")) and bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class _Rewrites(NopythonRewrites):  # type: ignore[misc, unused-ignore]
    """Loops for sums and products of arrays, where there are any."""

    _name = "linked_rewrites"

    def run_pass(self, state: Any) -> bool:
        found = _results(state, "binop", "inplace_binop", "unary")
        arrays = any(isinstance(state.typemap[name], types.Array) for name in found)
        return arrays and bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):  # type: ignore[misc, unused-ignore]
    _name = "kernel_lowering"
    library: ClassVar[Any] = _Library

    def run_pass(self, state: Any) -> bool:
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class _LinkedLowering(_Lowering):
    _name = "linked_lowering"
    library = _LinkedLibrary

    def run_pass(self, state: Any) -> bool:
        state.flags = state.flags.copy()
        state.flags.no_compile = state.flags.no_cpython_wrapper = True
        state.flags.forceinline = state.pipeline.forceinline
        super().run_pass(state)
        lowered, name = state["cr"], object()  # by which callers find it
        state["cr"] = lowered._replace(cfunc=name)
        state.targetctx.insert_user_function(name, lowered.fndesc, state.library.all_linked)
        return True


class _Flags(Flags):  # type: ignore[misc, unused-ignore]
    """Options that are compared by those that were set. numba looks at all forty of both sides, for
    every operator and every function of its own that a kernel uses."""

    _hash = hash(Flags())  # numba's is the same for all

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> Any:
        return isinstance(other, Flags) and _chosen(self) == _chosen(other)


def _chosen(flags: Any) -> dict[str, Any]:
    """The options that are not at their defaults."""
    options = flags.options
    return {name: got for name, got in flags._values.items() if got != options[name].default}


class _Compiler(CompilerBase):  # type: ignore[misc, unused-ignore]
    """numba's steps, with some of them replaced."""

    replaced: ClassVar[dict[Any, Any]] = {
        InlineClosureLikes: _Closures,
        NopythonRewrites: _Rewrites,
        NativeLowering: _Lowering,
    }

    def __init__(
        self, typing: Any, target: Any, library: Any, args: Any, result: Any, flags: Any, local: Any
    ) -> None:
        super().__init__(typing, target, library, args, result, _Flags(flags), local)

    def define_pipelines(self) -> list[Any]:
        manager = PassManager("kernel")
        for part in (
            DefaultPassBuilder.define_untyped_pipeline(self.state),
            DefaultPassBuilder.define_typed_pipeline(self.state),
            DefaultPassBuilder.define_nopython_lowering_pipeline(self.state),
        ):
            for step, description in part.passes:
                manager.add_pass(self.replaced.get(step, step), description)
        manager.finalize()
        return [manager]


class _LinkedCompiler(_Compiler):
    forceinline = False
    replaced: ClassVar[dict[Any, Any]] = {**_Compiler.replaced, NativeLowering: _LinkedLowering}


class _InlinedCompiler(_LinkedCompiler):
    forceinline = True


# ---- bundles by address ---------------------------------------------------------------

_ADDRESS = llvm.IntType(8).as_pointer()


class _Uncounted(types.Type):  # type: ignore[misc, unused-ignore]
    """A named tuple of arrays, numbers and named tuples, known by its address."""

    def __init__(self, bundle: Any) -> None:
        self.bundle = bundle
        super().__init__(name=f"Uncounted({bundle})")

    def part(self, name: str) -> tuple[int, Any, Any]:
        """Its number, what it is in the bundle, and what a reader gets."""
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

    def generic_resolve(self, bundle: Any, name: str) -> Any:
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
    """The value of an array without its counter, or a number."""
    if not isinstance(kind, types.Array):
        return value
    array = context.make_array(kind)(context, builder, value)
    array.meminfo = llvm.Constant(array.meminfo.type, None)
    array.parent = llvm.Constant(array.parent.type, None)
    return array._getvalue()


def by_address(bundle: Any) -> Any:
    """What an intrinsic returns that gives the address of a bundle; see `uncounted`."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        with builder.goto_entry_block():
            slot = builder.alloca(arguments[0].type)
        builder.store(arguments[0], slot)
        return builder.bitcast(slot, _ADDRESS)

    return _Uncounted(bundle)(bundle), code
