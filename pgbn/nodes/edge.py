"""Edge: an operation of your own, said in terms of the others.

    class Twice(pgbn.Edge):
        tag: ClassVar[str] = "my_package.twice"
        of: pgbn.Slot

        def expand(self):
            return 2.0 * self.of

It may then stand in any slot. What is built from operations that can be evaluated, shared out and
exposed can be so itself: `expand` is all that there is to write.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from pgbn.errors import NetworkError
from pgbn.nodes.expression import Expression, to_expression

__all__ = ["Edge", "edge_types"]

_types: dict[str, type[Edge]] = {}


class Edge(Expression):
    """An expression that stands for another one, which `expand` gives.

    Invariant: the class attribute `tag` is unique; it is the "edge" in JSON. Fields annotated as
    `pgbn.Slot` hold expressions, the others what pydantic can write as JSON.
    """

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if "tag" not in cls.__dict__:
            raise NetworkError(
                f"the edge type {cls.__name__} has no tag, so JSON cannot name it; add to the "
                'class: tag: ClassVar[str] = "my_package.my_edge"'
            )
        known = _types.get(cls.tag)
        if known is not None and known.__qualname__ != cls.__qualname__:
            raise NetworkError(f"edge type {cls.tag!r} is defined twice: {known}, {cls}")
        _types[cls.tag] = cls

    @classmethod
    def slots(cls) -> tuple[str, ...]:
        """The names of the fields that take expressions, in order."""
        return tuple(
            name
            for name, field in cls.model_fields.items()
            if isinstance(field.annotation, type) and issubclass(field.annotation, Expression)
        )

    def expand(self) -> Any:
        """The expression that it stands for, made of other operations."""
        raise NetworkError(
            f"{type(self).__name__}: does not define expand(self), which returns the expression "
            "that it stands for, such as pgbn.Constant(w, dims=…) @ self.of"
        )

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
            terms, depth = self.expanded.extent
        except RecursionError:
            name = type(self).__name__
            raise NetworkError(f"{name}: expand() returns edges that expand for ever") from None
        return terms, depth + 1

    def __str__(self) -> str:
        fields = ", ".join(
            str(getattr(self, name)) if name in self.slots() else f"{name}={getattr(self, name)}"
            for name in type(self).model_fields
        )
        return f"{type(self).__name__}({fields})"


def edge_types() -> dict[str, type[Edge]]:
    """The known edge types by tag."""
    return dict(_types)
