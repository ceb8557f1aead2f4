"""Types of operations, asked for once.

numba finds the type of every a + b and a[b] by trying all rules that it has for such operations,
of strings, sets and arrays too, whenever it comes by, and once more for their translation:
thousands of times for a few hundred pairs of types, and a tenth of the time of compiling a kernel.
"""

from __future__ import annotations

import operator
from typing import Any, ClassVar

from numba.core import ir, types
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import NopythonTypeInference


def _are_plain(kinds: Any) -> bool:
    return all(isinstance(each, types.Number | types.Array) for each in kinds)


class _Typing:
    """numba's rules of types, and what they said of operations on numbers and arrays."""

    known: ClassVar[dict[Any, Any]] = {}

    def __init__(self, rules: Any) -> None:
        self.rules = rules

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rules, name)

    def resolve_function_type(self, function: Any, args: Any, kws: Any) -> Any:
        key = getattr(function, "typing_key", function)
        if kws or not _are_plain(args) or getattr(key, "__module__", "") != "_operator":
            return self.rules.resolve_function_type(function, args, kws)
        asked = function, tuple(args)
        if asked not in self.known:
            self.known[asked] = self.rules.resolve_function_type(function, args, kws)
        return self.known[asked]

    def resolve_setitem(self, target: Any, index: Any, value: Any) -> Any:
        return self.resolve_function_type(operator.setitem, (target, index, value), {})


@register_pass(mutates_CFG=True, analysis_only=False)
class Types(NopythonTypeInference):  # type: ignore[misc, unused-ignore]
    _name = "types_once"

    def run_pass(self, state: Any) -> bool:
        rules = state.typingctx
        state.typingctx = _Typing(rules)
        try:
            return bool(super().run_pass(state))
        finally:
            state.typingctx = rules


class Lowering(Lower):  # type: ignore[misc, unused-ignore]
    """Translates as numba does, which asks for the types of each operation again."""

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        signature = self.fndesc.calltypes[expr]
        written = {expr.static_lhs, expr.static_rhs} != {ir.UNDEFINED}  # as the 2 of x**2
        if written or not _are_plain(signature.args):
            return super().lower_binop(resty, expr, op)
        result = self._operate(op, signature, expr.lhs, expr.rhs)
        return self.context.cast(self.builder, result, signature.return_type, resty)

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        if not _are_plain(signature.args):
            return super().lower_getitem(resty, expr, value, index, signature)
        result = self._operate(operator.getitem, signature, value, index)
        return self.context.cast(self.builder, result, signature.return_type, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        if not _are_plain(signature.args):
            return super().lower_setitem(target_var, index_var, value_var, signature)
        return self._operate(operator.setitem, signature, target_var, index_var, value_var)

    def _operate(self, operation: Any, signature: Any, *variables: Any) -> Any:
        rules = self.context.typing_context
        function = rules.resolve_value_type(operation)
        exact = _Typing(rules).resolve_function_type(function, signature.args, {})
        values = [
            self.context.cast(self.builder, self.loadvar(each.name), self.typeof(each.name), kind)
            for each, kind in zip(variables, signature.args, strict=True)
        ]
        return self.context.get_function(function, exact)(self.builder, values)
