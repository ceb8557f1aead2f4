"""The layers of a network, found from its graph.

A layer is a slot of the form loadings · scores: one product of two nodes, summed over one dim,

    child[…, v] ← Σ_k loadings[v, k] scores[…, k].

The first layer is above the data, the next is above the scores of the first, and so on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isclose
from typing import TYPE_CHECKING

import networkx as nx

from pgbn.errors import NetworkError
from pgbn.network.terms import Factor, Polynomial
from pgbn.nodes.base import Node

if TYPE_CHECKING:
    from pgbn.network.network import Network


@dataclass(frozen=True)
class Layer:
    """The names of the two nodes of a layer, and the scores' name of the dim that is summed."""

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
    """The layer of a slot, or None if it has another form."""
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
    """How similar a factor of a slot of ``child`` is to loadings.

    Loadings are proportions over a dim of the child, or have its last dim."""
    summed = bool(factor.simplex) and set(factor.simplex) <= set(child.axes)
    return summed, not {*child.axes[-1:]}.isdisjoint(factor.dims)


# ---- growth -------------------------------------------------------------------------------------
#
# The units of a network's top layer, found by comparing it with one that has a unit more.
#
#     network of widths (K_1, …, K_T)   and   network of widths (K_1, …, K_T + 1)
#
# The differences belong to the layer: the dims that are longer, and the nodes that are divided by
# the number of units, as γ0 in r_k ~ Gam(γ0 / K_T, c0). The graph says which nodes have the dims,
# and how they depend on each other. So any function from widths to networks can be grown.


@dataclass(frozen=True)
class Units:
    """The units of a layer: the ``dims`` that count them, and the ``masses``.

    There are several dims if a node has the units twice. Masses are nodes that the units share, so
    that each has a part of 1/K_T."""

    dims: tuple[str, ...]
    masses: tuple[str, ...]

    @property
    def dim(self) -> str:
        """The first of the dims."""
        return self.dims[0]

    def among(self, dims: Iterable[str]) -> bool:
        """Whether ``dims`` contain one of the dims of the units."""
        return not set(self.dims).isdisjoint(dims)


def compare(network: Network, wider: Network, width: int) -> Units:
    """The units of the top layer of ``network``, which has ``width`` of them.

    ``wider`` has one more, and is otherwise the same."""
    before = {node.name: (type(node), node.axes) for node in network}
    if before != {node.name: (type(node), node.axes) for node in wider}:
        raise NetworkError(
            f"its nodes or their dims differ when the top layer has {width + 1} units instead "
            f"of {width}; widths may change the sizes of dims only"
        )
    sizes = [(dim, network.sizes.get(dim), wider.sizes.get(dim)) for dim in network.dims]
    changed = [(dim, old, new) for dim, old, new in sizes if old != new]
    for dim, old, new in changed:
        if (old, new) != (width, width + 1):
            raise NetworkError(
                f"the dim {dim!r} has {old} entries when the top layer has {width} units, "
                f"and {new} for {width + 1}; give it the width of the layer in sizes="
            )
    if not changed:
        raise NetworkError(
            f"no dim is longer when the top layer has {width + 1} units instead of {width}; give "
            "the widths to Network(..., sizes=...)"
        )
    dims = _tied(network, [dim for dim, _, _ in changed])
    return Units(dims, _masses(network, wider, dims, width))


def _tied(network: Network, dims: list[str]) -> tuple[str, ...]:
    """The given dims, and those of the same length because a slot renames one to the other."""
    pairs = [
        {here, own}
        for polynomial in network.wiring.polynomials.values()
        for term in polynomial.terms
        for factor in term.factors
        for here, own in zip(factor.dims, factor.own_dims, strict=False)
    ]
    found = dict.fromkeys(dims)
    for _ in network.dims:
        found |= dict.fromkeys(d for pair in pairs if pair & found.keys() for d in sorted(pair))
    return tuple(dim for dim in found if dim in network.dims)


def _masses(network: Network, wider: Network, dims: tuple[str, ...], width: int) -> tuple[str, ...]:
    """The nodes without the units in a term whose coefficient is proportional to 1/K."""
    found: dict[str, None] = {}
    for key, polynomial in network.wiring.polynomials.items():
        others = wider.wiring.polynomials[key].terms
        for term, other in zip(polynomial.terms, others, strict=False):
            shrinks = width * term.coefficient, (width + 1) * other.coefficient
            if term.coefficient == other.coefficient or not isclose(*shrinks, rel_tol=1e-9):
                continue
            for factor in term.factors:
                if factor.name in network.latent and set(dims).isdisjoint(factor.own_dims):
                    found[factor.name] = None
    return tuple(found)


def summed_nodes(network: Network, units: Units) -> tuple[list[str], list[str]]:
    """The scores and the loadings of a layer: the nodes of products summed over its units.

    Loadings have the dim of the result of the sum, scores do not."""
    scores: dict[str, None] = {}
    loadings: dict[str, None] = {}
    for (name, _), polynomial in network.wiring.polynomials.items():
        for term in polynomial.terms:
            factors = [
                factor
                for factor in term.factors
                if factor.name in network.latent
                and any(
                    own in units.dims and dim in term.contracted
                    for dim, own in zip(factor.dims, factor.own_dims, strict=True)
                )
            ]
            factors.sort(key=lambda factor: likeness(network[name], factor))
            scores |= dict.fromkeys(factor.name for factor in (factors[:-1] or factors))
            loadings |= dict.fromkeys(factor.name for factor in factors[1:][-1:])
    return list(scores), [each for each in loadings if each not in scores]


def nodes_above(network: Network, names: Iterable[str]) -> set[str]:
    """The nodes that some nodes depend on, and these themselves."""
    return {each for name in names for each in (name, *nx.ancestors(network.graph, name))}


def global_nodes(network: Network, rows: Iterable[str]) -> list[str]:
    """The latent nodes that all rows share: those without the dims of rows."""
    plates = set(rows)
    return [name for name in network.latent if plates.isdisjoint(network[name].axes)]
