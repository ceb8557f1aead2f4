"""Rules that others have registered: their own equation, and what stands behind its letters."""

from __future__ import annotations

from collections.abc import Sequence

from pgbn.explain.names import clean_math, escape_math
from pgbn.explain.notation import Notation
from pgbn.explain.symbols import At
from pgbn.network.terms import ALWAYS
from pgbn.nodes.base import Node

__all__ = ["generic_lines", "where_lines"]


def generic_lines(
    notation: Notation,
    node: Node,
    equation: str,
    drawn: str,
    names: Sequence[str],
    at: At | None = None,
    phase: str = ALWAYS,
) -> list[str]:
    """``drawn: equation``, and a line for each of the ``names`` that it reads."""
    stated = clean_math(equation) or rf"\text{{as the rule of {type(node).__name__} computes it}}"
    return [rf"{drawn} &:\ {stated}", *where_lines(notation, node, names, at, phase)]


def where_lines(
    notation: Notation,
    node: Node,
    names: Sequence[str],
    at: At | None = None,
    phase: str = ALWAYS,
) -> list[str]:
    """``count = …, shape = …``: what a rule reads, in symbols."""
    return [
        rf"{escape_math(name)} &= {notation.quantity(node, name, at, phase).latex}"
        for name in names
    ]
