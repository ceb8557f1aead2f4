"""Of what kind an operand, a factor or a name is: explain asks here and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgbn.explain.algebra import Formula, numeral
from pgbn.explain.symbols import At, shift
from pgbn.network.sumproduct import Operand
from pgbn.network.terms import FIRST, LATER, Factor

if TYPE_CHECKING:
    from pgbn.explain.notation import Notation

__all__ = [
    "in_first_row",
    "in_later_rows",
    "is_own_row_before",
    "names_counts",
    "operand_formula",
    "takes_a_dot",
]


def names_counts(name: str) -> bool:
    """Whether a step, or what it reads, is counts such as ``counts(x)`` and not a node's value."""
    return "(" in name


def is_own_row_before(factor: Factor) -> bool:
    """Whether a factor is the previous row of the very node in whose slot it stands."""
    return factor.name == "self"


def takes_a_dot(operand: Operand) -> bool:
    """Whether a sum over one of its indices can be written by a dot in place of the index."""
    return operand.kind not in ("exposure", "rule count")


def in_first_row(notation: Notation, operand: Operand, dim: str) -> bool:
    """Whether an operand counts in the first row of a chain only, ``dim`` being its rows."""
    if operand.kind == "first":
        return True
    along = operand.kind == "rest" and notation.along(notation.network.nodes[operand.name])
    return dim == along and operand.phase == FIRST


def in_later_rows(notation: Notation, operand: Operand, dim: str) -> bool:
    """Whether an operand counts in all rows of a chain but the first."""
    if operand.kind not in ("rest", "previous"):
        return False
    along = notation.along(notation.network.nodes[operand.name])
    if operand.kind == "previous":
        own = dict(zip(operand.dims, operand.own_dims, strict=True))
        return own[dim] == along
    return dim == along and operand.phase == LATER


def operand_formula(notation: Notation, operand: Operand, at: At) -> Formula:
    """An operand with its indices."""
    if operand.kind == "constant":
        return notation.constant(operand.constant, operand.dims, at)
    if operand.kind == "first":
        index = at[operand.dims[0]]
        return numeral(1.0) if index == "1" else Formula(rf"1({index} = 1)")
    node = notation.network.nodes[operand.name]
    if operand.kind == "count":
        return notation.count(operand.name, at)
    if operand.kind == "rule count":
        return notation.computed_count(node, operand.slot, at)
    if operand.kind in ("exposure", "rest"):
        return notation.passed(node, operand.slot, at)
    names = dict(zip(operand.own_dims, operand.dims, strict=True))
    if operand.kind == "previous":
        row = names[notation.along(node) or ""]
        at = {**at, row: shift(at[row], -1)}
    return notation.value(operand.name, at, [names[dim] for dim in node.axes])
