"""The state at which a network begins whose top layer is new."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgbn.network.growth import Units, nodes_above, summed_nodes
from pgbn.network.network import Network
from pgbn.nodes import BetaOdds, Dirichlet, Gamma
from pgbn.samplers import Stream, vectorised
from pgbn.samplers.random import stream_key, word_of
from pgbn.training.family import Family
from pgbn.training.surgery import State, grow

__all__ = ["start_of_layer"]


def start_of_layer(
    family: Family,
    widths: tuple[int, ...],
    sizes: Mapping[str, int],
    below: Mapping[str, ArrayLike],
    seed: int,
) -> State:
    """The state at which a network with a new top layer begins, from that of the layers below.

    Scores θ^(T) and the shapes r that they have of their own begin at 1/K_T, what stands above
    them at 1, but a mass γ0 that the units share at K_T/K_1; proportions Φ^(T) at random, or, in
    the first layer, all equal: its labels are then drawn uniformly. Nodes of the layers below go
    on as they are; what is left begins at a draw from the prior. ``sizes`` are those of the data.
    """
    network, units = family.network(widths), family.units(len(widths))
    new = _new_nodes(network, units, below)
    scores, _ = summed_nodes(network, units)
    positive = {name for name in new if isinstance(network[name], (Gamma, BetaOdds))}
    every, width = {**network.sizes, **sizes}, widths[-1]
    values: dict[str, Any] = {}
    for name in nodes_above(network, scores) & positive:
        has_units = units.among(network[name].axes)
        values[name] = 1.0 / width if has_units else 1.0
        if name in units.masses:
            values[name] = width / widths[0]
    key = stream_key(seed, word_of("grow"), len(widths))
    for name in (n for n in network.latent if n in new):
        node = network[name]
        if isinstance(node, Dirichlet) and units.among(node.axes):
            if not below or not set(units.dims).isdisjoint(node.sums_over):
                values[name] = 1.0 / prod(every[dim] for dim in node.sums_over)
            else:
                values[name] = _at_random(node, every, key)
                key = stream_key(key, word_of(name))  # of the next ones
    state = {name: value for name, value in below.items() if name not in new}
    return grow(network, state, values, sizes)[0]


def _new_nodes(network: Network, units: Units, below: Mapping[str, ArrayLike]) -> set[str]:
    """The nodes that begin anew: those with the units, those that there were not, and those that
    are there for such nodes alone, as c0 and γ0 are for r."""
    new: set[str] = set()
    for name in reversed(network.latent):  # children before their parents
        children = list(network.graph.successors(name))
        if (
            name not in below
            or units.among(network[name].axes)
            or (children and new.issuperset(children))
        ):
            new.add(name)
    return new


def _at_random(node: Dirichlet, sizes: Mapping[str, int], key: int) -> NDArray[np.float64]:
    """Proportions from Dir(1, …, 1)."""
    rows, over = ([sizes[dim] for dim in dims] for dims in (node.dims, node.sums_over))
    stream = Stream(key, (1, 1, prod(rows), prod(over)))
    return vectorised.dirichlet(stream, 1.0, 3).reshape(*rows, *over)
