"""Layer-wise training of a Poisson gamma belief network, with the widths inferred (Algorithm 1).

For T = 1, 2, …: put a layer of K_T = K_{T-1} factors on top (K_1 = ``max_width``; or no more than
its own budget, where ``max_width`` has one for each layer), train all T layers jointly for B_T
sweeps, remove the factors of the new layer that have no counts,

    {k : x^(T)_{··k} = 0},   γ0 ← γ0 · K_new / K_old  (the mass γ0 / K_T of a factor stays),

and train C_T sweeps more. Reference: Zhou, Cong & Chen 2015, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pgbn.engine.data.cells import Cells
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.progress import Clock, Event
from pgbn.errors import notify
from pgbn.training.averages import Means, Trace
from pgbn.training.kept_draws import global_names, is_kept, stacked
from pgbn.training.new_layer import start_of_layer
from pgbn.training.settings import Settings
from pgbn.training.surgery import State, prune
from pgbn.training.trained import TrainedNetwork
from pgbn.zoo import layers
from pgbn.zoo.links import get_link

__all__ = ["Plan", "Progress", "run_plan", "trained_at", "why_start_is_full"]


@dataclass(frozen=True)
class Progress(Event):
    """Where training stands: what a callback gets after every sweep, and ``resume`` takes.

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
    """A training under way: its settings, the sampler ``layer1`` that was chosen for its first
    layer, and the ``networks`` trained so far."""

    settings: Settings
    layer1: str
    threads: int | None
    callbacks: list[Callable[[Progress], None]]
    clock: Clock
    networks: list[TrainedNetwork]

    def set_clock(self, resume: Progress | None) -> None:
        """Count the sweeps of this run: all that are left to do."""
        settings, trained = self.settings, self.networks[-1].depth if self.networks else 0
        if trained >= settings.depth:
            self.clock.total = settings.collect[-1]
        else:
            self.clock.total = sum(settings.burn_in[trained:]) + sum(settings.collect[trained:])
        if resume is not None:
            self.clock.done = resume.sweep
            if resume.phase == "collect" and trained < settings.depth:
                self.clock.done += settings.burn_in[trained]

    def chain(self, X: Cells, widths: tuple[int, ...], state: State, sweeps: int) -> Chain:
        """A chain at a state. The sweeps that were run before number it: its streams are new."""
        network, data = self.settings.network(widths), {layers.DATA: X}
        return Chain(network, data, self.settings.seed, sweeps, state, self.layer1, self.threads)


def run_plan(plan: Plan, X: Cells, resume: Progress | None) -> str:
    """Train what is missing in ``plan.networks``; returns why training stopped."""
    networks, settings = plan.networks, plan.settings
    depth, min_count = settings.depth, settings.min_count
    complete = bool(networks) and networks[-1].depth >= depth
    if networks and resume is None and not complete:
        counts = np.inf if X.missing is not None else X.values.sum(dtype=np.float64)
        full = why_start_is_full(networks[-1], counts, settings.min_width, min_count)
        if full:
            return full
    if not X.values.any():
        notify("X has no counts: all cells are 0, and what is trained is the prior")
    if complete:
        names = networks[-1].vocabulary
        networks[-1] = replace(_go_on(plan, X, networks[-1], resume), vocabulary=names)
        return f"{settings.collect[-1]} sweeps more"
    while not networks or networks[-1].depth < depth:
        below = networks[-1] if networks else None
        if below is not None and not settings.keep_states:
            networks[-1] = below.without_state()
        trained, total = _add_layer(plan, X, below, resume)
        resume = None
        names = below.vocabulary if below else None
        networks.append(replace(trained, vocabulary=names) if names else trained)
        least = settings.min_width if trained.depth < depth else 0
        full = why_full(trained, total, least, min_count)
        if full:
            return full
    return f"depth {depth} reached"


def why_full(
    network: TrainedNetwork, counts: float, min_width: int, min_count: int, known: str = ""
) -> str:
    """Why a network with such ``counts`` in its top layer gets no further one; "" if it may."""
    layer, width = network.depth, network.widths[-1]
    if width <= min_width:
        return f"layer {layer} has {width} ≤ {min_width} factors"
    if counts < min_count:
        return f"layer {layer} has {known}{counts:.0f} < {min_count} counts"
    return ""


def why_start_is_full(
    start: TrainedNetwork, total: float, min_width: int, min_count: int = 1
) -> str:
    """The same for a network to go on from, by the ``total`` of the data: the counts of the first
    layer are those of the data, and the layers above have no more. What other links have instead
    is not known, but data that are all 0 have none."""
    counts = total if get_link(start.link).is_counts or total == 0 else np.inf
    known = "at most " if start.depth > 1 and total > 0 else ""
    return why_full(start, counts, min_width, min_count, known)


