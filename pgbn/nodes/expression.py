"""Expressions: what may stand in a slot of a node, and the operators that build it.

A slot holds a number, a node, or a polynomial of nodes:

- ``phi @ theta``   Mix: a product summed over the dims that both share,
- ``tau * theta``   Product, ``gamma0 / K`` Product with a number,
- ``a + b``         Sum,
- ``theta[author]`` Index: entries by the categories of other rows,
- ``Shift(...)``    the previous row of a chain, see `pgbn.nodes.shift`.

Expressions are specifications only; `pgbn.network.terms` brings them to a normal form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from scipy.sparse import issparse

from pgbn.checks import in_order, is_finite_number
from pgbn.errors import NetworkError
from pgbn.nodes.arguments import as_known, by_position, explain_error, is_real, short
from pgbn.nodes.ufuncs import apply_ufunc

__all__ = [
    "Constant",
    "Dims",
    "Expression",
    "Mix",
    "Product",
    "Rename",
    "Slot",
    "Sum",
    "bracket",
    "extent_of",
    "to_expression",
]


MOST_TERMS, DEEPEST = 10_000, 200


def _as_dims(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Dims = Annotated[tuple[str, ...], BeforeValidator(_as_dims)]


if TYPE_CHECKING:
    # What a type checker needs to know of pydantic's base: our constructors take the name and
    # the first slots by position, which its synthesised ones do not.
    from pydantic.fields import FieldInfo

    class _Model:
        model_fields: ClassVar[dict[str, FieldInfo]]

        def __init__(self, *args: Any, **fields: Any) -> None: ...

        @classmethod
        def __pydantic_init_subclass__(cls, **kwargs: Any) -> None: ...

else:
    _Model = BaseModel


class Expression(_Model):
    """Anything that has a value with named dims. Compared by identity, never changed."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    tag: ClassVar[str] = "expression"
    # the fields that may be given by position
    positional: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *args: Any, **fields: Any) -> None:
        fields = by_position(type(self), self.positional, args, fields)
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise NetworkError(explain_error(type(self), fields.get("name"), error)) from None
        terms, depth = self.extent
        if terms > MOST_TERMS or depth > DEEPEST:
            raise NetworkError(
                f"{type(self).__name__}: an expression of {terms} terms, nested {depth} times, is "
                f"too large (at most {MOST_TERMS} terms, {DEEPEST} times); sum along a dim instead"
            )

    @cached_property
    def extent(self) -> tuple[int, int]:
        """The number of terms, multiplied out, and how deep expressions are nested."""
        return 1, 0

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **_: Any) -> Any:
        return apply_ufunc(Expression, ufunc.__name__, method, inputs)

    __pandas_priority__ = 10_000  # data frames leave their operators to it

    def __matmul__(self, other: Any) -> Mix:
        return Mix(factors=(self, to_expression(other)))

    def __rmatmul__(self, other: Any) -> Mix:
        return Mix(factors=(to_expression(other), self))

    def __mul__(self, other: Any) -> Product:
        return Product(factors=(self, to_expression(other)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Product:
        if not is_real(other):
            raise NetworkError(
                f"{self} / {other!r}: only division by a number is conjugate; "
                "give the divisor as a rate parameter instead"
            )
        if not is_finite_number(other) or not other > 0:
            raise NetworkError(f"{self} / {short(other)}: the divisor must be positive and finite")
        return Product(factors=(self, Constant(value=1.0 / float(other))))

    def __add__(self, other: Any) -> Sum:
        return Sum(terms=(self, to_expression(other)))

    __radd__ = __add__

    def _refuse(self, *others: Any) -> Expression:
        raise NetworkError(
            f"{self}: -, ** and division by a node have no conjugate update; an expression is made "
            "with @, +, * and / by a number"
        )

    __sub__ = __rsub__ = __neg__ = __pow__ = __rpow__ = __rtruediv__ = _refuse

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __getitem__(self, by: Any) -> Expression:
        """``theta[author]``: the entries that `pgbn.Categories` name, or that a hidden
        `pgbn.Categorical` chooses, see `pgbn.Index`."""
        from pgbn.nodes.index import Index  # it is an expression itself

        return Index(of=self, by=_as_categories(self, by))

    def rename(self, **names: str) -> Rename:
        """The same value with dims renamed: ``theta.rename(topic="previous")``."""
        return Rename(of=self, names=names)


def to_expression(value: Any) -> Expression:
    """Numbers and arrays become constants; expressions pass unchanged."""
    if isinstance(value, Expression):
        return value
    if is_real(value) or isinstance(value, (list, tuple, np.ndarray)) or issparse(value):
        return Constant(value=as_known(value))
    raise NetworkError(
        f"got {short(value)} of type {type(value).__name__}; give a number, a node, an array "
        "of numpy, or an expression such as phi @ theta"
    )


Slot = Annotated[Expression, BeforeValidator(to_expression)]


class Constant(Expression):
    """A known number, or an array with a named dim for each of its axes.

    A scipy.sparse matrix stays sparse: ``Constant(W, dims=("doc", "author")) @ theta`` costs as
    much as W has entries, and gives every document the weighted sum of its authors.
    """

    tag: ClassVar[str] = "constant"
    positional: ClassVar[tuple[str, ...]] = ("value",)
    value: Annotated[Any, BeforeValidator(as_known)]
    dims: Dims = ()

    @model_validator(mode="before")
    @classmethod
    def _in_order(cls, fields: dict[str, Any]) -> dict[str, Any]:
        dims = _as_dims(fields.get("dims"))
        if not isinstance(dims, (tuple, list)) or "value" not in fields:
            return fields
        return {**fields, "value": in_order("value", tuple(dims), fields["value"])}

    @field_validator("dims")
    @classmethod
    def _check_dims(cls, dims: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(dims)) < len(dims):
            raise ValueError(f"{dims} names a dim twice; give the second another name")
        return dims

    def __str__(self) -> str:
        return f"{float(self.value):g}" if self.value.ndim == 0 else f"constant{self.dims}"


class Mix(Expression):
    """Σ over shared dims of a product: ``phi @ theta``.

    ``over`` names the dims to sum; left out, they are those that two factors share and
    the node that uses the Mix does not have.
    """

    tag: ClassVar[str] = "mix"
    factors: tuple[Slot, ...] = Field(min_length=1)
    over: Dims | None = None

    @cached_property
    def extent(self) -> tuple[int, int]:
        return extent_of(self.factors, prod)

    def __str__(self) -> str:
        return " @ ".join(bracket(factor) for factor in self.factors)


class Product(Expression):
    """An elementwise product, aligned by the names of the dims."""

    tag: ClassVar[str] = "product"
    factors: tuple[Slot, ...] = Field(min_length=1)

    @cached_property
    def extent(self) -> tuple[int, int]:
        return extent_of(self.factors, prod)

    def __str__(self) -> str:
        return " * ".join(bracket(factor) for factor in self.factors)


class Sum(Expression):
    """An elementwise sum, aligned by the names of the dims."""

    tag: ClassVar[str] = "sum"
    terms: tuple[Slot, ...] = Field(min_length=1)

    @cached_property
    def extent(self) -> tuple[int, int]:
        return extent_of(self.terms, sum)

    def __str__(self) -> str:
        return " + ".join(str(term) for term in self.terms)


class Rename(Expression):
    """A node's value with some of its dims renamed."""

    tag: ClassVar[str] = "rename"
    of: Slot
    names: Mapping[str, str]

    @cached_property
    def extent(self) -> tuple[int, int]:
        return extent_of((self.of,), sum)

    def __str__(self) -> str:
        return str(self.of)


def extent_of(
    parts: tuple[Expression, ...], combine: Callable[[Iterable[int]], int]
) -> tuple[int, int]:
    """The extent of an expression made of parts, whose numbers of terms ``combine``."""
    extents = [part.extent for part in parts]
    return combine(terms for terms, _ in extents), 1 + max(depth for _, depth in extents)


def _as_categories(expression: Expression, by: Any) -> tuple[Any, ...]:
    """What stands in brackets: `pgbn.Categories` or `pgbn.Categorical`, one or several."""
    from pgbn.nodes.categorical import Categorical
    from pgbn.nodes.categories import Categories

    several = by if isinstance(by, tuple) else (by,)
    for each in several:
        if not isinstance(each, Categories | Categorical):
            raise NetworkError(
                f"{expression}[{short(each)}]: give pgbn.Categories in the brackets, such as "
                "pgbn.Categories('author', dims='doc', of='writer'), with its numbers as data or "
                "as values=[…], or a pgbn.Categorical, which chooses"
            )
    return several


def bracket(expression: Expression) -> str:
    """An expression as it stands in a product."""
    return f"({expression})" if isinstance(expression, Sum) else str(expression)
