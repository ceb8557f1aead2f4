"""Data of probability 0, which no chain can explain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pgbn.engine.compile.products import Labelled, SparseEntries, relation_holds
from pgbn.engine.compile.program import Program
from pgbn.engine.data.nonzero import Cells
from pgbn.errors import DataError
from pgbn.network.sumproduct import (
    ConstantArray,
    Operand,
    SparseConstant,
    operand_of,
    reduce_product,
)
from pgbn.network.terms import Term
from pgbn.nodes.base import Observed
from pgbn.nodes.rules.registry import find_link


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
        _check_pairs(node, link.slot, terms, program.cells[node.name])
        if all(_has_zero(program, term) for term in terms):
            cells = program.cells[node.name]
            possible = sum(_possible(program, term, cells) for term in terms)
            wrong = np.flatnonzero((cells.values > 0) & (possible == 0))
            if wrong.size:
                raise DataError(_message(node, link.slot, cells, int(wrong[0])))


def _known(program: Program, term: Term) -> list[Labelled]:
    """The factors of a term whose values are known, but for sparse constants."""
    return [
        program.read(operand_of(factor))
        for factor in term.factors
        if not factor.is_sparse
        and not factor.through  # what it makes of them is known with its other nodes
        and (factor.constant is not None or factor.when or factor.name in program.wiring.held)
    ]


def _has_zero(program: Program, term: Term) -> bool:
    return (
        term.coefficient == 0
        or any(factor.is_sparse and not factor.constant.min() for factor in term.factors)
        or any(not part.get().all() for part in _known(program, term))
    )


def _possible(program: Program, term: Term, cells: Cells) -> Any:
    """In how many ways what is known of a term leaves room for a positive rate, at every cell."""
    positive: list[Operand] = [
        ConstantArray(dims=part.dims, value=np.asarray(part.get()[0] != 0, np.float64))
        for part in _known(program, term)
    ]
    here: Any = 1.0
    for factor in (factor for factor in term.factors if factor.is_sparse):
        if set(factor.dims) & set(term.contracted):
            ones = (factor.constant != 0).astype(np.float64)
            positive.append(SparseConstant(dims=factor.dims, value=ones))
        else:
            places = (cells.positions((dim,), 1) for dim in factor.dims)
            here = here * (SparseEntries(factor.constant).at(*places) != 0)
    room = program.product(reduce_product(float(term.coefficient != 0), positive, term.contracted))
    if room.value is not None:
        return room.value * here
    return room.get().reshape(-1)[cells.positions(room.dims, room.replicates)] * here


def _message(node: Observed, slot: str, cells: Cells, cell: int) -> str:
    return (
        f"{node.name}: the value {cells.values[cell]:g} at {_place(node, cells, cell)} has "
        f"probability 0, since the {slot} is 0 there by its constants or given values; correct "
        "these or the data"
    )


def _place(node: Observed, cells: Cells, cell: int) -> str:
    row = np.unravel_index(int(cells.cell_rows()[cell]), cells.shape[:-1] or (1,))
    place = (*row, cells.indices[cell])[-len(node.axes) or 2 :]
    where = ", ".join(f"{dim} {index}" for dim, index in zip(node.axes, place, strict=True))
    return where or "its only cell"


def _check_pairs(node: Observed, slot: str, terms: Sequence[Term], cells: Cells) -> None:
    """Refuse positive data at pairs that no term is about: the other half of a symmetric matrix,
    and self loops."""
    if any(not any(pair.relation for pair in term.factors) for term in terms):
        return  # a term that is about all pairs
    possible = np.zeros(cells.values.size, np.bool_)
    for term in terms:
        holds = np.ones(cells.values.size, np.bool_)
        for pair in term.factors:
            if pair.relation and set(pair.dims) <= set(node.axes):
                first, second = (cells.positions((dim,), 1) for dim in pair.dims)
                holds &= relation_holds(pair.relation, first, second)
        possible |= holds
    wrong = np.flatnonzero((cells.values > 0) & ~possible)
    if wrong.size:
        raise DataError(
            f"{node.name}: the value {cells.values[wrong[0]]:g} at {_place(node, cells, wrong[0])} "
            f"has probability 0: the {slot} is about {' and '.join(_pairs_in(terms))} only. Give "
            "each pair once, scipy.sparse.triu(A, 1) of a symmetric matrix A; a self loop has no "
            "place in it"
        )


def _pairs_in(terms: Sequence[Term]) -> list[str]:
    sign = {"upper": "<", "distinct": "≠", "same": "="}
    return list(dict.fromkeys(
        f"pairs {pair.dims[0]} {sign[pair.relation]} {pair.dims[1]}"
        for term in terms for pair in term.factors if pair.relation
    ))  # fmt: skip
