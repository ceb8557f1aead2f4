"""The learner: the nodes that all rows share, and one step of them for each minibatch.

For a minibatch of n out of N rows, ρ = N/n, with m̃ and q̃ = ρ times the counts and exposures that
its rows send,

    M ← (1 − ε_i) M + ε_i m̃,      Q ← (1 − ε_i) Q + ε_i q̃,      ε_i = ε_0 (1 + i/τ)^(−κ)

for each shared node. Proportions φ_k ~ Dir(η) take a Langevin step towards Dir(η + m̃_k) of the time

    h_k = ε_i (m̃_·k + Vη) / (M_·k + Vη),

the topic-layer-adaptive step of Cong, Chen, Liu & Zhou (ICML 2017): a topic that is rare in a
minibatch moves little. Positive numbers are drawn given (M, Q). The learner starts at the last
state of a Gibbs chain on the first rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import is_finite_number
from pgbn.engine.compile.program import Program
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.generate import to_axes
from pgbn.errors import DataError, NetworkError
from pgbn.network.layers import layers_above
from pgbn.network.network import Network
from pgbn.network.schedule import Schedule
from pgbn.nodes.base import Latent
from pgbn.nodes.dirichlet import Dirichlet
from pgbn.nodes.expression import Constant
from pgbn.nodes.gamma import Gamma
from pgbn.nodes.poisson import Poisson
from pgbn.samplers import vectorised
from pgbn.samplers.elementary import expm1_of
from pgbn.samplers.executor import SERIAL, Executor
from pgbn.samplers.random import Stream, stream_key, word_of

# ---- roles --------------------------------------------------------------------------------------
#
# The treatment of each node of a network, found from its graph.
#
# Local nodes have the plate ("doc") and are drawn by sweeps over a minibatch. Shared proportions
# such as Φ^(t) take a Langevin step. Shared positive numbers such as r are drawn by the sampler of
# a small network. In it the evidence of the rows about a node λ, a count m and an exposure q, is
# one datum
#
#     m ~ Pois(q λ),
#
# since every edge contributes a factor λ^m exp(−q λ).


@dataclass(frozen=True)
class Roles:
    """``shared`` are all nodes without the plate. ``proportions`` and ``received`` are among them;
    the latter are the positive numbers that rows send evidence to. ``above`` (a network, or None)
    draws these with everything that they depend on. Its data are ``count_of(name)``, its given
    values ``exposure_of(name)``."""

    plate: str
    shared: tuple[str, ...]
    proportions: tuple[str, ...]
    received: tuple[str, ...]
    above: Network | None


def count_of(name: str) -> str:
    """The name of the datum of a node."""
    return f"count_of_{name}"


def exposure_of(name: str) -> str:
    """The name of the exposure of that datum."""
    return f"exposure_of_{name}"


def find_roles(network: Network, plate: str) -> Roles:
    """The roles of the nodes, or an error that says which node has none."""
    shared = tuple(name for name in network.latent if plate not in network[name].axes)
    local = {name for name in network.nodes if plate in network[name].axes}
    proportions, received = [], []
    for name in shared:
        sources = network.wiring.sources.get(name, ())
        if not any(source.child.name in local for source in sources):
            continue
        node = network[name]
        if type(node) is Dirichlet:
            names = network.wiring.polynomials[name, "concentration"].names
            latent = [each for each in names if each in network.latent]
            if latent:
                raise NetworkError(
                    f"minibatch: the concentration of {name} depends on {latent[0]}, and its step "
                    "needs given numbers; give a constant"
                )
            proportions.append(name)
        elif type(node) is Gamma:
            received.append(name)
        else:
            raise NetworkError(
                f"minibatch: {name} is a {type(node).__name__}, which has no stochastic step; "
                "Dirichlet and Gamma nodes do. Train it by pgbn.train_layerwise or Network.sample"
            )
    return Roles(plate, shared, tuple(proportions), tuple(received), _above(network, received))


def _above(network: Network, received: list[str]) -> Network | None:
    """The network of the positive numbers and their parents, with a datum for each."""
    if not received:
        return None
    data = []
    for name in received:
        node = network[name]
        assert isinstance(node, Latent)
        exposure = Gamma(exposure_of(name), 1.0, 1.0, dims=node.axes)
        data.append(Poisson(count_of(name), rate=exposure * node, dims=node.axes))
    sizes = {dim: network.sizes[dim] for name in received for dim in network[name].axes}
    return Network(*data, sizes=sizes).with_given(*(exposure_of(name) for name in received))


# ---- local --------------------------------------------------------------------------------------
#
# The local part of a step: sweeps over the rows of a minibatch, and the evidence that they send
# upward.
#
# A chain of the entire network on the minibatch, with all shared nodes (Φ, r) fixed at their
# current values. If r were drawn with the rows, it would follow rows that have not settled. Such
# rows start with too many topics, and they would settle more slowly. The evidence that each shared
# node receives, (count, exposure), is averaged over sweeps.


_LEAST = 1e-10  # of a score to begin with

Array = NDArray[np.float64]
Received = dict[str, tuple[Array, Array]]  # by node: count and exposure, with the dims of the node


@dataclass(frozen=True)
class Local:
    """The result of the sweeps over a minibatch."""

    received: Received
    chain: Chain


def receive(
    network: Network,
    roles: Roles,
    data: Mapping[str, Any],
    values: Mapping[str, Array],
    seed: int,
    sweeps: tuple[int, int],
    executor: Executor | None = None,
) -> Local:
    """The evidence that the rows of ``data`` send to the shared nodes, which have ``values``: the
    mean over ``sweeps[1]`` sweeps, after ``sweeps[0]``."""
    rows = next(iter(data.values())).shape[0]
    first = {**values, **_begin_scores(network, values, rows)}
    try:  # with scores integrated out of the first layer: it mixes best of those that fix Φ
        chain = Chain._of_data(
            network, data, seed, start=first, sampler="partial", executor=executor
        )
    except NetworkError:
        chain = Chain._of_data(
            network, data, seed, start=first, sampler="blocked", executor=executor
        )
    chain._follow(_local_steps(chain.schedule, network, roles))
    total: Received = {}
    chain.sweep(sweeps[0])
    for _ in range(sweeps[1]):
        for name, (count, exposure) in received_by(chain.sweep(), roles).items():
            before = total.get(name, (0.0, 0.0))
            total[name] = (before[0] + count, before[1] + exposure)
    return Local({name: (a / sweeps[1], b / sweeps[1]) for name, (a, b) in total.items()}, chain)


def _local_steps(schedule: Schedule, network: Network, roles: Roles) -> Schedule:
    """A sweep without the steps of shared nodes, which stay fixed. Then the steps above the data
    are repeated for each layer but the first: T layers need about T times as many sweeps to settle
    as one, and the steps of the first layer cost the most."""
    steps = [step for step in schedule if step.node not in roles.shared]
    above = [step for step in steps if step.node not in network.observed]
    further = len(layers_above(network, network.observed[0])) - 1
    return Schedule([*steps, *above * further])


def received_by(chain: Chain, roles: Roles) -> Received:
    """The evidence that the shared nodes received in the last sweep of a chain."""
    if not chain.sweeps:
        return {}
    for sampler in chain._samplers:
        sampler.show_counts()
    names = (*roles.proportions, *roles.received)
    return {name: _received(chain._program, name, name in roles.received) for name in names}


def _begin_scores(network: Network, values: Mapping[str, Array], rows: int) -> dict[str, Array]:
    """θ^(t) = Φ^(t+1) ⋯ Φ^(T) r for every row, the mean of its prior with rates of 1. A draw from
    the prior would start each row at a few random topics, which it leaves only slowly."""
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


def _received(program: Program, name: str, with_exposure: bool) -> tuple[Array, Array]:
    """The count and the exposure of a node, with its dims in order."""

    def full(value: Any) -> Array:
        array = np.broadcast_to(np.asarray(value, np.float64), program.shape4[name])
        # As it would come from a file: numpy adds up in the order in which numbers lie in memory.
        return np.array(to_axes(program, name, array.reshape(program.shape[name]))[0], order="C")

    exposure = full(program.exposure(name).get()) if with_exposure else np.zeros(())
    return full(program.received_count(name).get()), exposure


# ---- langevin -----------------------------------------------------------------------------------
#
# Langevin steps of gamma variables and of proportions, with the exact transition.
#
#     dω = (a − ω) dt + √(2ω) dW,
#     ω(h) | ω(0):  n ~ Pois(ω(0) / (eʰ − 1)),  ω(h) ~ (1 − e⁻ʰ) Gam(a + n)
#
# is the Riemannian Langevin diffusion with the stationary law Gam(a, 1), a process of Cox,
# Ingersoll and Ross. Its transition is exact, so no step is too long and none leaves the positive
# numbers: if a is fixed, every h preserves Gam(a, 1). Proportions φ ~ Dir(a) are ω / Σω, where Σω ~
# Gam(Σa) is independent of φ and drawn anew.
#
# Reference: Baker, Fearnhead, Fox & Nemeth, Large-scale stochastic sampling from the probability
# simplex, NeurIPS 2018.


MOST = 2.0**53  # of a Poisson mean


def step_proportions(
    stream: Stream, value: NDArray[np.float64], concentration: NDArray[np.float64], time: Any
) -> NDArray[np.float64]:
    """φ after the time h, given φ: n_v ~ Pois(G φ_v / (eʰ − 1)), G ~ Gam(Σ_v a_v), then
    φ ~ Dir(a + n). Arrays have the shape of the stream; ``time`` has size 1 on its axis
    ``simplex``."""
    axis = stream.simplex
    lines = stream.child("total", without=axis)
    total = vectorised.gamma(lines, concentration.sum(axis=axis, keepdims=True), 1.0)
    mean = np.minimum(value * (total / expm1_of(np.asarray(time, np.float64))), MOST)
    kept = vectorised.poisson(stream.child("kept"), mean)
    return vectorised.dirichlet(stream.child("value"), concentration + kept, axis)


@dataclass(frozen=True)
class Pace:
    """ε_i = ε_0 (1 + i/τ)^(−κ), and the sweeps over each minibatch: to settle, and to average."""

    first: float = 0.5
    delay: float = 20.0
    decay: float = 0.6
    settle: int = 10
    average: int = 5

    def __post_init__(self) -> None:
        if not is_finite_number(self.first) or not 0 < self.first <= 1:
            raise DataError(f"first_step={self.first!r}: give a number above 0, at most 1")
        if not is_finite_number(self.delay) or not self.delay > 0:
            raise DataError(f"delay={self.delay!r}: give a number of steps above 0, such as 10")
        if not is_finite_number(self.decay) or not 0.5 < self.decay <= 1:
            raise DataError(
                f"decay={self.decay!r}: give a number above 0.5 and at most 1; steps that shrink "
                "more slowly or faster do not converge"
            )
        for name in ("first", "delay", "decay"):
            object.__setattr__(self, name, float(getattr(self, name)))

    def step(self, number: int) -> float:
        """ε_i of step ``number``, from 0 on."""
        return float(self.first * (1.0 + number / self.delay) ** -self.decay)


@dataclass
class Learner:
    """The state between two steps.

    ``values`` are those of all shared nodes, ``counts`` and ``exposures`` the averages M and Q of
    what they received. Invariant: after any number of steps these depend only on the network, the
    pace, the seed and the ordered minibatches.
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
        """The first values: those of a Gibbs chain on some rows after some sweeps, and the evidence
        of its rows. There are ``scale`` times as many rows in all."""
        chain = Chain._of_data(self.network, data, self.seed, executor=self.executor).sweep(sweeps)
        found = chain._select(self.roles.shared)
        self.values = {n: np.array(found[n], order="C") for n in self.roles.shared}
        for name, (count, exposure) in received_by(chain, self.roles).items():
            self.counts[name], self.exposures[name] = scale * count, scale * exposure

    def step(self, data: Mapping[str, Any], scale: float) -> Local:
        """Learn from one minibatch; ``scale`` is ρ."""
        if not self.has_begun:
            self.begin(data, scale, 0)
        key = stream_key(self.seed, word_of("minibatch"), self.steps)
        pace, size = (self.pace.settle, self.pace.average), self.pace.step(self.steps)
        local = receive(self.network, self.roles, data, self.values, key, pace, self.executor)
        for name, (count, exposure) in local.received.items():
            self._average(self.counts, name, scale * count, size)
            self._average(self.exposures, name, scale * exposure, size)
        for name in self.roles.proportions:
            self._move(name, scale * local.received[name][0], size, stream_key(key, word_of(name)))
        if self.roles.above is not None:
            self._draw_above(self.roles.above, key)
        self.steps += 1
        return local

    def _average(self, means: dict[str, Array], name: str, new: Array, size: float) -> None:
        old = means.get(name)
        means[name] = new if old is None else old + size * (new - old)

    def eta(self, name: str) -> Any:
        """The concentration of proportions: a number, or an array aligned with them."""
        node: Any = self.network[name]
        slot = node.concentration
        assert isinstance(slot, Constant)
        return slot.value

    def mean(self, name: str) -> Array:
        """(η + M) / Σ (η + M) for proportions; the value for other nodes."""
        if name not in self.roles.proportions:
            return self.values[name]
        shape = self.eta(name) + self.counts[name]
        return np.asarray(shape / shape.sum(axis=-1, keepdims=True))

    def draw(self, names: Iterable[str]) -> dict[str, Array]:
        """A draw given (M, Q): φ_k ~ Dir(η + M_k), the value for other nodes. Values of φ a few
        short steps apart would be similar; these draws have only M in common."""
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
        """One sweep of the network of the positive numbers, given Q and M, rounded to integers."""
        received = self.roles.received
        data = {}
        for name in received:
            count = self.counts[name]
            stream = Stream(stream_key(key, word_of(count_of(name))),
                            (1, 1, 1, max(count.size, 1)), SERIAL)  # fmt: skip
            flat = np.minimum(count.reshape(1, 1, 1, -1), 2.0**53)
            floors = np.floor(flat)
            up = vectorised.bernoulli(stream, flat - floors)
            data[count_of(name)] = (floors + up).astype(np.int64).reshape(count.shape)
        given = {exposure_of(name): np.maximum(self.exposures[name], 1e-300) for name in received}
        first = {name: self.values[name] for name in network.free}
        own = stream_key(key, word_of("above"))
        chain = Chain._of_data(network, data, own, start=first, given=given, sampler="composed")
        for name, value in chain.sweep()._select(network.free).items():
            self.values[name] = np.array(value, order="C")
