"""Merge topics that say the same; the chain continues from there.

If the topics of a group g of layer t are merged,

    θ_gj = Σ_{k∈g} θ_kj,   φ^(t)_g = Σ_{k∈g} w_k φ^(t)_k / Σ_{k∈g} w_k,
    φ^(t+1) of g = Σ_{k∈g} that of k,

r_g = Σ r_k in the top layer, and w_k = Σ_j θ_kj. Three things do not change: the units θ_·j of
every document, the expected total Σ_j (Φθ)_vj of everything below, and the weight of a group in
every topic above. γ0, the mass that all topics share, does not change either. The result is a valid
state of the narrower network, and the sweeps that follow sample that network's posterior. For Φ and
the kept draws, w_k are the tokens of a topic, so that the expected count of every term does not
change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from pgbn.checks import is_integral, listed
from pgbn.errors import DataError
from pgbn.network.network import Network
from pgbn.training.kept_draws import BEFORE_MERGING
from pgbn.training.surgery import State
from pgbn.training.trained import TrainedNetwork, check_layer, trained_network
from pgbn.zoo import layers

Matrix = NDArray[np.float64]


def merge_topics(model: Any, groups: Iterable[Any], layer: int = 1) -> TrainedNetwork:
    """The network with the topics of each group of a layer merged.

    ``groups`` are lists of topics, ``[(3, 7), (1, 4, 9)]``, or what
    `pgbn.evaluation.similar_topics` finds; groups that share a topic are joined. A group takes the
    place of its first topic, and the labels of all its topics. The state is merged too: train it
    for a few more sweeps with ``start_from``, so that all layers adapt.
    """
    model = trained_network(model)
    layer = check_layer(model, layer)
    joined = read_groups(groups, model.widths[layer - 1], layer)
    weights = model.weights[layer - 1] if model.weights else _expected(model, layer)
    state = model.state
    if state:
        if layers.theta(layer) not in state:
            raise DataError(
                f"model: its state has no value of {layers.theta(layer)}; merge its topics without "
                "a state, model.without_state()"
            )
        units = np.asarray(state[layers.theta(layer)]).sum(axis=0)
        state = merge_state(model.network, state, layers.topic(layer), joined, units)
    phi, sums = list(model.phi), list(model.weights)
    phi[layer - 1] = _weighted(phi[layer - 1], joined, weights, axis=0)
    if sums:
        sums[layer - 1] = _summed(sums[layer - 1], joined, 0)
    r = model.r
    if layer < model.depth:
        phi[layer] = _summed(phi[layer], joined, 1)
    else:
        r = _summed(r, joined, 0)
    merged: TrainedNetwork = model.with_topics(
        phi=tuple(phi),
        r=r,
        weights=tuple(sums),
        state=state,
        draws=_merged_draws(model, layer, joined, weights),
        labels=_merged_labels(model.labels, layer, joined),
        traces=_marked(model.traces),
    )
    return merged


def merge_state(
    network: Network, state: Mapping[str, Any], dim: str, joined: NDArray[np.int64], weights: Matrix
) -> State:
    """The state with entries of ``dim`` merged: ``joined[k]`` is the new place of entry k.

    Entries of positive units, and of proportions along ``dim``, are added. Other proportions, one
    vector for each entry, are averaged with ``weights``. Nodes without the dim do not change.
    """
    out: State = {}
    for name, value in state.items():
        node, array = network[name], np.asarray(value, np.float64)
        if dim not in node.axes:
            out[name] = array.copy()
            continue
        axis = node.axes.index(dim)
        if node.simplex is None or node.simplex == dim:
            out[name] = _summed(array, joined, axis)
        else:
            out[name] = _weighted(array, joined, weights, axis)
    return out


def read_groups(groups: Any, width: int, layer: int) -> NDArray[np.int64]:
    """The new number of each of ``width`` topics, from groups of them. Groups are numbered in the
    order of their first topics."""
    graph = nx.Graph()
    graph.add_nodes_from(range(width))
    if isinstance(groups, (str, Mapping)) or not isinstance(groups, Iterable):
        raise DataError(f"groups={groups!r:.60}: give lists of topics, such as [(3, 7), (1, 4)]")
    for group in listed("groups", groups, "give lists of topics, such as [(3, 7), (1, 4)]"):
        pair = (group.first, group.second) if hasattr(group, "first") else group
        if getattr(group, "layer", layer) != layer:
            raise DataError(f"groups: {group} is of layer {group.layer}, but layer={layer}")
        if not isinstance(pair, Iterable) or isinstance(pair, (str, Mapping)):
            raise DataError(f"groups: {group!r:.60} is not a group; give lists of topics: [(3, 7)]")
        members = list(pair)
        for topic in members:
            if not is_integral(topic) or not 0 <= topic < width:
                raise DataError(f"groups: {topic!r}: layer {layer} has topics 0 to {width - 1}")
        nx.add_path(graph, [int(topic) for topic in members])
    joined = np.empty(width, np.int64)
    for number, members in enumerate(sorted(nx.connected_components(graph), key=min)):
        joined[list(members)] = number
    return joined


def _summed(array: Matrix, joined: NDArray[np.int64], axis: int) -> Matrix:
    """Entries of one group added, in the order of their numbers."""
    first = np.moveaxis(np.asarray(array, np.float64), axis, 0)
    out = np.zeros((int(joined.max()) + 1, *first.shape[1:]))
    np.add.at(out, joined, first)
    return np.ascontiguousarray(np.moveaxis(out, 0, axis))


def _weighted(array: Matrix, joined: NDArray[np.int64], weights: Matrix, axis: int) -> Matrix:
    """The weighted mean of each group; its topics have equal weights if all are 0. A topic without
    a group stays bit-identical."""
    shape = [1] * np.ndim(array)
    shape[axis] = -1
    totals = np.bincount(joined, weights)
    size = np.bincount(joined)
    share = np.where(totals[joined] > 0, weights / np.where(totals > 0, totals, 1.0)[joined],
                     1.0 / size[joined])  # fmt: skip
    share[size[joined] == 1] = 1.0
    return _summed(np.asarray(array) * share.reshape(shape), joined, axis)


def _expected(model: TrainedNetwork, layer: int) -> Matrix:
    """The weight of each topic of a layer that r implies."""
    weight = model.r
    for t in range(model.depth - 1, layer - 1, -1):
        weight = weight @ model.phi[t]
    return weight


def _merged_draws(
    model: TrainedNetwork, layer: int, joined: NDArray[np.int64], weights: Matrix
) -> dict[str, Matrix]:
    """The kept draws, each merged as the means are."""
    out = dict(model.draws)
    if not out:
        return out
    own, above = layers.phi(layer), layers.phi(layer + 1)
    out[own] = _weighted(out[own], joined, weights, 1)
    if layer < model.depth:
        out[above] = _summed(out[above], joined, 2)
    else:
        out[layers.TOP_SHAPE] = _summed(out[layers.TOP_SHAPE], joined, 1)
    return out


def _marked(traces: Mapping[str, Matrix]) -> dict[str, Matrix]:
    """The traces, with a mark on the rows so far: they are of the wider network."""
    marks = {BEFORE_MERGING: np.ones(np.size(traces["sweep"]))} if "sweep" in traces else {}
    return {**traces, **marks}


def _merged_labels(
    labels: Mapping[tuple[int, int], str], layer: int, joined: NDArray[np.int64]
) -> dict[tuple[int, int], str]:
    out: dict[tuple[int, int], str] = {}
    for (t, k), text in sorted(labels.items()):
        place = (t, int(joined[k])) if t == layer else (t, k)
        known = out.get(place)
        out[place] = f"{known} / {text}" if known and known != text else text
    return out
