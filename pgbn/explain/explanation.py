"""What `explain` returns: text in a format, which a notebook shows as formulas."""

from __future__ import annotations

from collections.abc import Sequence

from pgbn.explain.document import Block
from pgbn.explain.render import FORMATS

__all__ = ["Explanation"]


class Explanation(str):
    """A string that holds the explanation in one format, and its ``blocks`` for the others."""

    blocks: tuple[Block, ...]

    def __new__(cls, blocks: Sequence[Block], format: str = "text") -> Explanation:
        made = super().__new__(cls, FORMATS[format](blocks))
        made.blocks = tuple(blocks)
        return made

    def __getnewargs__(self) -> tuple[tuple[Block, ...]]:  # type: ignore[override]
        return (self.blocks,)

    def __repr__(self) -> str:
        return str(self)

    def _repr_markdown_(self) -> str:
        return FORMATS["markdown"](self.blocks)
