"""What a transformer asks of a network: its features, its rates, and the density of data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.density import log_density
from pgbn.engine.compile.program import Program
from pgbn.engine.compile.sizes import complete_sizes
from pgbn.engine.data.cells import Cells
from pgbn.engine.run.generate import to_storage
from pgbn.errors import DataError, did_you_mean
from pgbn.network.layers import layers_above
from pgbn.network.network import Network
from pgbn.nodes.rules.registry import find_link

__all__ = ["expected_rates", "feature_node", "mean_log_likelihood", "nodes_in_slots"]

Values = Mapping[str, NDArray[np.float64]]


def nodes_in_slots(network: Network, name: str) -> list[str]:
    """The nodes that stand in the slots of a node."""
    found = (network.wiring.polynomials[name, slot].names for slot in network[name].slots())
    return list(dict.fromkeys(each for names in found for each in names))


def feature_node(network: Network, rows: str, features: str | None) -> str:
    """The name of the node whose values are the features: the scores of the first layer, if none is
    asked for."""
    known = [name for name in network.latent if rows in network[name].axes]
    if features is None:
        layers = layers_above(network, network.observed[0])
        if not layers or layers[0].scores not in known:
            raise DataError(
                f"features=None: no layer of scores was found; give one of {', '.join(known)}"
            )
        return layers[0].scores
    if not isinstance(features, str) or features not in known:
        raise DataError(
            f"features={features!r}: no latent node of this name has the dim {rows!r}."
            f"{did_you_mean(str(features), known)}"
        )
    return features


def expected_rates(
    network: Network, name: str, sizes: Mapping[str, int], values: Values
) -> NDArray[np.float64]:
    """The rates λ of data, or what else their counts come from, at the values of the nodes that
    stand there."""
    program = _at(network, {}, sizes, values)
    link = find_link(network[name])
    slot = network[name].slots()[0] if link is None else link.slot
    rates = np.broadcast_to(program.slot(name, slot).get(), program.shape4[name])
    return np.array(rates.reshape(program.shape[name])[0])


def mean_log_likelihood(
    network: Network, name: str, cells: Cells, rows: str, values: Values
) -> float:
    """The log density of data at these values, divided by the number of rows along a dim."""
    program = _at(network, {name: cells}, {}, values)
    return float(log_density(program, name)[0]) / program.sizes[rows]


def _at(
    network: Network, cells: Mapping[str, Any], sizes: Mapping[str, int], values: Values
) -> Program:
    shapes = {name: each.shape for name, each in (*cells.items(), *values.items())}
    program = Program(network, cells, complete_sizes(network, sizes, shapes))
    for name, value in values.items():
        program.values[name] = to_storage(program, name, value[None])
    return program
