"""Edge: an operation of a user's own, by what it stands for."""

from __future__ import annotations

from pgbn.network.lowering.walk import Walk, expands
from pgbn.network.terms import Term
from pgbn.nodes.edge import Edge

__all__ = ["expand_edge"]


@expands(Edge)
def expand_edge(walk: Walk, edge: Edge) -> list[Term]:
    """The terms of the expression that it stands for."""
    return walk.expand(edge.expanded)
