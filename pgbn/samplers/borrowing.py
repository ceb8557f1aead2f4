"""Which functions need no counters: their arrays are those that the caller keeps, or parts of them.

numba counts the references to every array, up for each name that it gets in a function and down
again. That is a fifth of the code that it makes of our kernels, nearly all of which the compiler
takes out again. Where a function makes no array, and keeps none, nothing needs to be counted.
"""

from __future__ import annotations

from typing import Any, ClassVar

from numba.core import ir, types


def borrows(state: Any) -> bool:
    """Whether a function whose types are known neither makes arrays nor keeps them."""
    return not state.func_ir.is_generator and _Function(state).borrows()


class _Function:
    # Functions, by their arguments, that give parts of bundles that have no counters themselves.
    known: ClassVar[set[Any]] = set()

    def __init__(self, state: Any) -> None:
        self.state, self.kinds = state, state.typemap
        self.models = state.targetctx.data_model_manager

    def borrows(self) -> bool:
        found = (
            (self.kinds[each.target.name], each.value)
            for block in self.state.func_ir.blocks.values()
            for each in block.find_insts(ir.Assign)
        )
        if not all(self._is_array(k) and self._is_part(v) for k, v in found if self._counts(k)):
            return False
        if self._counts(self.state.return_type):  # what it gives must have no counter
            if any(map(self._counts, self.state.args)):
                return False
            self.known.add((self.state.func_id.func, tuple(self.state.args)))
        return True

    def _counts(self, kind: Any) -> bool:
        return bool(self.models[kind].contains_nrt_meminfo())

    def _is_array(self, kind: Any) -> bool:
        """Arrays, tuples of them, and their methods: no lists or strings, which keep others."""
        if isinstance(kind, types.BaseTuple):
            return all(self._is_array(each) for each in _members(kind) if self._counts(each))
        return isinstance(kind, types.Array | types.BoundFunction)

    def _is_part(self, value: Any) -> bool:
        """Whether a value is an array that was there before, or a part of it."""
        if not isinstance(value, ir.Expr):
            return isinstance(value, ir.Arg | ir.Var | ir.Global | ir.FreeVar)
        if value.op == "call":
            return self._gives_part(self.kinds[value.func.name], self.state.calltypes[value].args)
        if value.op == "getitem":
            return _cuts(self.kinds[value.index.name])
        if value.op == "static_getitem":
            return isinstance(value.index, int | slice)
        if value.op == "getattr":
            whole = self.kinds[value.value.name]
            return value.attr == "reshape" if isinstance(whole, types.Array) else True
        return value.op in ("build_tuple", "cast", "exhaust_iter")

    def _gives_part(self, function: Any, arguments: Any) -> bool:
        if isinstance(function, types.BoundFunction):
            return bool(function.typing_key == "array.reshape")
        dispatcher = getattr(function, "dispatcher", None)
        return (getattr(dispatcher, "py_func", None), arguments) in self.known


def _cuts(index: Any) -> bool:
    """Whether a[index] is a part of a: if the index is an array, it is a new one."""
    each = _members(index) if isinstance(index, types.BaseTuple) else (index,)
    return all(isinstance(kind, types.Integer | types.SliceType) for kind in each)


def _members(kind: Any) -> Any:
    return kind.types


_internals: dict[Any, Any] = {}  # numba's own functions, compiled without counters


def without_counters(target: Any) -> Any:
    """numba's context for functions that count no references; ``counting`` is the usual one."""
    plain = target.subtarget(enable_nrt=False)
    plain.counting = target
    vars(plain).pop("nrt", None)  # what allocates is then refused
    plain.cached_internal_func = _internals
    return plain
