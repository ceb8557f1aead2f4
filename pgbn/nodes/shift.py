"""Shift: an earlier row, along a dim, of the node that is being defined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from pgbn.nodes.expression import Constant, Expression, Slot


class Self(Expression):
    """The node that is being defined, inside a `Shift`; its dims may be renamed."""

    tag: ClassVar[str] = "self"
    names: Mapping[str, str] = Field(default_factory=dict)

    def __init__(self, *args: Any, **names: Any) -> None:
        super().__init__(*args, **(names if set(names) == {"names"} else {"names": names}))

    def __str__(self) -> str:
        return "self"


class Shift(Expression):
    """y_t = of_{t-lag} along a dim, and y_t = initial for t ≤ lag: a Markov chain in one node.

    ``of`` is an expression of `Self`, for instance ``pi @ Self(topic="previous")``. A slot may
    contain several, each with its own lag.
    """

    tag: ClassVar[str] = "shift"
    positional: ClassVar[tuple[str, ...]] = ("of",)
    of: Slot
    along: str
    initial: Slot = Constant(value=0.0)
    lag: int = Field(default=1, ge=1, strict=True)

    def __str__(self) -> str:
        lag = "" if self.lag == 1 else f", lag {self.lag}"
        return f"shift({self.of}, along {self.along}{lag})"
