"""Node: a named distribution with dims and slots. A new type subclasses Latent or Observed.

A node type answers three questions. How it is generated: `Node.generate`. What evidence
it passes to each slot: `pgbn.evidence_rule`. How it is drawn given the evidence that it
hears: `pgbn.draw_rule`, which gives the parameters of the posterior in its own family.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import field_validator

from pgbn.errors import NetworkError
from pgbn.nodes.expression import Constant, Dims, Expression
from pgbn.samplers.stream import Stream

__all__ = [
    "Array",
    "Latent",
    "Node",
    "Observed",
    "check_positive",
    "check_probability",
    "node_types",
]

Array = NDArray[Any]

_types: dict[str, type[Node]] = {}


class Node(Expression):
    """A random variable of the network.

    Invariant: the class attribute `tag` is unique; it is the node's "type" in JSON.
    """

    positional: ClassVar[tuple[str, ...]] = ()
    # slots whose value must be positive, and whether the node's own value can be exactly 0
    positive_slots: ClassVar[tuple[str, ...]] = ()
    has_zeros: ClassVar[bool] = False

    name: str
    dims: Dims = ()

    def __init__(self, name: str = "", /, *args: Any, **fields: Any) -> None:
        cls = type(self)
        name = fields.pop("name", name)
        if len(args) > len(cls.positional):
            raise NetworkError(
                f"{cls.__name__}({name!r}): takes {len(cls.positional)} positional parameters "
                f"after the name {cls.positional}, got {len(args)}"
            )
        for slot, value in zip(cls.positional, args, strict=False):
            if slot in fields:
                raise NetworkError(f"{cls.__name__}({name!r}): {slot} is given twice")
            fields[slot] = value
        super().__init__(name=name, **fields)
        if len(set(self.axes)) < len(self.axes):
            raise NetworkError(
                f"{cls.__name__}({name!r}): its dims {self.axes} name a dim twice; give the second "
                "another name"
            )

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if "tag" in cls.__dict__:
            known = _types.get(cls.tag)
            if known is not None and known.__qualname__ != cls.__qualname__:
                raise NetworkError(f"node type {cls.tag!r} is defined twice: {known}, {cls}")
            _types[cls.tag] = cls

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if not name or any(character in name for character in " ()[]{},.:/"):
            raise ValueError(f"{name!r} is not a name: use letters, digits and underscores")
        if name in ("self", "constant"):
            raise ValueError(f"{name!r} has a meaning of its own here; choose another name")
        return name

    @field_validator("dims")
    @classmethod
    def _check_dims(cls, dims: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(dims)) < len(dims):
            raise ValueError(f"{dims} names a dim twice; give the second another name")
        if not all(dims):
            raise ValueError(f"{dims} holds an empty name; a dim is called, say, 'doc'")
        return dims

    @classmethod
    def slots(cls) -> tuple[str, ...]:
        """The names of the fields that take expressions, in order."""
        return tuple(
            name
            for name, field in cls.model_fields.items()
            if isinstance(field.annotation, type) and issubclass(field.annotation, Expression)
        )

    @property
    def axes(self) -> tuple[str, ...]:
        """All dims of the node's value."""
        return self.dims

    @property
    def simplex(self) -> str | None:
        """The dim over which the value sums to one, if there is one."""
        return None

    def slot_axes(self, slot: str) -> tuple[str, ...]:
        """The dims that the expression in ``slot`` may have."""
        return self.axes

    def generate(self, stream: Stream, **slots: Any) -> Array:
        """A draw of the node given its slots (4-d arrays that broadcast to stream.shape)."""
        raise NotImplementedError(f"{type(self).__name__} does not define generate()")

    def log_density(self, value: Array, **slots: Any) -> Array:
        """Elementwise log density; sums to the log density of the node."""
        raise NotImplementedError(f"{type(self).__name__} does not define log_density()")

    def formula(self, **slots: str) -> str:
        """The distribution in LaTeX, given its slots in LaTeX."""
        return rf"\mathrm{{{type(self).__name__}}}({', '.join(slots.values())})"

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        slots = ", ".join(f"{slot}={getattr(self, slot)}" for slot in self.slots())
        axes = f", dims={self.axes}" if self.axes else ""
        return f"{type(self).__name__}({self.name!r}, {slots}{axes})"


class Latent(Node):
    """A node whose value is unknown and is drawn."""

    def refuses(self, value: Array) -> str | None:
        """What keeps these values (in the order of the axes) from being possible, or None."""
        if not np.isfinite(value).all() or (value < 0).any():
            bad = value[~(np.isfinite(value) & (value >= 0))].flat[0]
            return f"has the value {bad:g}; give finite values of at least 0"
        if self.simplex is not None:
            sums = value.sum(axis=self.axes.index(self.simplex))
            if not np.allclose(sums, 1.0):
                worst = float(np.ravel(sums)[np.argmax(np.abs(sums - 1.0))])
                return f"sums to {worst:g} over {self.simplex!r}; divide by the sum, to make it 1"
        return None

    def begin(self, value: Array) -> Array:
        """Where a chain begins, from a draw of the prior. Any possible value will do."""
        return value


class Observed(Node):
    """A node whose value is data."""

    def log_density_cells(self, value: Array, **slots: Any) -> Array:
        """Log density of separate cells, for types whose cells are independent."""
        return self.log_density(value, **slots)

    def check(self, values: Array) -> str | None:
        """What these (finite) data values have that they must not ("negative values"), or None."""
        return None


def check_positive(expression: Expression) -> Expression:
    """Refuse constants that are not positive."""
    if isinstance(expression, Constant) and not (expression.value > 0).all():
        worst = float(np.min(expression.value))
        raise ValueError(f"must be positive, got {worst:g}")
    return expression


def check_probability(expression: Expression) -> Expression:
    """Refuse constants outside [0, 1]."""
    if isinstance(expression, Constant):
        value = expression.value
        if not ((value >= 0) & (value <= 1)).all():
            raise ValueError(f"must be a probability between 0 and 1, got {value}")
    return expression


def node_types() -> dict[str, type[Node]]:
    """The known node types by tag."""
    return dict(_types)
