"""Unicode for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from pgbn.explain.document import (
    Block,
    Equations,
    Heading,
    Items,
    Paragraph,
    align_parts,
    prose_pieces,
)
from pgbn.explain.formulas import to_unicode

__all__ = ["to_text"]

_WIDTH = 92


def _plain(text: str) -> str:
    return "".join(
        to_unicode(piece) if kind == "math" else piece for kind, piece in prose_pieces(text)
    )


def _plain_equations(lines: Iterable[str]) -> str:
    pairs = [tuple(map(to_unicode, align_parts(line))) for line in lines]
    width = max((len(left) for left, right in pairs if right), default=0)
    return "\n".join(f"    {left:>{width}} {right}".rstrip() for left, right in pairs)


def to_text(blocks: Iterable[Block]) -> str:
    """Unicode for a terminal."""
    parts = []
    for block in blocks:
        match block:
            case Heading(level, text):
                title = _plain(text)
                line = {1: "═", 2: "─"}.get(level, "╌")
                parts.append(f"{title}\n{line * len(title)}")
            case Paragraph(text):
                parts.append(textwrap.fill(_plain(text), _WIDTH, break_long_words=False))
            case Equations(lines):
                parts.append(_plain_equations(lines))
            case Items(items):
                parts.append("\n".join(
                    textwrap.fill(_plain(item), _WIDTH, initial_indent="  • ",
                                  subsequent_indent="    ", break_long_words=False)
                    for item in items))  # fmt: skip
    return "\n\n".join(parts) + "\n"
