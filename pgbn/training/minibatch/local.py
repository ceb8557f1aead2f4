"""The local part of a step: sweeps over the rows of a minibatch, and what they say upward.

A chain of the whole network on the minibatch, with all that the rows share (Φ, r) at its current
values and its steps left out. If r were drawn with the rows, it would follow rows that have not
settled, which begin with too many topics, and rows would settle more slowly for it. What each
shared node then hears, (count, exposure), is averaged over sweeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.program import Program
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.generate import to_axes
from pgbn.errors import NetworkError
from pgbn.network.layers import layers_above
from pgbn.network.network import Network
from pgbn.network.schedule import Schedule
from pgbn.samplers.executor import Executor
from pgbn.training.minibatch.roles import Roles

__all__ = ["Heard", "Local", "hear", "heard_by"]

_LEAST = 1e-10  # of a score to begin with

Array = NDArray[np.float64]
Heard = dict[str, tuple[Array, Array]]  # by node: count and exposure, with the dims of the node


@dataclass(frozen=True)
class Local:
    """What came of the sweeps over a minibatch."""

    heard: Heard
    chain: Chain


def hear(
    network: Network,
    roles: Roles,
    data: Mapping[str, Any],
    values: Mapping[str, Array],
    seed: int,
    sweeps: tuple[int, int],
    executor: Executor | None = None,
) -> Local:
    """What the rows of ``data`` say to the nodes that all rows share, which have ``values``: the
    mean over ``sweeps[1]`` sweeps, after ``sweeps[0]``."""
    chain = _chain(network, data, values, seed, executor)
    chain.follow(_local_steps(chain.schedule, network, roles))
    total: Heard = {}
    chain.sweep(sweeps[0])
    for _ in range(sweeps[1]):
        for name, (count, exposure) in heard_by(chain.sweep(), roles).items():
            before = total.get(name, (0.0, 0.0))
            total[name] = (before[0] + count, before[1] + exposure)
    return Local({name: (a / sweeps[1], b / sweeps[1]) for name, (a, b) in total.items()}, chain)


def _local_steps(schedule: Schedule, network: Network, roles: Roles) -> Schedule:
    """A sweep without steps of what all rows share, which stays as it is; then, for each layer but
    the first, the steps above the data once more: T layers take about T times as many sweeps to
    settle as one, and those of the first cost the most."""
    steps = [step for step in schedule if step.node not in roles.shared]
    above = [step for step in steps if step.node not in network.observed]
    further = len(layers_above(network, network.observed[0])) - 1
    return Schedule([*steps, *above * further])


def heard_by(chain: Chain, roles: Roles) -> Heard:
    """What the shared nodes heard in the last sweep of a chain."""
    if not chain.sweeps:
        return {}
    for sampler in chain.samplers:
        sampler.show_counts()
    names = (*roles.proportions, *roles.heard)
    return {name: _heard(chain.program, name, name in roles.heard) for name in names}


def _chain(
    network: Network,
    data: Mapping[str, Any],
    values: Mapping[str, Array],
    seed: int,
    executor: Executor | None,
) -> Chain:
    """With scores integrated out of the first layer where that is possible: it mixes best of the
    ways that hold Φ."""
    rows = next(iter(data.values())).shape[0]
    init = {**values, **_begin_scores(network, values, rows)}
    try:
        return Chain(network, data, seed, init=init, layer1="partial", executor=executor)
    except NetworkError:
        return Chain(network, data, seed, init=init, layer1="blocked", executor=executor)


def _begin_scores(network: Network, values: Mapping[str, Array], rows: int) -> dict[str, Array]:
    """θ^(t) = Φ^(t+1) ⋯ Φ^(T) r for every row, the mean of its prior with rates of 1. A draw of the
    prior would begin each row at a few topics by chance, and take long to leave them."""
    found: dict[str, Array] = {}
    weight: Array | None = None
    for layer in reversed(layers_above(network, network.observed[0])):
        if weight is None:
            top = network.wiring.polynomials[layer.scores, "shape"].names
            weight = values.get(top[0]) if len(top) == 1 else None
        if weight is None or network[layer.scores].axes[1:] != (layer.dim,):
            return {}
        found[layer.scores] = np.broadcast_to(np.maximum(weight, _LEAST), (rows, weight.size))
        weight = weight @ values[layer.loadings]
    return found


def _heard(program: Program, name: str, with_exposure: bool) -> tuple[Array, Array]:
    """The count and the exposure of a node, with its dims in order."""

    def full(value: Any) -> Array:
        whole = np.broadcast_to(np.asarray(value, np.float64), program.shape4[name])
        # As it would come from a file: numpy adds up in the order in which numbers lie in memory.
        return np.array(to_axes(program, name, whole.reshape(program.shape[name]))[0], order="C")

    exposure = full(program.exposure(name).get()) if with_exposure else np.zeros(())
    return full(program.heard_count(name).get()), exposure
