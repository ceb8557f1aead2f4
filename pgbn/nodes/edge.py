"""Edge: an operation of your own, made of other operations or with its own evaluation.

    class Twice(extend.Edge):
        tag: ClassVar[str] = "my_package.twice"
        of: extend.Slot

        def expand(self):
            return 2.0 * self.of

Any slot may then contain it. `expand` is all that you write: pgbn evaluates the expansion, shares
counts out among its terms and computes their exposures.

pgbn may have no operations, or none that is fast enough, for some operation

    y_v = Σ_e c_ve a_e,  c ≥ 0 given, or made of its other operands

Such a type defines `evaluate`, `split` and `expose` instead of `expand`.
`pgbn.testing.check_edge` compares the three with the complete matrix c.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

from pgbn.errors import NetworkError
from pgbn.nodes.expression import Expression, to_expression

_types: dict[str, type[Edge]] = {}
_OWN = ("evaluate", "split", "expose")


class Edge(Expression):
    """An expression that stands for another one (`expand`), or has its own `evaluate`, `split` and
    `expose`.

    Invariants: the class attribute `tag` is unique; it is the "edge" in JSON. Fields annotated as
    `pgbn.extend.Slot` contain expressions, the others values that pydantic can write as JSON. A
    type defines `expand`, or all three of `evaluate`, `split` and `expose`.
    """

    _multiplies: ClassVar[bool] = True
    positive: ClassVar[bool] = False  # an evaluated value is positive if its operands are

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if "tag" not in cls.__dict__:
            raise NetworkError(
                f"the edge type {cls.__name__} has no tag, so JSON cannot name it; add to the "
                'class: tag: ClassVar[str] = "my_package.my_edge"'
            )
        defined = [name for name in _OWN if getattr(cls, name) is not getattr(Edge, name)]
        lacking = [name for name in _OWN if name not in defined]
        if defined and lacking:
            raise NetworkError(
                f"the edge type {cls.__name__} defines {', '.join(defined)} but not "
                f"{', '.join(lacking)}; define all three, or expand(self) instead"
            )
        known = _types.get(cls.tag)
        if known is not None and known.__qualname__ != cls.__qualname__:
            raise NetworkError(f"edge type {cls.tag!r} is defined twice: {known}, {cls}")
        _types[cls.tag] = cls

    def expand(self) -> Any:
        """The expression that it stands for, made of other operations."""
        raise NetworkError(
            f"{type(self).__name__}: does not define expand(self), which returns the expression "
            "that it stands for, such as pgbn.Constant(w, dims=…) @ self.of; nor evaluate, split "
            "and expose"
        )

    def dims_of(self, **operands: tuple[str, ...]) -> tuple[str, ...]:
        """The dims of the value, given those of the operands by slot. The default is all dims."""
        return tuple(dict.fromkeys(dim for dims in operands.values() for dim in dims))

    def independent_dims(self, **operands: tuple[str, ...]) -> tuple[str, ...]:
        """The dims along which rows do not depend on each other, given the dims of the operands.

        Row i of the value depends on row i alone of each operand that has the dim, in the same way
        for all rows. `net.infer` accepts new rows along these dims. The default is none."""
        return ()

    def evaluate(self, **operands: Any) -> Any:
        """The value (R, *dims_of) from arrays (R or 1, *dims) of the operands.

        It is linear in each operand, with coefficients that are never negative."""
        raise NotImplementedError

    def split(self, stream: Any, count: Any, **operands: Any) -> dict[str, Any]:
        """The counts (R, *dims) of the entries of each slot.

        The ``count`` (R, *dims_of) of every cell is shared out among its summands in proportion to
        them. A summand is a product of one entry of each operand; all these entries receive its
        counts."""
        raise NotImplementedError

    def expose(self, slot: str, exposure: Any, shape: tuple[int, ...], **others: Any) -> Any:
        """Σ_v q_v c_ve: the exposure of the entries of one operand, which has this ``shape``.

        It is made from the ``exposure`` (R, *dims_of) of the value and the other operands."""
        raise NotImplementedError

    @property
    def is_evaluated(self) -> bool:
        """Whether it has its own evaluation, split and exposure."""
        return type(self).evaluate is not Edge.evaluate

    @property
    def _parts(self) -> tuple[Expression, ...]:
        """The expressions that it is made of: its operands, or its expansion."""
        if self.is_evaluated:
            return tuple(getattr(self, slot) for slot in self.slots())
        return (self.expanded,)

    @cached_property
    def expanded(self) -> Expression:
        """The result of `expand`, called once: its nodes and constants are always the same ones."""
        found = self.expand()
        if found is self:
            raise NetworkError(f"{type(self).__name__}: expand() returned the edge itself")
        try:
            return to_expression(found)
        except NetworkError as error:
            raise NetworkError(f"{type(self).__name__}: expand() returned {error}") from None

    @cached_property
    def extent(self) -> tuple[int, int]:
        try:
            return super().extent
        except RecursionError:
            name = type(self).__name__
            raise NetworkError(f"{name}: expand() returns edges that expand without end") from None

    def __str__(self) -> str:
        fields = ", ".join(
            str(getattr(self, name)) if name in self.slots() else f"{name}={getattr(self, name)}"
            for name in type(self).model_fields
        )
        return f"{type(self).__name__}({fields})"


def edge_types() -> dict[str, type[Edge]]:
    """The registered edge types by tag."""
    return dict(_types)
