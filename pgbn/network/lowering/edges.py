"""Edge: an operation of a user's own, by what it stands for, or by its own evaluation."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod

import numpy as np

from pgbn.network.lowering.walk import Walk, expands
from pgbn.network.terms import ALWAYS, Factor, Operation, Term, Through
from pgbn.nodes.edge import Edge

__all__ = ["expand_edge"]


@expands(Edge)
def expand_edge(walk: Walk, edge: Edge) -> list[Term]:
    """The terms of the expression that it stands for. What is evaluated by itself is linear in each
    operand: a term for every choice of one term of each."""
    if not edge.is_evaluated:
        return walk.expand(edge.expanded)
    each = [_alike(walk, edge, slot, [_operand(walk, edge, slot, term)
                                      for term in walk.expand(getattr(edge, slot))])
            for slot in edge.slots()]  # fmt: skip
    if not any(factor.own_dims for terms in each for _, factor in terms):
        raise walk.error(f"{edge}: no node stands in {', '.join(edge.slots())}; give one of them")
    return [_term(walk, edge, choice) for choice in product(*each)]


def _alike(
    walk: Walk, edge: Edge, slot: str, terms: list[tuple[float, Factor]]
) -> list[tuple[float, Factor]]:
    """The summands of an operand with the same dims in the same order: an edge tells dims by their
    place."""
    wanted = max((factor.dims for _, factor in terms), key=len)
    for _, factor in terms:
        if set(factor.dims) != set(wanted):
            raise walk.error(
                f"{edge}: {slot} = {getattr(edge, slot)} adds what has the dims {list(wanted)} to "
                f"{factor.name}, which has {list(factor.dims)}, and the edge is evaluated for each "
                "summand alone; give all of them the same dims (a number as "
                "pgbn.Constant(np.full(…), dims=…)), or add this one to what comes out of the edge"
            )
    return [(coefficient, _in_order(factor, wanted)) for coefficient, factor in terms]


def _in_order(factor: Factor, dims: tuple[str, ...]) -> Factor:
    order = [factor.dims.index(dim) for dim in dims]
    own = tuple(factor.own_dims[i] for i in order) if factor.own_dims else ()
    known = None if factor.constant is None else np.transpose(factor.constant, order)
    return replace(factor, dims=dims, own_dims=own, constant=known)


def _operand(walk: Walk, edge: Edge, slot: str, term: Term) -> tuple[float, Factor]:
    """The coefficient and the one factor of an operand."""
    what = f"{edge}: {slot} = {getattr(edge, slot)}"
    if not term.factors:  # a number
        return term.coefficient, Factor("constant", (), constant=np.ones(()))
    factor = term.factors[0]
    plain = len(term.factors) == 1 and not term.contracted and term.phase == ALWAYS
    if not plain or factor.lookups or factor.is_sparse or factor.relation or factor.previous:
        raise walk.error(
            f"{what}: an edge that is evaluated by itself takes nodes, arrays and sums of these; "
            "multiply, sum and index what comes out of it instead, or define expand(self)"
        )
    if factor.real:
        raise walk.error(
            f"{what} may be negative, and counts are shared out among what is not; give the edge "
            "positive nodes and arrays"
        )
    if factor.is_node and not factor.dims:
        raise walk.error(f"{what} has no dims; multiply the edge by it instead: {slot} * edge")
    return term.coefficient, factor


def _term(walk: Walk, edge: Edge, choice: tuple[tuple[float, Factor], ...]) -> Term:
    operands = dict(zip(edge.slots(), (factor for _, factor in choice), strict=True))
    nodes = [slot for slot, factor in operands.items() if factor.own_dims]
    own = {slot: factor.dims for slot, factor in operands.items()}
    dims, independent = tuple(edge.dims_of(**own)), tuple(edge.independent_dims(**own))
    if not all(isinstance(dim, str) and dim for dim in dims) or len(set(dims)) < len(dims):
        raise walk.error(f"{edge}: dims_of() returned {dims}; return names of dims, each once")
    coefficient = float(prod(coefficient for coefficient, _ in choice))
    if not nodes:
        return Term(coefficient, (_known(walk, edge, operands, dims),))
    for dim in independent:
        if dim not in dims:
            raise walk.error(
                f"{edge}: independent_dims() returned {independent}, and its value has the dims "
                f"{dims}; return some of these"
            )
    operation = Operation(edge, operands, dims, nodes[0], independent)
    factors = tuple(_through(operation, slot, operands[slot]) for slot in nodes)
    return Term(coefficient, factors)


def _known(walk: Walk, edge: Edge, operands: dict[str, Factor], dims: tuple[str, ...]) -> Factor:
    """The value of an edge of arrays, as an array."""
    found = edge.evaluate(**{slot: factor.constant[None] for slot, factor in operands.items()})
    array = np.asarray(found, np.float64)
    if array.ndim != 1 + len(dims) or not np.isfinite(array).all() or (array < 0).any():
        raise walk.error(
            f"{edge}: evaluate() returned {found!r:.60} for the known summands; return an array of "
            f"numbers of at least 0, replicates first, then {', '.join(dims)}"
        )
    return Factor("constant", dims, constant=array[0])


def _through(operation: Operation, slot: str, factor: Factor) -> Factor:
    """A node that is read through the operation: each of its entries may matter everywhere."""
    name = type(operation.edge).__name__
    lookups = [Through(name, dim, operation.dims, operation, slot) for dim in factor.own_dims]
    return Factor(
        factor.name, operation.dims, operation.dims, lookups=tuple(lookups),
        entries=factor.own_dims,
    )  # fmt: skip
