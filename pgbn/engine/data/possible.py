"""Data of probability 0, which no chain can explain."""

from __future__ import annotations

from typing import Any

import numpy as np

from pgbn.engine.compile.program import Program
from pgbn.engine.data.cells import Cells
from pgbn.errors import DataError
from pgbn.network.sumproduct import ConstantArray, reduce_product
from pgbn.network.terms import Term
from pgbn.nodes.base import Observed
from pgbn.nodes.rules.registry import find_link

__all__ = ["check_possible"]


def check_possible(program: Program) -> None:
    """Refuse positive data where every term of the rate has a constant that is 0: P(x > 0) = 0."""
    for node in program.network:
        if not isinstance(node, Observed):
            continue
        link = find_link(node)
        if link is None or (link.counts and not node.positive_needs_counts):
            continue
        terms = program.wiring.polynomials[node.name, link.slot].terms
        if all(_has_zero(term) for term in terms):
            cells = program.cells[node.name]
            possible = sum(_possible(program, term, cells) for term in terms)
            wrong = np.flatnonzero((cells.values > 0) & (possible == 0))
            if wrong.size:
                raise DataError(_message(node, link.slot, cells, int(wrong[0])))


def _has_zero(term: Term) -> bool:
    constants = [factor.constant for factor in term.factors if factor.constant is not None]
    return term.coefficient == 0 or any(not constant.all() for constant in constants)


def _possible(program: Program, term: Term, cells: Cells) -> Any:
    """In how many ways the constants of a term leave room for a positive rate, at every cell."""
    positive = [
        ConstantArray(dims=factor.dims, value=np.asarray(factor.constant != 0, np.float64))
        for factor in term.factors
        if factor.constant is not None
    ]
    room = program.product(reduce_product(float(term.coefficient != 0), positive, term.contracted))
    if room.value is not None:
        return room.value
    return room.get().reshape(-1)[cells.positions(room.dims, room.replicates)]


def _message(node: Observed, slot: str, cells: Cells, cell: int) -> str:
    row = np.unravel_index(int(cells.cell_rows()[cell]), cells.shape[:-1] or (1,))
    place = (*row, cells.indices[cell])[-len(node.axes) or 2 :]
    where = ", ".join(f"{dim} {index}" for dim, index in zip(node.axes, place, strict=True))
    return (
        f"{node.name}: the value {cells.values[cell]:g} at {where or 'its only cell'} has "
        f"probability 0, since the {slot} is 0 there by its constants; correct the data or the "
        "constants"
    )
