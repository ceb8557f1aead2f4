r"""Formula: LaTeX with arithmetic, so that a rule's own code writes its equation.

A rule such as ``np.log1p(exposure / rate)`` is called with formulas instead of arrays and
returns ``\ln(1 + q/c)``. So the printed formula is the computed one, also for rules that users
have registered. A rule whose code cannot be read in this way shows its ``equation``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

# how tightly the outermost operation binds
_CONDITION, _SUM, _PRODUCT, _ATOM = 0, 1, 2, 3


def _digits(value: float) -> str:
    if math.isinf(value):
        return r"\infty" if value > 0 else r"-\infty"
    text = f"{value:g}"
    if "e" not in text:
        return text
    mantissa, exponent = text.split("e")
    power = rf"10^{{{int(exponent)}}}"
    return power if mantissa == "1" else rf"{mantissa} \cdot {power}"


def numeral(value: float) -> Formula:
    """A number as a formula."""
    return Formula(_digits(value), _ATOM if value >= 0 else _SUM)


def _formula(value: Any) -> Formula:
    if isinstance(value, Formula):
        return value
    if isinstance(value, (int, float, np.integer, np.floating)):
        return numeral(float(value))
    raise TypeError(f"cannot write {value!r} in a formula")


@dataclass(frozen=True, eq=False)
class Formula:
    """An expression in LaTeX.

    ``level`` says whether it needs brackets; ``negates`` is the part after its minus sign."""

    latex: str
    level: int = _ATOM
    negates: Formula | None = None

    @staticmethod
    def sum_over(index: str, body: Formula) -> Formula:
        """Σ_index body."""
        return Formula(rf"\sum_{{{index}}} {body.within(_PRODUCT)}", _SUM)

    def within(self, level: int) -> str:
        """The LaTeX, in brackets if it binds less tightly than ``level``."""
        if self.level == _CONDITION:
            return rf"1({self.latex})"
        if self.level >= level:
            return self.latex
        tall = r"\sum" in self.latex
        return rf"\left({self.latex}\right)" if tall else f"({self.latex})"

    def __add__(self, other: Any) -> Formula:
        left, right = self.within(_SUM), _formula(other).within(_SUM)
        if left == "0" or right == "0":
            return Formula(right, _formula(other).level) if left == "0" else self
        sign = "-" if right.startswith("-") else "+"
        return Formula(f"{left} {sign} {right.removeprefix('-')}", _SUM)

    def __radd__(self, other: Any) -> Formula:
        return _formula(other) + self

    def __neg__(self) -> Formula:
        if self.negates is not None or self.latex == "0":
            return self.negates or self
        return Formula(f"-{self.within(_PRODUCT)}", _SUM, self)

    def __sub__(self, other: Any) -> Formula:
        return self + -_formula(other)

    def __rsub__(self, other: Any) -> Formula:
        return _formula(other) - self

    def __mul__(self, other: Any) -> Formula:
        other = _formula(other)
        if self.negates is not None or other.negates is not None:
            product: Formula = self._unsigned() * other._unsigned()
            both = self.negates is not None and other.negates is not None
            return product if both else -product
        for one, rest in ((self, other), (other, self)):
            if one.latex == "1":
                return Formula(rest.within(_SUM), rest.level or _ATOM)
        gap = r" \cdot " if other.latex[:1].isdigit() else r"\, "
        return Formula(f"{self.within(_PRODUCT)}{gap}{other.within(_PRODUCT)}", _PRODUCT)

    def __rmul__(self, other: Any) -> Formula:
        return _formula(other) * self

    def _unsigned(self) -> Formula:
        return self if self.negates is None else self.negates

    def __truediv__(self, other: Any) -> Formula:
        other = _formula(other)
        if self.negates is not None:
            quotient: Formula = self.negates / other
            return -quotient
        if other.latex == "1":
            return self
        return Formula(f"{self.within(_PRODUCT)} / {other.within(_ATOM)}", _PRODUCT)

    def __rtruediv__(self, other: Any) -> Formula:
        return _formula(other) / self

    def __pow__(self, other: Any) -> Formula:
        base = self.within(_ATOM)
        if self.level >= _ATOM and "^" in re.sub(r"\{[^{}]*\}", "", base):  # w^{(1)} of a layer
            base = f"({base})"
        return Formula(f"{base}^{{{_formula(other).latex}}}", _PRODUCT)

    def _compare(self, sign: str, other: Any) -> Formula:
        return Formula(f"{self.latex} {sign} {_formula(other).latex}", _CONDITION)

    def __gt__(self, other: Any) -> Formula:
        return self._compare(">", other)

    def __ge__(self, other: Any) -> Formula:
        return self._compare(r"\ge", other)

    def __lt__(self, other: Any) -> Formula:
        return self._compare("<", other)

    def __le__(self, other: Any) -> Formula:
        return self._compare(r"\le", other)

    def __eq__(self, other: Any) -> Any:
        return self._compare("=", other)

    def __ne__(self, other: Any) -> Any:
        return self._compare(r"\ne", other)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError(f"{self.latex} is a formula: it is neither true nor false")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        function = _FUNCTIONS.get(ufunc)
        if function is None or method != "__call__" or options:
            return NotImplemented
        return function(*(_formula(value) for value in inputs))

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function in _FILLED:
            return _formula(_FILLED[function](*args[1:]))
        if function is not np.where or len(args) != 3 or options:
            return NotImplemented
        condition, then, otherwise = (_formula(value).latex for value in args)
        return Formula(
            rf"\begin{{cases}} {then} & \text{{if }} {condition} \\ "
            rf"{otherwise} & \text{{otherwise}} \end{{cases}}"
        )


# functions that fill an array of the shape of their first argument
_FILLED: dict[Any, Callable[..., Any]] = {
    np.zeros_like: lambda *_: 0.0,
    np.ones_like: lambda *_: 1.0,
    np.full_like: lambda value, *_: value,
}


def _named(name: str) -> Callable[..., Formula]:
    return lambda *values: Formula(rf"{name}({', '.join(value.latex for value in values)})")


_FUNCTIONS: dict[Any, Callable[..., Formula]] = {
    np.add: lambda a, b: a + b,
    np.subtract: lambda a, b: a - b,
    np.multiply: lambda a, b: a * b,
    np.true_divide: lambda a, b: a / b,
    np.power: lambda a, b: a**b,
    np.negative: lambda a: -a,
    np.greater: lambda a, b: a > b,
    np.greater_equal: lambda a, b: a >= b,
    np.less: lambda a, b: a < b,
    np.less_equal: lambda a, b: a <= b,
    np.equal: lambda a, b: a == b,
    np.not_equal: lambda a, b: a != b,
    np.log: _named(r"\ln"),
    np.log1p: lambda a: _FUNCTIONS[np.log](1 + a),
    np.exp: lambda a: Formula(f"e^{{{a.latex}}}"),
    np.expm1: lambda a: _FUNCTIONS[np.exp](a) - 1,
    np.sqrt: lambda a: Formula(rf"\sqrt{{{a.latex}}}"),
    np.maximum: _named(r"\max"),
    np.minimum: _named(r"\min"),
    special.expit: _named(r"\mathrm{expit}"),
    special.logit: _named(r"\mathrm{logit}"),
}


def ratio(coefficient: float, body: Formula) -> Formula:
    """coefficient · body, as a fraction if the coefficient is one over a whole number."""
    if coefficient == 1.0:
        return body
    inverse = round(1.0 / coefficient) if abs(coefficient) > 1e-9 else 0
    if inverse > 1 and math.isclose(coefficient * inverse, 1.0, rel_tol=1e-12):
        return body / inverse
    return numeral(coefficient) * body


def call(function: Any, **arguments: Formula) -> Formula | dict[str, Formula] | None:
    """The result of a rule's function of formulas, one or a dict; None if it cannot be read."""
    try:
        result = function(**arguments)
        if isinstance(result, dict):
            return {name: _formula(value) for name, value in result.items()}
        return _formula(result)
    except Exception:  # a rule may contain any code; the printed equation is the fallback
        return None
