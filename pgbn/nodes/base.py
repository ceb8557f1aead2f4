"""Node: a named distribution with dims and slots. A new type subclasses Latent or Observed.

A node type answers three questions:

- How is it generated? `Node.generate`.
- Which evidence does it send to each slot? `pgbn.extend.evidence_rule`.
- How is it drawn given the evidence that it receives? `pgbn.extend.draw_rule`, which gives the
  parameters of the posterior in its own family.
"""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import field_validator

from pgbn.errors import NetworkError, notify
from pgbn.nodes.expression import Constant, Dims, Expression
from pgbn.samplers.random import Stream

Array = NDArray[Any]

_types: dict[str, type[Node]] = {}
_definitions: dict[tuple[str, str], list[type[Node]]] = {}


class Node(Expression):
    """A random variable of the network.

    Invariant: the class attribute `tag` is unique; it is the node's "type" in JSON.
    """

    # slots whose value must be positive; whether the node's own value can be exactly 0 for any
    # slots; the slots with which it is 0; and slots that may be negative, such as a mean
    positive_slots: ClassVar[tuple[str, ...]] = ()
    has_zeros: ClassVar[bool] = False
    zero_with: ClassVar[tuple[str, ...]] = ()
    real_slots: ClassVar[tuple[str, ...]] = ()
    # whether the value itself may be negative: then only such slots may use it
    real: ClassVar[bool] = False

    name: str
    dims: Dims = ()

    def __init__(self, name: str = "", /, *args: Any, **fields: Any) -> None:
        cls = type(self)
        if "name" in fields and not (isinstance(name, str) and name == ""):
            raise NetworkError(
                f"{cls.__name__}({name!r}): name is given twice, also as {fields['name']!r}"
            )
        name = fields.pop("name", name)
        super().__init__(*args, name=name, **fields)
        if len(set(self.axes)) < len(self.axes):
            raise NetworkError(
                f"{cls.__name__}({name!r}): its dims {self.axes} name a dim twice; give the second "
                "another name"
            )
        for dim in ("chain", "draw"):
            if dim in self.axes:
                raise NetworkError(
                    f"{cls.__name__}({name!r}): a dim {dim!r}, which every draw has already; give "
                    "it another name"
                )

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if "<locals>" not in cls.__qualname__:
            _definitions.setdefault((cls.__module__, cls.__qualname__), []).append(cls)
        if "tag" in cls.__dict__:
            known = _types.get(cls.tag)
            if known is not None and known.__qualname__ != cls.__qualname__:
                raise NetworkError(f"node type {cls.tag!r} is defined twice: {known}, {cls}")
            _types[cls.tag] = cls
        elif not cls.__name__.startswith("_") and not cls.__module__.startswith("pgbn."):
            notify(
                f"the node type {cls.__name__} has no tag, so that networks of it cannot be saved; "
                'add to the class: tag: ClassVar[str] = "my_package.my_type" (if it is only the '
                "base of other types, begin its name with _)"
            )

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if not f"_{name}".isidentifier() or not name:
            raise ValueError(f"{name!r} is not a name: use letters, digits and underscores")
        if name in ("self", "constant"):
            raise ValueError(f"{name!r} is reserved; choose another name")
        return name

    @property
    def _parts(self) -> tuple[Expression, ...]:
        """None: a node is not taken apart in the slots of other nodes."""
        return ()

    @property
    def axes(self) -> tuple[str, ...]:
        """All dims of the node's value."""
        return self.dims

    @property
    def simplex(self) -> str | None:
        """The dim over which the value sums to one, if there is one."""
        return None

    @property
    def sums_over(self) -> tuple[str, ...]:
        """The dims over which the value sums to one, all together: none, one or several."""
        return () if self.simplex is None else (self.simplex,)

    def slot_axes(self, slot: str) -> tuple[str, ...]:
        """The dims that the expression in ``slot`` may have."""
        return self.axes

    def generate(self, stream: Stream, **slots: Any) -> Array:
        """A draw of the node given its slots (4-d arrays that broadcast to stream.shape)."""
        raise _undefined(self, "generate", "stream")

    def log_density(self, value: Array, **slots: Any) -> Array:
        """Elementwise log density; sums to the log density of the node. Only densities need it."""
        raise _undefined(self, "log_density", "value")

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

    # values above it are rejected: products of two of them would not be finite
    largest: ClassVar[float] = 1e150
    # the support of the values, for kernels that move them: "positive", the "unit" interval, or
    # "whole" numbers; "" if they cannot move the node
    support: ClassVar[str] = "positive"
    # whether the value is zeros with a single 1 along its simplex: all rows of a chain of such
    # values are drawn together
    finite: ClassVar[bool] = False

    update: str = ""  # the name of a kernel that draws it in place of its draw rule

    def refuses(self, value: Array) -> str | None:
        """The reason why these values (in the order of the axes) are impossible, or None."""
        if not np.isfinite(value).all() or (value < 0).any():
            bad = value[~(np.isfinite(value) & (value >= 0))].flat[0]
            return f"has the value {bad:g}; give finite values of at least 0"
        if value.size and value.max() > self.largest:
            return f"has the value {value.max():g}; give values of at most {self.largest:g}"
        if self.sums_over:
            sums = value.sum(axis=tuple(self.axes.index(dim) for dim in self.sums_over))
            if not np.allclose(sums, 1.0):
                worst = float(np.ravel(sums)[np.argmax(np.abs(sums - 1.0))])
                over = ", ".join(map(repr, self.sums_over))
                return f"sums to {worst:g} over {over}; divide by the sum, to make it 1"
        return None

    def refuses_mean(self, value: Array) -> str | None:
        """The same for a mean of values: a mean of integers need not be an integer."""
        return self.refuses(value)

    def expectation(self, **slots: Any) -> Array | None:
        """The expectation given the slots, or None if it has no formula.

        A node with a simplex also receives the ``axis`` of the simplex."""
        return None

    def expected_log_density(self, mean: Array, geometric: Array, /, **slots: Any) -> Array | None:
        """E ln p(x | slots) of a value with a mean and a geometric mean e^{E ln x}, or None if
        there is no formula. The bound of variational Bayes needs it."""
        return None

    def begin(self, value: Array) -> Array:
        """The value at which a chain begins, from a draw of the prior or of some of its rows.

        Any possible value will do."""
        return value


