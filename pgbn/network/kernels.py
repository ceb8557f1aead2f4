"""Kernels on the graph: what a node that is drawn by a kernel needs of its surroundings.

A kernel from log densities moves every entry of a node by ln p(entry | slots) + Σ ln p(child |
entry). Entries are independent given the rest, and move together, where every cell of every child
depends on one of them: where the child has the dims of the node and no simplex along them.
"""

from __future__ import annotations

from pgbn.errors import MissingRuleError, NetworkError
from pgbn.network.connections import Connections
from pgbn.network.terms import Factor
from pgbn.nodes.base import Latent, Node

__all__ = ["check_kernel", "coupled_dims", "factors_of", "names_in"]


def check_kernel(connections: Connections, node: Node) -> None:
    """Refuse what no kernel could carry out."""
    rule = connections.draws[node.name]
    how = f"update={rule.name!r}" if rule.name else f"the kernel rule of {type(node).__name__}"
    if rule.hears:
        return
    assert isinstance(node, Latent)
    if rule.reads_value and not node.support:
        raise NetworkError(
            f"{node.name}: {how}: the values of {type(node).__name__} cannot be moved by it; it is "
            "for positive values and probabilities"
        )
    coupled = coupled_dims(connections, node)
    if coupled and not rule.reads_value:
        raise MissingRuleError(
            f"{node.name}: {how} draws all entries at once, but along {coupled} they depend on "
            "each other given the rest; let what depends on it have these dims, without a sum"
        )


def factors_of(connections: Connections, name: str, child: Node) -> list[Factor]:
    """Where a node stands in the slots of a child."""
    return [
        factor
        for slot in child.slots()
        for term in connections.polynomials[child.name, slot].terms
        for factor in term.factors
        if factor.name == name
    ]


def names_in(factor: Factor) -> dict[str, str]:
    """The names that the dims of a node have where it stands as this factor, without those that
    are read through categories."""
    through = {dim for lookup in factor.lookups for dim in lookup.dims}
    names = zip(factor.own_dims, factor.dims, strict=True)
    return {own: here for own, here in names if own not in through}


def coupled_dims(connections: Connections, node: Node) -> tuple[str, ...]:
    """The dims of a node, without its simplex, along which its entries depend on each other given
    the rest."""
    found: set[str] = set()
    for child in connections.children[node.name].values():
        factors = factors_of(connections, node.name, child)
        for factor in factors:
            lone = set(child.axes) - set(child.sums_over)
            found |= {own for own, here in names_in(factor).items() if here not in lone}
            along = connections.time_dim(child.name)
            found |= {own for own, here in names_in(factor).items() if here == along}
            found |= {lookup.dim for lookup in factor.lookups}
            for other in map(names_in, factors):  # φ_i φ_j: a cell depends on two entries
                found |= {own for own, here in names_in(factor).items() if other.get(own) != here}
    return tuple(dim for dim in node.axes if dim in found and dim not in node.sums_over)
