"""Markdown with formulas between dollars, as Jupyter shows it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pgbn.explain.document import Block, Equations, Heading, Items, Paragraph, prose_pieces

__all__ = ["to_markdown"]


def _markdown(text: str) -> str:
    out = ""
    for kind, piece in prose_pieces(text):
        if kind == "math":
            out += f"${piece}$"
        elif kind == "code":
            out += f"`{piece}`"
        else:
            out += re.sub(r"([\\*_<>\[\]$])", r"\\\1", piece)
    return out


def to_markdown(blocks: Iterable[Block]) -> str:
    """Markdown with formulas between dollars, as Jupyter shows it."""
    parts = []
    for block in blocks:
        match block:
            case Heading(level, text):
                parts.append(f"{'#' * level} {_markdown(text)}")
            case Paragraph(text):
                parts.append(_markdown(text))
            case Equations(lines):
                body = " \\\\\n".join(lines)
                parts.append(f"$$\n\\begin{{aligned}}\n{body}\n\\end{{aligned}}\n$$")
            case Items(items):
                parts.append("\n".join(f"- {_markdown(item)}" for item in items))
    return "\n\n".join(parts) + "\n"
