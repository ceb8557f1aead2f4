"""Hidden states in time: forward filtering, backward sampling.

    α_t(k) ∝ F_k(x_t) Σ_l α_{t−1}(l) P_t(l, k)
    z_T ~ α_T,   P(z_t = l | z_{t+1} = k) ∝ α_t(l) P_{t+1}(l, k)

F_k is the density of all that depends on z_t, P_t(l, k) the probability of k after l and, in the
first row, that of k. Both are read off the network at the values "every row is in state k".
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.kernels import ConditionalDensity
from pgbn.engine.compile.program import Program
from pgbn.engine.plan import Draw, Run, maker
from pgbn.nodes.base import Latent
from pgbn.nodes.categorical import choices
from pgbn.samplers import vectorised
from pgbn.samplers.elementwise import exp_of

__all__ = ["filter_states", "sample_states", "state_draw"]

Array = NDArray[np.float64]


@maker("time", Draw)
def state_draw(program: Program, task: Draw) -> Run | None:
    """Draw a chain of finite choices as a whole, given all that depends on it."""
    node, name = task.node, task.node.name
    if not program.is_in_time(name) or not (isinstance(node, Latent) and node.finite):
        return None
    conditional, shape = ConditionalDensity(program, node), program.shape4[name]
    along = program.wiring.connections.time_dim(name)
    assert along is not None
    (slot,) = node.slots()
    probability, stored = program.slot(name, slot).get, program.storage[name]
    axis, time = program.stream(name, 0).simplex, len(shape) - len(stored) + stored.index(along)

    def run(key: int) -> None:
        stream, every = program.stream(name, key), choices(shape, axis)
        logs = np.concatenate([conditional.likelihood(state) for state in every], axis=axis)
        weights = _by_row(np.broadcast_to(logs, shape), axis, time)
        before, rows = program.values[name], []
        for state in every:
            program.values[name] = state.reshape(program.shape[name])
            rows.append(_by_row(np.broadcast_to(probability(), shape), axis, time))
        program.values[name], moves = before, np.stack(rows, axis=1)
        uniforms = _by_row(vectorised.uniform(stream), axis, time)[..., 0]
        states = sample_states(filter_states(weights, moves), moves, uniforms)
        value = np.moveaxis(np.eye(shape[axis])[states], (0, -1), (time, axis))
        program.values[name] = np.ascontiguousarray(value).reshape(program.shape[name])

    return run


def _by_row(array: Array, axis: int, time: int) -> Array:
    """An array with the rows of time first and the states last."""
    return np.moveaxis(array, (time, axis), (0, -1))


def filter_states(log_weights: Array, moves: Array) -> Array:
    """α: (T, …, K), each row summing to one, from ln F (T, …, K) and P (T, from, …, to)."""
    filtered = np.empty(log_weights.shape)
    for row, logs in enumerate(log_weights):
        weight = exp_of(logs - logs.max(axis=-1, keepdims=True))
        predicted: Any = moves[0, 0] if row == 0 else sum(
            filtered[row - 1][..., state, None] * move for state, move in enumerate(moves[row])
        )  # fmt: skip
        each = weight * predicted
        total = each.sum(axis=-1, keepdims=True)
        filtered[row] = np.where(total > 0, each / np.where(total > 0, total, 1.0), predicted)
    return filtered


def sample_states(filtered: Array, moves: Array, uniforms: Array) -> NDArray[np.int64]:
    """The states (T, …), from the last row to the first, one uniform number each."""
    states = np.empty(filtered.shape[:-1], np.int64)
    for row in reversed(range(len(filtered))):
        weights = filtered[row]
        if row + 1 < len(filtered):
            chosen = states[row + 1][None, ..., None]
            backward = np.take_along_axis(moves[row + 1], chosen, axis=-1)[..., 0]  # (from, …)
            weights = weights * np.moveaxis(backward, 0, -1)
        sums = np.cumsum(weights, axis=-1)
        below = (sums <= (uniforms[row] * sums[..., -1])[..., None]).sum(axis=-1)
        last = (weights > 0).cumsum(axis=-1).argmax(axis=-1)  # where rounding leaves a crumb
        states[row] = np.minimum(below, last)
    return states
