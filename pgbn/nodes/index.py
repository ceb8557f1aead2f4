"""Index: entries of an expression by the categories of other rows, ``theta[author]``."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from pydantic import Field

from pgbn.nodes.categorical import Categorical
from pgbn.nodes.categories import Categories
from pgbn.nodes.expression import Expression, Slot, bracket, extent_of

__all__ = ["Index"]


class Index(Expression):
    """value[doc, …] = of[g(doc), …]: the dim that each `Categories` is about is read through it.

    Written ``theta[author]``, or ``rate[group, period]`` for several. A value that is read by many
    rows hears the counts and exposures of all of them, added up. A hidden choice z may stand there
    too, a `pgbn.Categorical`: ``rate[z]`` is the rate that z chooses, Σ_k z_k rate_k.
    """

    tag: ClassVar[str] = "index"
    of: Slot
    by: tuple[Categories | Categorical, ...] = Field(min_length=1)

    @cached_property
    def extent(self) -> tuple[int, int]:
        return extent_of((self.of,), sum)

    def __str__(self) -> str:
        return f"{bracket(self.of)}[{', '.join(map(str, self.by))}]"
