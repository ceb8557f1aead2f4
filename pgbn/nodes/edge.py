"""Edge: an operation of your own, said in terms of the others, or evaluated by itself.

    class Twice(pgbn.Edge):
        tag: ClassVar[str] = "my_package.twice"
        of: pgbn.Slot

        def expand(self):
            return 2.0 * self.of

It may then stand in any slot. What is built from operations that can be evaluated, shared out and
exposed can be so itself, so that `expand` is all that there is to write. An operation

    y_v = Σ_e c_ve a_e,  c ≥ 0 known, or made of its other operands

for which pgbn has no operations, or none that is fast enough, defines in its place `evaluate`,
`split` and `expose`; `pgbn.testing.check_edge` compares the three with the whole matrix c.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

from pgbn.errors import NetworkError
from pgbn.nodes.expression import Expression, to_expression

_types: dict[str, type[Edge]] = {}
_OWN = ("evaluate", "split", "expose")


class Edge(Expression):
    """An expression that stands for another one, which `expand` gives, or that brings its own
    evaluation, split and exposure.

    Invariants: the class attribute `tag` is unique; it is the "edge" in JSON. Fields annotated as
    `pgbn.Slot` hold expressions, the others what pydantic can write as JSON. A type defines
    `expand`, or `evaluate`, `split` and `expose`, all three.
    """

    _multiplies: ClassVar[bool] = True
    positive: ClassVar[bool] = False  # an evaluated value is positive wherever its operands are

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
                f"{', '.join(lacking)}; define all three, or expand(self) in their place"
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
        """The dims of the value, given those of the operands by slot: all of them, unless
        replaced."""
        return tuple(dict.fromkeys(dim for dims in operands.values() for dim in dims))

    def independent_dims(self, **operands: tuple[str, ...]) -> tuple[str, ...]:
        """The dims, given those of the operands by slot, along which every row of the value is made
        of the same row, alone, of each operand that has the dim, and in the same way for all rows:
        `net.infer` takes new rows along these. None, unless replaced."""
        return ()

    def evaluate(self, **operands: Any) -> Any:
        """The value, (R, *dims_of), from arrays (R or 1, *dims) of the operands: linear in each,
        with coefficients that are never negative."""
        raise NotImplementedError

    def split(self, stream: Any, count: Any, **operands: Any) -> dict[str, Any]:
        """For each slot, the counts (R, *dims) of its entries: the ``count`` (R, *dims_of) of every
        cell of the value, shared out among the summands of the cell in proportion to them. A
        summand is a product of one entry of each operand, all of which hear its counts."""
        raise NotImplementedError

    def expose(self, slot: str, exposure: Any, shape: tuple[int, ...], **others: Any) -> Any:
        """Σ_v q_v c_ve: the exposure of the entries of one operand, of this ``shape``, from the
        ``exposure`` (R, *dims_of) of the value and the other operands."""
        raise NotImplementedError

    @property
    def is_evaluated(self) -> bool:
        """Whether it brings its own evaluation, split and exposure."""
        return type(self).evaluate is not Edge.evaluate

    @property
    def _parts(self) -> tuple[Expression, ...]:
        """The expressions that it is made of: its operands, or what it stands for."""
        if self.is_evaluated:
            return tuple(getattr(self, slot) for slot in self.slots())
        return (self.expanded,)

    @cached_property
    def expanded(self) -> Expression:
        """What `expand` gives, once: the nodes and constants in it are always the same ones."""
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
            raise NetworkError(f"{name}: expand() returns edges that expand for ever") from None

    def __str__(self) -> str:
        fields = ", ".join(
            str(getattr(self, name)) if name in self.slots() else f"{name}={getattr(self, name)}"
            for name in type(self).model_fields
        )
        return f"{type(self).__name__}({fields})"


def edge_types() -> dict[str, type[Edge]]:
    """The known edge types by tag."""
    return dict(_types)
