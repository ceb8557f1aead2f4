"""The layers of a network, found from its graph.

A layer is a slot of the form loadings · scores: one product of two nodes, summed over one dim,

    child[…, v] ← Σ_k loadings[v, k] scores[…, k].

Above the data stands a first layer, above its scores the next, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgbn.network.terms import Factor, Polynomial
from pgbn.nodes.base import Node

if TYPE_CHECKING:
    from pgbn.network.network import Network

__all__ = ["Layer", "layers_above", "likeness"]


@dataclass(frozen=True)
class Layer:
    """The names of the two nodes of a layer, and the dim that is summed over, as the scores call
    it."""

    scores: str
    loadings: str
    dim: str


def layers_above(network: Network, observed: str) -> tuple[Layer, ...]:
    """The layers over a data node, from the data up; none if its rate has another form."""
    found: list[Layer] = []
    child = network[observed]
    while (layer := _layer_of(network, child)) is not None:
        found.append(layer)
        child = network[layer.scores]
    return tuple(found)


def _layer_of(network: Network, child: Node) -> Layer | None:
    """The first slot of a node that is a layer."""
    for (name, _), polynomial in network.wiring.polynomials.items():
        if name == child.name and (layer := _read(network, child, polynomial)) is not None:
            return layer
    return None


def _read(network: Network, child: Node, polynomial: Polynomial) -> Layer | None:
    """The layer that a slot is, if it is one."""
    term = polynomial.terms[0]
    if len(polynomial.terms) != 1 or polynomial.along is not None:
        return None
    if len(term.factors) != 2 or len(term.contracted) != 1:
        return None
    summed = term.contracted[0]
    if any(f.name not in network.latent or summed not in f.dims or f.lookups for f in term.factors):
        return None
    scores, loadings = sorted(term.factors, key=lambda factor: likeness(child, factor))
    return Layer(scores.name, loadings.name, scores.own_dims[scores.dims.index(summed)])


def likeness(child: Node, factor: Factor) -> tuple[bool, bool]:
    """How like loadings a factor of a slot of ``child`` is: they are proportions over a dim of the
    child, or else have its last dim."""
    summed = bool(factor.simplex) and set(factor.simplex) <= set(child.axes)
    return summed, not {*child.axes[-1:]}.isdisjoint(factor.dims)
