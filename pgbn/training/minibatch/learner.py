"""The learner: what all rows share, and one step of it for each minibatch.

For a minibatch of n out of N rows, ρ = N/n, with m̃ and q̃ = ρ times what its rows say,

    M ← (1 − ε_i) M + ε_i m̃,      Q ← (1 − ε_i) Q + ε_i q̃,      ε_i = ε_0 (1 + i/τ)^(−κ)

for each shared node. Proportions φ_k ~ Dir(η) take a Langevin step towards Dir(η + m̃_k) of the time

    h_k = ε_i (m̃_·k + Vη) / (M_·k + Vη),

the topic-layer-adaptive step of Cong, Chen, Liu & Zhou (ICML 2017): a topic that a minibatch has
little of moves little. Positive numbers are drawn given (M, Q). It begins where a Gibbs chain on
the first rows has come to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.run.chain import Chain
from pgbn.network.network import Network
from pgbn.nodes.expression import Constant
from pgbn.samplers import vectorised
from pgbn.samplers.executor import SERIAL, Executor
from pgbn.samplers.langevin import step_proportions
from pgbn.samplers.random import stream_key, word_of
from pgbn.samplers.stream import Stream
from pgbn.training.minibatch.local import Local, hear, heard_by
from pgbn.training.minibatch.roles import Roles, count_of, exposure_of, find_roles

__all__ = ["Learner", "Pace"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Pace:
    """ε_i = ε_0 (1 + i/τ)^(−κ), and the sweeps over each minibatch: to settle, and to average."""

    first: float = 0.5
    delay: float = 20.0
    decay: float = 0.6
    settle: int = 10
    average: int = 5

    def step(self, number: int) -> float:
        """ε_i of step ``number``, from 0 on."""
        return float(self.first * (1.0 + number / self.delay) ** -self.decay)


@dataclass
class Learner:
    """The state between two steps.

    ``values`` are those of all shared nodes, ``counts`` and ``exposures`` the averages M and Q of
    what they heard. Invariant: after any number of steps these depend on the network, the pace, the
    seed and the minibatches, in their order, alone.
    """

    network: Network
    plate: str
    seed: int
    pace: Pace = field(default_factory=Pace)
    executor: Executor = SERIAL
    steps: int = 0
    values: dict[str, Array] = field(default_factory=dict)
    counts: dict[str, Array] = field(default_factory=dict)
    exposures: dict[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.roles: Roles = find_roles(self.network, self.plate)

    @property
    def has_begun(self) -> bool:
        return len(self.values) == len(self.roles.shared)

    def begin(self, data: Mapping[str, Any], scale: float, sweeps: int) -> None:
        """The first values: those of a Gibbs chain on some rows, ``scale`` times as many of which
        there are in all, after some sweeps; and what its rows say."""
        chain = Chain(self.network, data, self.seed, executor=self.executor).sweep(sweeps)
        found = chain.select(self.roles.shared)
        self.values = {n: np.array(found[n], order="C") for n in self.roles.shared}
        for name, (count, exposure) in heard_by(chain, self.roles).items():
            self.counts[name], self.exposures[name] = scale * count, scale * exposure

    def step(self, data: Mapping[str, Any], scale: float) -> Local:
        """Learn from one minibatch; ``scale`` is ρ."""
        if not self.has_begun:
            self.begin(data, scale, 0)
        key = stream_key(self.seed, word_of("minibatch"), self.steps)
        pace, size = (self.pace.settle, self.pace.average), self.pace.step(self.steps)
        local = hear(self.network, self.roles, data, self.values, key, pace, self.executor)
        for name, (count, exposure) in local.heard.items():
            self._average(self.counts, name, scale * count, size)
            self._average(self.exposures, name, scale * exposure, size)
        for name in self.roles.proportions:
            self._move(name, scale * local.heard[name][0], size, stream_key(key, word_of(name)))
        if self.roles.above is not None:
            self._draw_above(self.roles.above, key)
        self.steps += 1
        return local

    def _average(self, means: dict[str, Array], name: str, new: Array, size: float) -> None:
        old = means.get(name)
        means[name] = new if old is None else old + size * (new - old)

    def eta(self, name: str) -> Any:
        """The concentration of proportions: a number, or an array beside them."""
        node: Any = self.network[name]
        slot = node.concentration
        assert isinstance(slot, Constant)
        return slot.value

    def mean(self, name: str) -> Array:
        """(η + M) / Σ (η + M) for proportions; of other nodes the value."""
        if name not in self.roles.proportions:
            return self.values[name]
        shape = self.eta(name) + self.counts[name]
        return np.asarray(shape / shape.sum(axis=-1, keepdims=True))

    def draw(self, names: Iterable[str]) -> dict[str, Array]:
        """A draw given (M, Q): φ_k ~ Dir(η + M_k), of other nodes the value. The values of φ a few
        short steps apart would be alike; these have only M in common."""
        key = stream_key(self.seed, word_of("minibatch draw"), self.steps)
        found = {}
        for name in names:
            value = self.values[name]
            if name in self.roles.proportions:
                shape = (1,) * (4 - value.ndim) + value.shape
                stream = Stream(stream_key(key, word_of(name)), shape, self.executor, 3)
                known = np.broadcast_to(self.eta(name) + self.counts[name], value.shape)
                value = vectorised.dirichlet(stream, known.reshape(shape), 3).reshape(value.shape)
            found[name] = np.array(value, order="C")
        return found

    def _move(self, name: str, count: Array, size: float, key: int) -> None:
        """A Langevin step of proportions, which lie along the last dim."""
        value, eta = self.values[name], self.eta(name)
        goal = eta + count
        known = np.broadcast_to(eta + self.counts[name], value.shape)
        time = size * goal.sum(axis=-1, keepdims=True) / known.sum(axis=-1, keepdims=True)
        shape = (1,) * (4 - value.ndim) + value.shape
        stream = Stream(key, shape, self.executor, 3)
        lines = (*shape[:3], 1)
        moved = step_proportions(
            stream, value.reshape(shape), goal.reshape(shape), time.reshape(lines)
        )
        self.values[name] = moved.reshape(value.shape)

    def _draw_above(self, network: Network, key: int) -> None:
        """One sweep of the network of the positive numbers, given M, as whole numbers, and Q."""
        heard = self.roles.heard
        data = {}
        for name in heard:
            count = self.counts[name]
            stream = Stream(stream_key(key, word_of(count_of(name))),
                            (1, 1, 1, max(count.size, 1)), SERIAL)  # fmt: skip
            flat = np.minimum(count.reshape(1, 1, 1, -1), 2.0**53)
            whole = np.floor(flat)
            up = vectorised.bernoulli(stream, flat - whole)
            data[count_of(name)] = (whole + up).astype(np.int64).reshape(count.shape)
        given = {exposure_of(name): np.maximum(self.exposures[name], 1e-300) for name in heard}
        init = {name: self.values[name] for name in network.free}
        own = stream_key(key, word_of("above"))
        chain = Chain(network, data, own, init=init, given=given, layer1="composed")
        for name, value in chain.sweep().select(network.free).items():
            self.values[name] = np.array(value, order="C")
