"""Nodes and constants: a term of one factor."""

from __future__ import annotations

from pgbn.network.lowering.walk import Walk, expands
from pgbn.network.terms import Factor, Term
from pgbn.nodes.base import Node
from pgbn.nodes.expression import Constant

__all__ = ["expand_constant", "expand_node"]


@expands(Node)
def expand_node(walk: Walk, node: Node) -> list[Term]:
    """The value of a node."""
    if node is walk.node:
        raise walk.error("refers to itself; use pgbn.Shift(pgbn.Self(), ...)")
    walk.nodes[node.name] = node
    if node.real and walk.slot not in walk.node.real_slots:
        raise walk.error(
            f"{node.name} is a {type(node).__name__}, whose value may be negative, and a "
            f"{walk.slot} may not; put its exponential there, a positive node: "
            f"pgbn.LogNormal('exp_{node.name}', {node.name}, 10.0, dims={node.axes}) (a gate "
            "whose log odds are real is a pgbn.LogitBernoulli)"
            f"{walk.or_allow()}"
        )
    return [Term(1.0, (Factor(node.name, node.axes, node.axes, node.sums_over, real=node.real),))]


@expands(Constant)
def expand_constant(walk: Walk, constant: Constant) -> list[Term]:
    """A number is a coefficient, an array a factor."""
    value = constant.value
    if value.ndim == 0:
        return [Term(float(value), ())]
    dims = constant.dims
    if not dims and value.ndim == 1 and walk.node.simplex is not None:
        dims = (walk.node.simplex,)
    if len(dims) != value.ndim:
        raise walk.error(
            f"an array of {value.ndim} axes needs as many names: "
            f"pgbn.Constant(value=array, dims={walk.out[-value.ndim :]})"
        )
    real = bool(value.min() < 0)
    return [Term(1.0, (Factor("constant", dims, constant=value, real=real),))]
