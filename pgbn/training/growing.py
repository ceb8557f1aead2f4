"""Layer-wise training of a network, with the widths inferred (Algorithm 1).

For T = 1, 2, …: put a layer of K_T = K_{T-1} factors on top (K_1 = ``max_width``; or at most its
own maximum width, if ``max_width`` has one for each layer), train all T layers jointly for B_T
sweeps, remove the factors of the new layer that have no counts,

    {k : x^(T)_{··k} = 0},   γ0 ← γ0 · K_new / K_old  (the mass γ0 / K_T of a factor stays),

and train C_T sweeps more. Reference: Zhou, Cong & Chen 2015, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgbn.engine.data.cells import Cells
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.progress import Clock, Event
from pgbn.errors import notify
from pgbn.network.layers import Units, layers_above, nodes_above, summed_nodes
from pgbn.network.network import Network
from pgbn.nodes import BetaOdds, Dirichlet, Gamma
from pgbn.nodes.rules import find_link
from pgbn.samplers import Stream, vectorised
from pgbn.samplers.executor import Executor
from pgbn.samplers.random import stream_key, word_of
from pgbn.training.kept_draws import Means, Trace, is_kept, stacked, unit_counts
from pgbn.training.settings import Family, Settings
from pgbn.training.surgery import State, grow, prune
from pgbn.training.trained import TrainedNetwork, tokens_of_topics
from pgbn.zoo import layers as layers_of_zoo


def start_of_layer(
    family: Family,
    widths: tuple[int, ...],
    sizes: Mapping[str, int],
    below: Mapping[str, ArrayLike],
    seed: int,
) -> State:
    """The start of a network with a new top layer, from the state of the layers below.

    Scores θ^(T) and their own shapes r start at 1/K_T. Nodes above them start at 1, but a mass γ0
    that the units share starts at K_T/K_1. Proportions Φ^(T) start at random; in the first layer
    they are all equal, so that its labels are drawn uniformly. Nodes of the layers below keep their
    values. All other nodes start at a draw from the prior. ``sizes`` are those of the data.
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
    """The nodes that start anew: those with the units, those that are new, and those that serve
    only such nodes, as c0 and γ0 serve r."""
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


def kept_nodes(network: Network) -> list[str]:
    """Φ^(1…T), and r."""
    layers = layers_above(network, network.observed[0])
    return [*(layer.loadings for layer in layers), _parent(network, layers[-1].scores, "shape")]


def _parent(network: Network, name: str, slot: str) -> str:
    """The node in a slot."""
    return network.wiring.polynomials[name, slot].names[0]


@dataclass(frozen=True)
class Progress(Event):
    """The position of a training: a callback receives it after every sweep, and ``resume`` takes
    it.

    ``phase`` is "burn_in" or "collect"; ``networks`` are those of fewer layers.
    """

    networks: tuple[TrainedNetwork, ...]
    trace: Trace
    means: Means

    @property
    def stage(self) -> str:
        return f"layer {self.depth} {super().stage}"

    @property
    def noted_likelihood(self) -> float | None:
        rows = self.trace.rows
        return rows[-1][1] / max(self.tokens, 1) if rows else None


@dataclass(frozen=True)
class Plan:
    """A training under way: its settings, the chosen sampler ``sampler`` of its first layer,
    and the ``networks`` trained so far."""

    settings: Settings
    sampler: str
    executor: Executor
    callbacks: list[Callable[[Progress], None]]
    clock: Clock
    networks: list[TrainedNetwork]

    def set_clock(self, resume: Progress | None) -> None:
        """Count the remaining sweeps. A training that was stopped keeps its total, so that "682 of
        1500" is followed by "683 of 1500"."""
        settings, trained = self.settings, self.networks[-1].depth if self.networks else 0
        each = [b + c for b, c in zip(settings.burn_in, settings.sweeps, strict=True)]
        if trained >= settings.depth:
            self.clock.total = settings.sweeps[-1]
        else:
            self.clock.total = sum(each[trained:])
        if resume is not None:
            self.clock.done = resume.sweep
            if trained < settings.depth:
                before = sum(each[:trained])  # of the layers below, if they are of this training
                before = before if before and self.networks[-1].sweeps == before else 0
                self.clock.total += before
                self.clock.done += before
                if resume.phase == "collect":
                    self.clock.done += settings.burn_in[trained]

    def chain(
        self, data: Mapping[str, Cells], widths: tuple[int, ...], state: State, sweeps: int
    ) -> Chain:
        """A chain at a state. The number of earlier sweeps is part of its key, so its random
        streams are new."""
        network, seed = self.settings.grown.network(widths), self.settings.seed
        return Chain._of_data(
            network, data, seed, sweeps, state, self.sampler, executor=self.executor
        )


