"""Number the topics of a trained belief network by weight, the largest first.

A chain numbers its topics in no order. When a training ends, topic 0 of each layer becomes the
topic that accounts for most tokens, topic 1 the next one, and so on. All parts of the result have
these numbers: Φ, r, the weights, the kept draws, the state and the labels. `TrainedNetwork.order`
records the numbers of the chain, so that a training that continues is bit-identical to one without
a stop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.samplers.executor import SERIAL, Executor
from pgbn.training.trained import ROWS, TrainedNetwork

Order = NDArray[np.int64]


def numbered_by_weight(model: TrainedNetwork, executor: Executor = SERIAL) -> TrainedNetwork:
    """The same network, with the topics of each layer in the order of their weights. Topics of
    equal weight keep their order. Networks of another family, which have no weights, stay as they
    are."""
    orders = tuple(np.argsort(-weight, kind="stable") for weight in model.weights)
    if not model.link or all((order == np.arange(order.size)).all() for order in orders):
        return model
    before = model.order or tuple(np.arange(order.size) for order in orders)
    found = _renumbered(model, orders, executor)
    return replace(found, order=tuple(old[new] for old, new in zip(before, orders, strict=True)))


def numbered_as_in_chain(model: TrainedNetwork, executor: Executor = SERIAL) -> TrainedNetwork:
    """The same network, with the numbers that its topics had in the chain."""
    if not model.order:
        return model
    found = _renumbered(model, [np.argsort(order) for order in model.order], executor)
    return replace(found, order=())


def _renumbered(
    model: TrainedNetwork, orders: Sequence[Order], executor: Executor
) -> TrainedNetwork:
    """The network in which topic k of layer t is the one that was ``orders[t-1][k]``."""
    of_dim = dict(zip(model.layers, orders, strict=True))

    def taken(arrays: Mapping[str, Any], before: tuple[str, ...] = ()) -> dict[str, Any]:
        return {
            name: _taken(value, (*before, *model.network[name].axes), of_dim, executor)
            for name, value in arrays.items()
        }

    new = [np.argsort(order) for order in orders]  # of each old number
    return replace(
        model,
        means=taken(model.means),
        state=taken(model.state),
        draws=taken(model.draws, ("draw",)),
        weights=tuple(w[order] for w, order in zip(model.weights, orders, strict=False)),
        labels={(t, int(new[t - 1][k])): text for (t, k), text in model.labels.items()},
        order=(),
    )


def _taken(
    value: NDArray[Any], axes: tuple[str, ...], orders: Mapping[str, Order], executor: Executor
) -> NDArray[Any]:
    """An array with its entries along some dims in another order. Arrays of rows may be on disk:
    they are copied some rows at a time."""
    places = [(axis, orders[dim]) for axis, dim in enumerate(axes) if dim in orders]
    if not places:
        return value
    if places[0][0] == 0:
        for axis, order in places:
            value = np.take(value, order, axis=axis)
        return value
    out = executor.zeros(value.shape, value.dtype)
    for start in range(0, len(value), ROWS):
        rows = value[start : start + ROWS]
        for axis, order in places:
            rows = np.take(rows, order, axis=axis)
        out[start : start + ROWS] = rows
    return out
