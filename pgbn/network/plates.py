"""Plates: the dims along which a step draws row by row.

A step is local along a plate such as "doc" if what it draws has the plate, and a row of it depends
on the same row, alone, of everything else that has the plate. It is global if it draws something
without the plate, or if a row depends on others: by a sum over the plate, a recursion along it, a
simplex over it, or a value without the plate that is integrated out (as the topics are in the
collapsed sampler).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgbn.network.terms import Polynomial
from pgbn.network.wiring import Wiring

if TYPE_CHECKING:
    from pgbn.network.steps import Step

__all__ = ["plates_of"]


def plates_of(wiring: Wiring, step: Step) -> frozenset[str]:
    """The dims along which a step is local."""
    node = wiring.nodes[step.node]
    known = [wiring.nodes[name] for name in step.marginalises if name in wiring.nodes]
    return frozenset(
        dim
        for dim in node.axes
        if dim != node.simplex
        and dim != wiring.connections.time_dim(node.name)
        and all(dim in other.axes for other in (known if step.upward else ()))
        and all(_row_by_row(polynomial, dim) for polynomial in _read_through(wiring, step))
    )


def _read_through(wiring: Wiring, step: Step) -> list[Polynomial]:
    """The slots that a step computes or shares counts out in: its node's own and, for a value,
    those that tell evidence about it."""
    node = wiring.nodes[step.node]
    own = [wiring.polynomials[node.name, slot] for slot in node.slots()]
    if step.upward:
        return own
    return [*own, *(source.polynomial for source in wiring.sources[node.name])]


def _row_by_row(polynomial: Polynomial, dim: str) -> bool:
    """Whether the rows of a slot along a dim are made of the same rows of its factors."""
    return all(
        dim not in term.contracted
        and all(
            here == own
            for factor in term.factors
            for here, own in zip(factor.dims, factor.own_dims, strict=bool(factor.own_dims))
            if dim in (here, own)
        )
        for term in polynomial.terms
    )
