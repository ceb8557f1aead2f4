"""Edge: an operation of a user's own, by what it stands for, or by its own evaluation."""

from __future__ import annotations

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
    each = [[_operand(walk, edge, slot, term) for term in walk.expand(getattr(edge, slot))]
            for slot in edge.slots()]  # fmt: skip
    return [_term(walk, edge, choice) for choice in product(*each)]


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
    if not nodes:
        raise walk.error(f"{edge}: no node stands in {', '.join(edge.slots())}; give one of them")
    dims = tuple(edge.dims_of(**{slot: factor.dims for slot, factor in operands.items()}))
    if not all(isinstance(dim, str) and dim for dim in dims) or len(set(dims)) < len(dims):
        raise walk.error(f"{edge}: dims_of() returned {dims}; return names of dims, each once")
    operation = Operation(edge, operands, dims, nodes[0])
    factors = tuple(_through(operation, slot, operands[slot]) for slot in nodes)
    return Term(float(prod(coefficient for coefficient, _ in choice)), factors)


def _through(operation: Operation, slot: str, factor: Factor) -> Factor:
    """A node that is read through the operation: each of its entries may matter everywhere."""
    name = type(operation.edge).__name__
    lookups = [Through(name, dim, operation.dims, operation, slot) for dim in factor.own_dims]
    return Factor(
        factor.name, operation.dims, operation.dims, lookups=tuple(lookups),
        entries=factor.own_dims,
    )  # fmt: skip
