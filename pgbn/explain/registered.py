"""Rules that others have registered: their own equation, and what stands behind its letters."""

from __future__ import annotations

from collections.abc import Sequence

from pgbn.explain.algebra import Formula
from pgbn.explain.names import clean_math, escape_math
from pgbn.explain.notation import Notation
from pgbn.explain.symbols import At, Phase
from pgbn.nodes.base import Node

__all__ = ["generic_lines", "where_lines"]


def generic_lines(
    notation: Notation,
    node: Node,
    equation: str,
    drawn: str,
    names: Sequence[str],
    at: At | None = None,
    phase: Phase = None,
) -> list[str]:
    """``drawn: equation``, and a line for each of the ``names`` that it reads."""
    stated = clean_math(equation) or rf"\text{{as the rule of {type(node).__name__} computes it}}"
    return [rf"{drawn} &:\ {stated}", *where_lines(notation, node, names, at, phase)]


def where_lines(
    notation: Notation,
    node: Node,
    names: Sequence[str],
    at: At | None = None,
    phase: Phase = None,
) -> list[str]:
    """``count = …, shape = …``: what a rule reads, in symbols."""
    return [rf"{escape_math(n)} &= {_read(notation, node, n, at, phase).latex}" for n in names]


def _read(notation: Notation, node: Node, name: str, at: At | None, phase: Phase) -> Formula:
    """A quantity; what a chain that is held hears has what later rows pass back beside it."""
    found = notation.quantity(node, name, at, phase)
    slot = next((slot for slot in node.slots() if notation.has_lag(node, slot)), None)
    if slot is None or node.name in notation.passing or name not in ("count", "exposure"):
        return found
    back = notation.passed_back_count if name == "count" else notation.passed_back_exposure
    return found + back(node, slot, notation.index if at is None else at)
