"""Data of probability 0, which no chain can explain."""

from __future__ import annotations

from typing import Any

import numpy as np

from pgbn.engine.compile.layout import Labelled
from pgbn.engine.compile.program import Program
from pgbn.engine.data.cells import Cells
from pgbn.errors import DataError
from pgbn.network.sumproduct import ConstantArray, operand_of, reduce_product
from pgbn.network.terms import Term
from pgbn.nodes.base import Observed
from pgbn.nodes.rules.registry import find_link

__all__ = ["check_possible"]


def check_possible(program: Program) -> None:
    """Refuse positive data where every term of the rate has a factor that is 0 and known, a
    constant or a given value: P(x > 0) = 0."""
    for node in program.network:
        if not isinstance(node, Observed):
            continue
        link = find_link(node)
        if link is None or (link.counts and not node.positive_needs_counts):
            continue
        terms = program.wiring.polynomials[node.name, link.slot].terms
        if all(_has_zero(program, term) for term in terms):
            cells = program.cells[node.name]
            possible = sum(_possible(program, term, cells) for term in terms)
            wrong = np.flatnonzero((cells.values > 0) & (possible == 0))
            if wrong.size:
                raise DataError(_message(node, link.slot, cells, int(wrong[0])))


def _known(program: Program, term: Term) -> list[Labelled]:
    """The factors of a term whose values are known."""
    return [
        program.read(operand_of(factor))
        for factor in term.factors
        if factor.constant is not None or factor.name in program.wiring.held
    ]


def _has_zero(program: Program, term: Term) -> bool:
    return term.coefficient == 0 or any(not part.get().all() for part in _known(program, term))


def _possible(program: Program, term: Term, cells: Cells) -> Any:
    """In how many ways what is known of a term leaves room for a positive rate, at every cell."""
    positive = [
        ConstantArray(dims=part.dims, value=np.asarray(part.get()[0] != 0, np.float64))
        for part in _known(program, term)
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
        f"probability 0, since the {slot} is 0 there by its constants or given values; correct "
        "these or the data"
    )