class Observed(Node):
    """A node whose value is data."""

    # whether data above 0 have probability 0 if the latent counts behind them are 0
    positive_needs_counts: ClassVar[bool] = False

    def log_density_cells(self, value: Array, **slots: Any) -> Array:
        """Log density of separate cells, for types whose cells are independent."""
        return self.log_density(value, **slots)

    def told_by_data(self, value: Array, axis: int) -> dict[str, Array]:
        """The slots that the data determine, such as the total of a multinomial along ``axis``.

        Predictions use these slots too."""
        return {}

    def check(self, values: Array) -> str | None:
        """The fault of these (finite) data values, such as "negative values", or None."""
        return None


def check_methods(node: Node) -> None:
    """Reject a type without a method that every type must define."""
    if type(node).generate is Node.generate:
        raise _undefined(node, "generate", "stream")


def _undefined(node: Node, method: str, arguments: str) -> NetworkError:
    return NetworkError(
        f"{node.name}: the node type {type(node).__name__} does not define {method}(); add to the "
        f"class: def {method}(self, {arguments}, **slots): ..."
    )


def draw_node(node: Node, stream: Stream, shape: tuple[int, ...], slots: dict[str, Any]) -> Array:
    """A draw by ``node.generate``, in another shape with the same number of cells."""
    drawn = np.asarray(node.generate(stream, **slots))
    if drawn.size != prod(shape):
        raise NetworkError(
            f"{node.name}: {type(node).__name__}.generate() returned an array of shape "
            f"{drawn.shape}; it must be stream.shape, which is {stream.shape}"
        )
    return drawn.reshape(shape)


def check_positive(expression: Expression) -> Expression:
    """Reject constants that are not positive: a validator of slots.

    Parameters
    ----------
    expression : Expression
        What a slot contains.

    Returns
    -------
    Expression
        The same.

    Raises
    ------
    ValueError
        If it is a constant with another value; the user sees a `pgbn.NetworkError`.

    Examples
    --------
    >>> from pydantic import field_validator
    >>> class CheckedPositive(pgbn.extend.Observed):
    ...     tag = "docs.check_positive"
    ...     rate: pgbn.extend.Slot
    ...     _positive = field_validator("rate")(pgbn.extend.check_positive)
    """
    if isinstance(expression, Constant) and not expression.value.min() > 0:
        raise ValueError(f"must be positive, got {float(expression.value.min()):g}")
    return expression


def check_probability(expression: Expression) -> Expression:
    """Reject constants outside [0, 1]: a validator of slots.

    Parameters
    ----------
    expression : Expression
        What a slot contains.

    Returns
    -------
    Expression
        The same.

    Raises
    ------
    ValueError
        If it is a constant with another value; the user sees a `pgbn.NetworkError`.

    Examples
    --------
    >>> from pydantic import field_validator
    >>> class CheckedProbability(pgbn.extend.Observed):
    ...     tag = "docs.check_probability"
    ...     rate: pgbn.extend.Slot
    ...     _range = field_validator("rate")(pgbn.extend.check_probability)
    """
    if isinstance(expression, Constant):
        value = expression.value
        if value.min() < 0 or value.max() > 1:
            raise ValueError(f"must be a probability between 0 and 1, got {value}")
    return expression


def definitions_of(cls: type[Node]) -> list[type[Node]]:
    """A type and its earlier definitions, the newest first.

    A notebook has earlier definitions if a cell was run again."""
    known = _definitions.get((cls.__module__, cls.__qualname__), [])
    return [cls, *reversed(known[: known.index(cls)])] if cls in known else [cls]


def node_types() -> dict[str, type[Node]]:
    """The registered node types by tag."""
    return dict(_types)
