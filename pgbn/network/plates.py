"""Plates: the dims along which a step draws row by row.

A step is local along a plate such as "doc" if what it draws has the plate, and a row of it depends
on the same row, alone, of everything else that has the plate. It is global if it draws something
without the plate, or if a row depends on others: by a sum over the plate, a recursion along it, a
simplex over it, or a value without the plate that is integrated out (as the topics are in the
collapsed sampler). Counts that a node hears have its own dims when they are delivered to it, and
are read row by row, however they were made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgbn.network.terms import Polynomial
from pgbn.network.wiring import Wiring
from pgbn.nodes.base import Node

if TYPE_CHECKING:
    from pgbn.network.steps import Step

__all__ = ["plates_of"]


def plates_of(wiring: Wiring, step: Step) -> frozenset[str]:
    """The dims along which a step is local."""
    node = wiring.nodes[step.node]
    out = [wiring.nodes[name] for name in step.marginalises if name in wiring.nodes]
    # What an upward step integrates out it draws row by row in passing, given its own slots.
    passed = out if step.upward else []
    involved = [*_involved(wiring, step), *passed]
    return frozenset(
        dim
        for dim in node.axes
        if dim not in node.sums_over
        and all(dim in other.axes for other in passed)
        and all(_is_by_row(wiring, other, dim) for other in involved)
    )


def _involved(wiring: Wiring, step: Step) -> list[Node]:
    """The nodes whose slots a step may read: its own and, where it hears exposures, those of the
    nodes below, down to the first that are held."""
    node = wiring.nodes[step.node]
    rules = wiring.connections.rules_of(node).values()
    if step.upward and not any("exposure" in rule.count_reads for rule in rules):
        return [node]
    found = {node.name: node}
    for name in (node.name, *wiring.reads.marginalised(node.name)):
        found |= {source.child.name: source.child for source in wiring.sources[name]}
        found |= wiring.connections.children.get(name, {})
    return list(found.values())


def _is_by_row(wiring: Wiring, node: Node, dim: str) -> bool:
    """Whether the rows of a node along a dim depend on the same rows of what is in its slots."""
    if wiring.connections.time_dim(node.name) == dim:
        return False
    return all(_row_by_row(wiring.polynomials[node.name, slot], dim) for slot in node.slots())


def _row_by_row(polynomial: Polynomial, dim: str) -> bool:
    """Whether the rows of a slot along a dim are made of the same rows of its factors."""
    return all(
        dim not in term.contracted
        and not any(factor.relation and dim in factor.dims for factor in term.factors)
        and all(
            here == own
            for factor in term.factors
            for here, own in zip(factor.dims, factor.own_dims, strict=bool(factor.own_dims))
            if dim in (here, own)
        )
        and not any(lookup.dim == dim for factor in term.factors for lookup in factor.lookups)
        for term in polynomial.terms
    )
