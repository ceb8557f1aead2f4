"""The state at which a network begins whose top layer is new."""

from __future__ import annotations

from typing import Any

from pgbn.engine.data.cells import Cells
from pgbn.network.network import Network
from pgbn.samplers import Stream, vectorised
from pgbn.samplers.random import stream_key, word_of
from pgbn.training.surgery import State, grow
from pgbn.training.trained import TrainedNetwork
from pgbn.zoo import layers

__all__ = ["start_of_layer"]


def start_of_layer(
    cells: Cells,
    network: Network,
    widths: tuple[int, ...],
    below: TrainedNetwork | None,
    seed: int,
) -> State:
    """The state at which a network with a new top layer begins.

    θ^(T) = r = 1/K_T, γ0 = K_T/K_1, c0 = c^(T+1) = 1, and for T > 1 columns of Φ^(T) at random.
    The first layer starts at equal topics and weights: its labels are then drawn uniformly.
    """
    top, width = len(widths), widths[-1]
    documents, terms = cells.shape
    values: dict[str, Any] = {
        layers.theta(top): 1.0 / width,
        layers.TOP_SHAPE: 1.0 / width,
        layers.GAMMA0: width / widths[0],
        layers.TOP_RATE: 1.0,
        layers.rate(top + 1): 1.0,
    }
    state: dict[str, Any] = {}
    if below is None:
        values[layers.phi(top)] = 1.0 / terms
    else:
        stream = Stream(stream_key(seed, word_of("grow"), top), (1, 1, width, widths[-2]))
        values[layers.phi(top)] = vectorised.dirichlet(stream, 1.0, 3)[0, 0]
        # Nodes that begin anew need not have had this size before.
        state = {name: value for name, value in below.state.items() if name not in values}
    sizes = {layers.DOCUMENT: documents, layers.TERM: terms}
    return grow(network, state, values, sizes)[0]