def run_plan(plan: Plan, data: Mapping[str, Cells], resume: Progress | None) -> str:
    """Train what is missing in ``plan.networks``; returns why training stopped."""
    networks, settings = plan.networks, plan.settings
    depth, min_count = settings.depth, settings.min_count
    complete = bool(networks) and networks[-1].depth >= depth
    if networks and resume is None and not complete:
        observed = all(cells.missing is None for cells in data.values())
        total = sum(float(cells.values.sum(dtype=np.float64)) for cells in data.values())
        full = why_start_is_full(
            networks[-1], total if observed else np.inf, settings.min_width, min_count
        )
        if full:
            return full
    if not any(cells.any() for cells in data.values()):
        notify("X has no counts: all cells are 0, so training samples the prior")
    if complete:
        more = _go_on(plan, data, networks[-1], resume)
        networks[-1] = named_as(networks[-1], more)
        return f"{settings.sweeps[-1]} sweeps more"
    while not networks or networks[-1].depth < depth:
        below = networks[-1] if networks else None
        if below is not None and not settings.keep_states:
            networks[-1] = below.without_state()
        trained, total = _add_layer(plan, data, below, resume)
        resume = None
        networks.append(named_as(below, trained))
        least = settings.min_width if trained.depth < depth else 0
        full = why_full(trained, total, least, min_count)
        if full:
            return full
    return f"depth {depth} reached"


def named_as(other: TrainedNetwork | None, network: TrainedNetwork) -> TrainedNetwork:
    """A network with the names of another one: those of terms, and labels of topics in layers of
    equal width."""
    if other is None or not other.link:
        return network
    alike = [t for t, pair in enumerate(zip(other.widths, network.widths, strict=False), 1)
             if pair[0] == pair[1]]  # fmt: skip
    labels = {topic: text for topic, text in other.labels.items() if topic[0] in alike}
    return replace(network, vocabulary=other.vocabulary or network.vocabulary, labels=labels)


def why_full(
    network: TrainedNetwork, counts: float, min_width: int, min_count: int, bound: str = ""
) -> str:
    """Why a network with such ``counts`` in its top layer gets no further one; "" if it may."""
    layer, width = network.depth, network.widths[-1]
    if width <= min_width:
        return f"layer {layer} has {width} ≤ {min_width} factors"
    if counts < min_count:
        return f"layer {layer} has {bound}{counts:.0f} < {min_count} counts"
    return ""


def why_start_is_full(
    start: TrainedNetwork, total: float, min_width: int, min_count: int = 1
) -> str:
    """The same for a network to continue from, by the ``total`` of the data. The first layer has
    the counts of the data, and the layers above have no more. The counts of other links are unknown
    here, but data that are all 0 have none."""
    network = start.network
    links = [find_link(network[name]) for name in network.observed]
    counted = all(link is not None and link.counts is None for link in links)
    counts = total if counted or total == 0 else np.inf
    bound = "at most " if start.depth > 1 and total > 0 else ""
    return why_full(start, counts, min_width, min_count, bound)


def _add_layer(
    plan: Plan, data: Mapping[str, Cells], below: TrainedNetwork | None, at: Progress | None
) -> tuple[TrainedNetwork, int]:
    """Grow, burn in, prune, collect; also the total count of the new layer."""
    settings, family = plan.settings, plan.settings.grown
    before = below.widths if below else ()
    widths = (*before, settings.budget(before))
    units, sweeps = family.units(len(widths)), below.sweeps if below else 0
    burnt = sweeps + settings.burn_in[len(before)]
    if at is not None and at.phase == "collect":
        trained = _collect(plan, at.chain, at.trace, len(widths), burnt, at)
        return trained, int(unit_counts(at.chain, units).sum())
    if at is None:
        sizes = {d: n for each in data.values() for d, n in zip(each.dims, each.shape, strict=True)}
        old = below.state if below else {}
        start = start_of_layer(family, widths, sizes, old, settings.seed)
        chain = plan.chain(data, widths, start, sweeps)
        trace = Trace(settings.trace_every)
    else:
        chain, trace = at.chain, at.trace
    _run(plan, chain, trace, Means(), len(widths), "burn_in", 0 if at is None else at.sweep)
    active = unit_counts(chain, units) > 0
    if not active.any():
        active[0] = True  # a layer has at least one factor
    if not active.all():
        state = chain.values
        for dim in units.dims:
            rescale = units.masses if dim == units.dim else ()
            state, _ = prune(chain.network, state, dim, active, rescale=rescale)
        widths = (*before, int(active.sum()))
        chain = plan.chain(data, widths, state, sweeps + chain.sweeps)
    trained = _collect(plan, chain, trace, len(widths), burnt)
    return trained, int(unit_counts(chain, units).sum())


