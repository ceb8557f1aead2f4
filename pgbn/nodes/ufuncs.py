"""numpy's functions of expressions: operators are ours, other functions are refused in words."""

from __future__ import annotations

from typing import Any

from pgbn.errors import NetworkError

__all__ = ["apply_ufunc"]

_OPERATORS = {
    "add": "add", "multiply": "mul", "matmul": "matmul", "divide": "truediv", "subtract": "sub",
    "power": "pow",
}  # fmt: skip


def apply_ufunc(kind: type[Any], ufunc: str, method: str, inputs: tuple[Any, ...]) -> Any:
    """``array * node`` and the like by the operators of the expressions, of type ``kind``;
    equality is identity."""
    if method == "__call__" and len(inputs) == 2:
        left, right = inputs
        if ufunc in ("equal", "not_equal"):
            return (left is right) == (ufunc == "equal")
        if ufunc in _OPERATORS:
            name = _OPERATORS[ufunc]
            if isinstance(left, kind):
                return getattr(left, f"__{name}__")(right)
            return getattr(right, f"__r{name}__")(left)
    here = next(each for each in inputs if isinstance(each, kind))
    way = ". The exponential of a pgbn.Normal is a pgbn.LogNormal" if ufunc == "exp" else ""
    raise NetworkError(
        f"numpy.{ufunc} of {here}: it has no conjugate update; an expression is made with @, +, * "
        f"and / by a number{way}"
    )
