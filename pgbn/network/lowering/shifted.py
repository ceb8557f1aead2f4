"""Shift and Self: an earlier row, in all rows but the first ones."""

from __future__ import annotations

from dataclasses import replace

from pgbn.network.lowering.walk import Walk, expands
from pgbn.network.terms import FIRST, LATER, PREVIOUS, Factor, Term
from pgbn.nodes.shift import Self, Shift

__all__ = ["expand_self", "expand_shift"]


@expands(Shift)
def expand_shift(walk: Walk, shift: Shift) -> list[Term]:
    """What counts in later rows, and the initial value, which counts in the first ones."""
    if walk.inside:
        raise walk.error("a Shift inside a Shift")
    if walk.along not in (None, shift.along):
        raise walk.error(
            f"holds Shifts along {walk.along!r} and {shift.along!r}; give all the same dim"
        )
    if shift.along not in walk.node.axes:
        raise walk.error(f"Shift along {shift.along!r}, but its dims are {walk.node.axes}")
    if shift.along in walk.node.sums_over:
        raise walk.error(
            f"Shift along {shift.along!r}, but {walk.node.name} sums to one over that dim, so that "
            "its rows are no steps in time; give it another dim for the time, such as "
            "dims='time', and shift along that"
        )
    walk.along = shift.along
    lag = shift.lag
    first = [replace(term, phase=FIRST, lag=lag) for term in walk.expand(shift.initial)]
    later = Walk(walk.node, walk.slot, inside=lag).expand(shift.of)
    if not all(term.phase == LATER for term in later):
        row = shift.along
        raise walk.error(
            "every term of a Shift must contain Self(); to read an earlier row of another node, "
            f"rename its dim and look that row up: node.rename({row}='past')[pgbn.Categories("
            f"'before', dims={row!r}, of='past', values=[0, 0, 1, 2, …])]"
        )
    return later + first


@expands(Self)
def expand_self(walk: Walk, expression: Self) -> list[Term]:
    """An earlier row of the node itself."""
    if not walk.inside:
        raise walk.error("Self() may stand only inside a Shift")
    names, node = dict(expression.names), walk.node
    dims = tuple(names.get(dim, dim) for dim in node.axes)
    simplex = tuple(names.get(dim, dim) for dim in node.sums_over)
    factor = Factor(PREVIOUS, dims, node.axes, simplex, previous=True, lag=walk.inside)
    return [Term(1.0, (factor,), phase=LATER, lag=walk.inside)]