def _go_on(
    plan: Plan, data: Mapping[str, Cells], network: TrainedNetwork, at: Progress | None
) -> TrainedNetwork:
    """C_T more sweeps of a complete network."""
    if at is not None:
        return _collect(plan, at.chain, at.trace, network.depth, network.sweeps, at)
    state = {name: np.asarray(value) for name, value in network.state.items()}
    chain = plan.chain(data, network.widths, state, network.sweeps)
    # The trace counts from the start of the top layer, after the sweeps of the layers below. If
    # their number is unknown, it counts on from the last recorded sweep.
    below = plan.networks[-2].sweeps if len(plan.networks) > 1 else network.sweeps
    before = network.sweeps if network.depth == 1 else network.sweeps - below
    trace = Trace.after(plan.settings.trace_every, network.traces, before)
    return _collect(plan, chain, trace, network.depth, network.sweeps)


def _collect(
    plan: Plan, chain: Chain, trace: Trace, depth: int, sweeps: int, at: Progress | None = None
) -> TrainedNetwork:
    """Run C_T sweeps and take the parameters from the last of them."""
    means, done = (Means(), 0) if at is None else (at.means, at.sweep)
    _run(plan, chain, trace, means, depth, "collect", done)
    settings = plan.settings.first(depth)
    trained = trained_at(chain, means, settings.average, trace, settings)
    return replace(trained, sweeps=sweeps + settings.sweeps[-1])


def averaged(chain: Chain, settings: Settings) -> list[str]:
    """The nodes whose means are kept."""
    if settings.link:
        return kept_nodes(chain.network)
    return settings.grown.shared(chain.network)


def trained_at(
    chain: Chain, means: Means, samples: int, trace: Trace, settings: Settings
) -> TrainedNetwork:
    """The network at the state of a chain of ``settings.depth`` layers, with means over the
    collected samples."""
    network, state, found = chain.network, chain.values, means.over(samples)
    belief: dict[str, Any] = {}
    layers = layers_above(network, network.observed[0]) if settings.link else ()
    if settings.link:
        scores = [layer.scores for layer in layers]
        rates = [state[_parent(network, name, "rate")] for name in scores]
        belief = {
            "link": settings.link,
            "priors": settings.priors,
            "c": np.array([np.median(rate) for rate in rates]),
            "weights": tokens_of_topics(state[name] for name in scores),
        }
        if layers_of_zoo.NOISE in state:
            found[layers_of_zoo.NOISE] = state[layers_of_zoo.NOISE]
    return TrainedNetwork(
        network=network,
        layers=tuple(layer.dim for layer in layers) or settings.grown.layers(settings.depth),
        means=found,
        traces=trace.arrays(),
        state=state,
        sweeps=chain.number + chain.sweeps,
        draws=stacked(means.draws),
        **belief,
    )


def _run(
    plan: Plan, chain: Chain, trace: Trace, means: Means, depth: int, phase: str, done: int
) -> None:
    """The sweeps of a phase after the first ``done`` of them."""
    settings, family = plan.settings.first(depth), plan.settings.grown
    total = (settings.burn_in if phase == "burn_in" else settings.sweeps)[-1]
    names = averaged(chain, settings)
    for number in range(done + 1, total + 1):
        chain.sweep()
        trace.note(chain, family.units(depth))
        if phase == "collect" and number > total - settings.average:
            means.add(chain, names)
        if phase == "collect" and is_kept(number, total, settings.keep_draws):
            means.keep(chain, family.shared(chain.network))
        event = Progress(
            chain=chain, depth=depth, phase=phase, sweep=number, sweeps=total, **plan.clock.tick(),
            networks=tuple(plan.networks), trace=trace, means=means,
        )  # fmt: skip
        for callback in plan.callbacks:
            callback(event)