def _add_layer(
    plan: Plan, X: Cells, below: TrainedNetwork | None, at: Progress | None
) -> tuple[TrainedNetwork, int]:
    """Grow, burn in, prune, collect; also the total count of the new layer."""
    settings = plan.settings
    before = below.widths if below else ()
    widths = (*before, settings.budget(before))
    top, sweeps = len(widths), below.sweeps if below else 0
    units, burnt = layers.theta(top), sweeps + settings.burn_in[top - 1]
    if at is not None and at.phase == "collect":
        widths = (*widths[:-1], at.chain.network.sizes[layers.topic(top)])
        trained = _collect(plan, at.chain, at.trace, widths, burnt, at)
        return trained, int(at.chain.counts[units].sum())
    if at is None:
        start = start_of_layer(X, settings.network(widths), widths, below, settings.seed)
        chain = plan.chain(X, widths, start, sweeps)
        trace = Trace(settings.trace_every)
    else:
        chain, trace = at.chain, at.trace
    _run(plan, chain, trace, Means(), top, "burn_in", 0 if at is None else at.sweep)
    state = chain.values
    active = chain.counts[units].sum(axis=0) > 0
    if not active.any():
        active[0] = True  # a layer has at least one factor
    if not active.all():
        state, index = prune(
            chain.network, state, layers.topic(top), active, rescale=[layers.GAMMA0]
        )
        widths = (*widths[:-1], index.size)
        chain = plan.chain(X, widths, state, sweeps + chain.sweeps)
    trained = _collect(plan, chain, trace, widths, burnt)
    return trained, int(chain.counts[units].sum())


def _go_on(plan: Plan, X: Cells, network: TrainedNetwork, at: Progress | None) -> TrainedNetwork:
    """C_T sweeps more of a whole network."""
    if at is not None:
        return _collect(plan, at.chain, at.trace, network.widths, network.sweeps, at)
    state = {name: np.asarray(value) for name, value in network.state.items()}
    chain = plan.chain(X, network.widths, state, network.sweeps)
    # The trace counts from the beginning of the top layer, after the sweeps of those below. Where
    # these are not known, it counts on from the last sweep that was noted.
    below = plan.networks[-2].sweeps if len(plan.networks) > 1 else network.sweeps
    before = network.sweeps if network.depth == 1 else network.sweeps - below
    trace = Trace.after(plan.settings.trace_every, network.traces, before)
    return _collect(plan, chain, trace, network.widths, network.sweeps)


def _collect(
    plan: Plan,
    chain: Chain,
    trace: Trace,
    widths: tuple[int, ...],
    sweeps: int,
    at: Progress | None = None,
) -> TrainedNetwork:
    """Run C_T sweeps and take the parameters from the last of them."""
    top = len(widths)
    means, done = (Means(), 0) if at is None else (at.means, at.sweep)
    _run(plan, chain, trace, means, top, "collect", done)
    settings = plan.settings.first(top)
    trained = trained_at(chain, means, settings.average, trace, settings)
    return replace(trained, sweeps=sweeps + settings.collect[-1])


def trained_at(
    chain: Chain, means: Means, samples: int, trace: Trace, settings: Settings
) -> TrainedNetwork:
    """The network at the state of a chain of ``settings.depth`` layers, with means over some
    samples."""
    state, top = chain.values, settings.depth
    rates = [state[layers.rate(t)] for t in range(2, top + 2)]
    return TrainedNetwork(
        phi=tuple(np.ascontiguousarray(matrix / samples) for matrix in means.phi),
        r=means.r / samples,
        c=np.array([np.median(rate) for rate in rates]),
        eta=settings.eta,
        link=settings.link,
        noise=float(state.get(layers.NOISE, 1.0)),
        priors=settings.priors,
        weights=tuple(state[layers.theta(t)].sum(axis=0) for t in range(1, top + 1)),
        traces=trace.arrays(),
        state=state,
        sweeps=chain.number + chain.sweeps,
        draws=stacked(means.draws),
    )


def _run(
    plan: Plan, chain: Chain, trace: Trace, means: Means, top: int, phase: str, done: int
) -> None:
    """The sweeps of a phase after the first ``done`` of them."""
    settings = plan.settings.first(top)
    total = (settings.burn_in if phase == "burn_in" else settings.collect)[-1]
    for number in range(done + 1, total + 1):
        chain.sweep()
        trace.note(chain, top)
        if phase == "collect" and number > total - settings.average:
            means.add(chain, settings.eta)
        if phase == "collect" and is_kept(number, total, settings.keep_draws):
            means.keep(chain, global_names(chain.network))
        event = Progress(
            chain=chain, depth=top, phase=phase, sweep=number, sweeps=total, **plan.clock.tick(),
            networks=tuple(plan.networks), trace=trace, means=means,
        )  # fmt: skip
        for callback in plan.callbacks:
            callback(event)
