"""Shift: an earlier row, along a dim, of the node that is being defined."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, Signature
from typing import Any, ClassVar

from pydantic import Field

from pgbn.nodes.expression import Constant, Dim, Expression, Slot


class Self(Expression):
    """The node that is being defined, inside a `Shift`.

    Parameters
    ----------
    **names : str
        New names of dims of the node, by their present names.

    Examples
    --------
    >>> previous = pgbn.Shift(pgbn.Self(), along="time", initial=1.0)
    >>> theta = pgbn.Gamma("theta", shape=previous, rate=1.0, dims="time")
    """

    tag: ClassVar[str] = "self"
    names: Mapping[str, str] = Field(default_factory=dict)

    def __init__(self, *args: Any, **names: Any) -> None:
        super().__init__(*args, **(names if set(names) == {"names"} else {"names": names}))

    def __str__(self) -> str:
        return "self"


Self.__signature__ = Signature([Parameter("names", Parameter.VAR_KEYWORD)])


class Shift(Expression):
    """y_t = of_{t−lag} along a dim, and y_t = initial for t ≤ lag: a Markov chain in one node.

    A slot may contain several shifts, each with its own lag.

    Parameters
    ----------
    of : expression
        An expression of `Self`, for instance ``pi @ Self(topic="previous")``.
    along : str
        The dim of time.
    initial : number, array, node or expression
        The value in place of rows before the first.
    lag : int
        How many rows it looks back, at least 1.

    Examples
    --------
    >>> pi = pgbn.Dirichlet("pi", 1.0, over="topic", dims="previous")
    >>> before = pgbn.Shift(pi @ pgbn.Self(topic="previous"), along="time", initial=1.0)
    >>> theta = pgbn.Gamma("theta", before, 1.0, dims=("time", "topic"))
    """

    tag: ClassVar[str] = "shift"
    of: Slot
    along: Dim
    initial: Slot = Constant(value=0.0)
    lag: int = Field(default=1, ge=1, strict=True)

    def __str__(self) -> str:
        lag = "" if self.lag == 1 else f", lag {self.lag}"
        return f"shift({self.of}, along {self.along}{lag})"
