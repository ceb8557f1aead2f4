"""Layer-wise training of a Poisson gamma belief network, with the widths inferred (Algorithm 1).

For T = 1, 2, …: put a layer of K_T = K_{T-1} factors on top (K_1 = ``max_width``), train all T
layers jointly for B_T sweeps, remove the factors of the new layer that have no counts,

    {k : x^(T)_{··k} = 0},   γ0 ← γ0 · K_new / K_old  (the mass γ0 / K_T of a factor stays),

and train C_T sweeps more. Reference: Zhou, Cong & Chen 2015, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from pgbn.averages import Means, Trace
from pgbn.chain import Chain, check_seed
from pgbn.checks import check_integer
from pgbn.errors import DataError
from pgbn.memory import check_network
from pgbn.network import Network
from pgbn.new_layer import start_of_layer
from pgbn.per_layer import integers, positives
from pgbn.progress import Clock, Event, live
from pgbn.reportable import Reportable
from pgbn.surgery import State, prune
from pgbn.trained import Priors, TrainedNetwork, make_network

__all__ = ["LayerwiseTraining", "Progress", "train_layerwise"]

MOST_LAYERS = 100
MOST_TOKENS = 2**28  # with a label each


@dataclass(frozen=True)
class Progress(Event):
    """Where training stands: what a callback gets after every sweep, and ``resume`` takes.

    ``phase`` is "burn_in" or "collect"; ``networks`` are those of fewer layers.
    """

    networks: tuple[TrainedNetwork, ...]
    trace: Trace
    means: Means


@dataclass(frozen=True)
class LayerwiseTraining(Reportable):
    """The networks of depth 1, 2, …, and why training stopped."""

    networks: tuple[TrainedNetwork, ...]
    stopped: str

    @property
    def deepest(self) -> TrainedNetwork:
        return self.networks[-1]

    @property
    def widths(self) -> tuple[int, ...]:
        return self.deepest.widths

    def __getitem__(self, depth: int) -> TrainedNetwork:
        """The network of so many layers."""
        for network in self.networks:
            if network.depth == depth:
                return network
        known = [network.depth for network in self.networks]
        raise DataError(f"there is no network of depth {depth!r}; trained depths: {known}")

    def __repr__(self) -> str:
        return f"LayerwiseTraining(widths={self.widths}, stopped={self.stopped!r})"


def train_layerwise(
    X: Any,
    max_width: int,
    depth: int,
    *,
    eta: float | Sequence[float] = 0.05,
    burn_in: int | Sequence[int] = 1000,
    collect: int | Sequence[int] = 500,
    link: str = "poisson",
    seed: int = 0,
    layer1: str = "auto",
    threads: int | None = None,
    average: int = 1,
    min_width: int = 4,
    min_count: int = 1,
    trace_every: int = 10,
    priors: Priors | None = None,
    callback: Callable[[Progress], None] | None = None,
    progress: bool = True,
    start_from: TrainedNetwork | LayerwiseTraining | str | Path | None = None,
    keep_states: bool = False,
    resume: Progress | None = None,
) -> LayerwiseTraining:
    """Train networks of 1, 2, …, ``depth`` layers on documents × terms ``X``.

    ``eta``, ``burn_in`` (B_t) and ``collect`` (C_t) are one number or one a layer. Φ of a
    trained network is the posterior mean (η + x) / Σ(η + x) given the counts of the last sweep,
    as in the paper, or its average over the last ``average`` sweeps; r likewise. Training stops
    early at a layer of at most ``min_width`` factors, or with fewer than ``min_count`` counts
    in all. ``trace_every`` sweeps the log likelihood and the active width are noted (0: never).
    ``layer1`` is the sampler of the first layer (`Network.chain`); "auto": "collapsed" for counts.
    ``start_from`` is a network trained on the same documents, or its folder: layers are added
    to it, or, if it has ``depth`` layers already, it is trained C_T sweeps more. Only the deepest
    network keeps its state, unless ``keep_states``. ``resume`` goes on from where a callback
    saw a training with the same arguments: see `pgbn.checkpoint`.
    """
    if check_integer("depth", depth, 1) > MOST_LAYERS:
        raise DataError(f"depth={depth!r} must be at most {MOST_LAYERS}")
    depth, max_width = int(depth), check_integer("max_width", max_width, 1)
    min_width = check_integer("min_width", min_width, 0)
    min_count = check_integer("min_count", min_count, 0)
    if not isinstance(priors, Priors | None):
        raise DataError(f"priors={priors!r}: give pgbn.Priors(...), or None for the paper's")
    if callback is not None and not callable(callback):
        raise DataError(f"callback={callback!r}: give a function of one argument")
    plan = _Plan(
        depth=depth,
        eta=positives("eta", eta, depth),
        burn_in=integers("burn_in", burn_in, depth),
        collect=integers("collect", collect, depth),
        link=link,
        seed=check_seed(seed),
        # A choice that does not look at the threads: the result must not depend on them.
        layer1=_sampler(X) if layer1 == "auto" and link == "poisson" else layer1,
        threads=threads,
        average=check_integer("average", average, 1),
        trace_every=check_integer("trace_every", trace_every, 0),
        priors=priors or Priors(),
        callbacks=[] if callback is None else [callback],
        clock=Clock(0),
        networks=_beginning(start_from, link) if resume is None else list(resume.networks),
    )
    if not plan.networks:
        _check_room(plan, X, max_width)
    plan.set_clock(resume)
    with live(progress) as meter:
        plan.callbacks.append(meter)
        return _train(plan, X, max_width, min_width, min_count, keep_states, resume)


def _sampler(X: Any) -> str:
    """The sampler of the first layer for counts; beyond so many tokens, one without labels."""
    numbers = sp.issparse(X) or isinstance(X, np.ndarray)
    many = numbers and X.dtype.kind in "iuf" and X.sum() > MOST_TOKENS
    return "blocked" if many else "collapsed"


def _check_room(plan: _Plan, X: Any, max_width: int) -> None:
    """Refuse a first layer that memory cannot hold."""
    shape = np.shape(X)
    if len(shape) == 2:
        sizes = {"doc": shape[0], "term": shape[1], "topic1": max_width}
        check_network(plan.network((max_width,)), sizes, argument=f"max_width={max_width}: ")


def _train(
    plan: _Plan,
    X: Any,
    max_width: int,
    min_width: int,
    min_count: int,
    keep_states: bool,
    resume: Progress | None,
) -> LayerwiseTraining:
    networks, depth = plan.networks, plan.depth
    if networks and networks[-1].depth >= depth:
        networks[-1] = _go_on(plan, X, networks[-1], resume)
        return LayerwiseTraining(tuple(networks), f"{plan.collect[-1]} sweeps more")
    stopped = f"depth {depth} reached"
    while not networks or networks[-1].depth < depth:
        below = networks[-1] if networks else None
        if below is not None and not keep_states:
            networks[-1] = below.without_state()
        trained, total = _add_layer(plan, X, max_width, below, resume)
        resume = None
        networks.append(trained)
        if trained.widths[-1] <= min_width and trained.depth < depth:
            stopped = f"layer {trained.depth} has {trained.widths[-1]} ≤ {min_width} factors"
            break
        if total < min_count:
            stopped = f"layer {trained.depth} has {total} < {min_count} counts"
            break
    return LayerwiseTraining(tuple(networks), stopped)


@dataclass(frozen=True)
class _Plan:
    """The checked arguments of `train_layerwise`."""

    depth: int
    eta: tuple[float, ...]
    burn_in: tuple[int, ...]
    collect: tuple[int, ...]
    link: str
    seed: int
    layer1: str
    threads: int | None
    average: int
    trace_every: int
    priors: Priors
    callbacks: list[Callable[[Progress], None]]
    clock: Clock
    networks: list[TrainedNetwork]

    def set_clock(self, resume: Progress | None) -> None:
        """Count the sweeps of this run: all that are left to do."""
        trained = self.networks[-1].depth if self.networks else 0
        if trained >= self.depth:
            self.clock.total = self.collect[-1]
        else:
            self.clock.total = sum(self.burn_in[trained:]) + sum(self.collect[trained:])
        if resume is not None:
            self.clock.done = resume.sweep
            if resume.phase == "collect" and trained < self.depth:
                self.clock.done += self.burn_in[trained]

    def network(self, widths: tuple[int, ...]) -> Network:
        return make_network(widths, self.eta[: len(widths)], self.link, self.priors)

    def chain(self, X: Any, widths: tuple[int, ...], state: State, sweeps: int) -> Chain:
        """A chain at a state. The sweeps that were run before number it: its streams are new."""
        network = self.network(widths)
        return network.chain({"x": X}, self.seed, sweeps, state, self.layer1, self.threads)


def _add_layer(
    plan: _Plan, X: Any, max_width: int, below: TrainedNetwork | None, at: Progress | None
) -> tuple[TrainedNetwork, int]:
    """Grow, burn in, prune, collect; also the total count of the new layer."""
    widths = (*below.widths, below.widths[-1]) if below else (max_width,)
    top, sweeps = len(widths), below.sweeps if below else 0
    if at is not None and at.phase == "collect":
        widths = (*widths[:-1], at.chain.network.sizes[f"topic{top}"])
        trained = _collect(plan, at.chain, at.trace, widths, sweeps + plan.burn_in[top - 1], at)
        return trained, int(at.chain.counts[f"theta{top}"].sum())
    if at is None:
        start = start_of_layer(X, plan.network(widths), widths, below, plan.seed)
        chain = plan.chain(X, widths, start, sweeps)
        trace = Trace(plan.trace_every)
    else:
        chain, trace = at.chain, at.trace
    _run(plan, chain, trace, Means(), top, "burn_in", 0 if at is None else at.sweep)
    state = chain.values
    active = chain.counts[f"theta{top}"].sum(axis=0) > 0
    if not active.any():
        active[0] = True  # a layer has at least one factor
    if not active.all():
        state, index = prune(chain.network, state, f"topic{top}", active, rescale=["gamma0"])
        widths = (*widths[:-1], index.size)
        chain = plan.chain(X, widths, state, sweeps + chain.sweeps)
    trained = _collect(plan, chain, trace, widths, sweeps + plan.burn_in[top - 1])
    return trained, int(chain.counts[f"theta{top}"].sum())


def _go_on(plan: _Plan, X: Any, network: TrainedNetwork, at: Progress | None) -> TrainedNetwork:
    """C_T sweeps more of a whole network."""
    if at is not None:
        return _collect(plan, at.chain, at.trace, network.widths, network.sweeps, at)
    state = {name: np.asarray(value) for name, value in network.state.items()}
    chain = plan.chain(X, network.widths, state, network.sweeps)
    return _collect(plan, chain, Trace(plan.trace_every), network.widths, network.sweeps)


def _collect(
    plan: _Plan,
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
    last, settings = min(plan.average, plan.collect[top - 1]), (plan.link, plan.priors)
    trained = _trained(chain, means, last, trace, plan.eta[:top], *settings)
    return replace(trained, sweeps=sweeps + plan.collect[top - 1])


def _trained(
    chain: Chain,
    means: Means,
    samples: int,
    trace: Trace,
    eta: tuple[float, ...],
    link: str,
    priors: Priors,
) -> TrainedNetwork:
    """The network at the state of a chain, with means over some samples."""
    state, top = chain.values, len(eta)
    rates = [state["p2" if t == 2 else f"c{t}"] for t in range(2, top + 2)]
    return TrainedNetwork(
        phi=tuple(np.ascontiguousarray(matrix / samples) for matrix in means.phi),
        r=means.r / samples,
        c=np.array([np.median(rate) for rate in rates]),
        eta=eta,
        link=link,
        noise=float(state["noise"]) if "noise" in state else 1.0,
        priors=priors,
        weights=tuple(state[f"theta{t}"].sum(axis=0) for t in range(1, top + 1)),
        traces=trace.arrays(),
        state=state,
        sweeps=chain.number + chain.sweeps,
    )


def trained_so_far(
    at: Progress, eta: float | Sequence[float], link: str, priors: Priors
) -> LayerwiseTraining:
    """What a training that was stopped has: the layers below, and the new one as it stands."""
    etas, means = positives("eta", eta, at.depth), Means()
    means.add(at.chain, etas)
    network = _trained(at.chain, means, 1, at.trace, etas, link, priors)
    below = tuple(each for each in at.networks if each.depth < at.depth)
    return LayerwiseTraining((*below, network), f"interrupted at sweep {at.done} of {at.total}")


def _run(
    plan: _Plan, chain: Chain, trace: Trace, means: Means, top: int, phase: str, done: int
) -> None:
    """The sweeps of a phase after the first ``done`` of them."""
    total = (plan.burn_in if phase == "burn_in" else plan.collect)[top - 1]
    for number in range(done + 1, total + 1):
        chain.sweep()
        trace.note(chain, top)
        if phase == "collect" and number > total - plan.average:
            means.add(chain, plan.eta[:top])
        event = Progress(
            chain=chain, depth=top, phase=phase, sweep=number, sweeps=total, **plan.clock.tick(),
            networks=tuple(plan.networks), trace=trace, means=means,
        )  # fmt: skip
        for callback in plan.callbacks:
            callback(event)


def _beginning(
    start: TrainedNetwork | LayerwiseTraining | str | Path | None, link: str
) -> list[TrainedNetwork]:
    if start is None:
        return []
    if isinstance(start, (str, Path)):
        from pgbn.storage import load

        start = load(start)
    if not isinstance(start, (TrainedNetwork, LayerwiseTraining)):
        raise DataError(
            f"start_from={start!r}: give a trained network, a training, or the folder of one"
        )
    networks = [start] if isinstance(start, TrainedNetwork) else list(start.networks)
    if networks[-1].link != link:
        raise DataError(f"start_from: its link is {networks[-1].link!r}, not link={link!r}")
    return networks
