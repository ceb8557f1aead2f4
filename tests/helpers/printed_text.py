"""Printed formulas as texts: lines, parts and indices."""

from __future__ import annotations

import re

__all__ = ["indices_of", "split_top", "unfolded"]


def unfolded(text: str) -> str:
    """Equations that were too long for one line, in one line."""
    return re.sub(r" \\notag \\\\\n&\\qquad \{\} ?", " ", text)


def split_top(text: str, separators: str = ",") -> list[str]:
    """Split where no bracket or brace is open."""
    parts, depth, last = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign in "({[") - (sign in ")}]")
        if depth == 0 and sign in separators and text[place - 1] != "\\":
            parts.append(text[last:place])
            last = place + 1
    return [part.strip() for part in (*parts, text[last:])]


def indices_of(below: str) -> list[str]:
    return split_top(below.replace(", ", " ").replace(r"\cdot", "·"), " ") if below else []
