"""Layer-wise training of a Poisson gamma belief network, with the widths inferred (Algorithm 1).

For T = 1, 2, …: put a layer of K_T = K_{T-1} factors on top (K_1 = ``max_width``), train all T
layers jointly for B_T sweeps, remove the factors of the new layer that have no counts,

    {k : x^(T)_{··k} = 0},   γ0 ← γ0 · K_new / K_old  (the mass γ0 / K_T of a factor stays),

and train C_T sweeps more. Reference: Zhou, Cong & Chen 2015, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.chain import Chain, check_seed
from pgbn.errors import DataError
from pgbn.random import stream_key, word_of
from pgbn.samplers import Stream, vectorised
from pgbn.surgery import State, grow, prune
from pgbn.trained import Priors, TrainedNetwork, make_network

__all__ = ["LayerwiseTraining", "Progress", "train_layerwise"]


@dataclass(frozen=True)
class Progress:
    """What a callback gets after every sweep; ``phase`` is "burn_in" or "collect"."""

    depth: int
    phase: str
    sweep: int
    sweeps: int
    chain: Chain


@dataclass(frozen=True)
class LayerwiseTraining:
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
    start_from: TrainedNetwork | LayerwiseTraining | str | Path | None = None,
    keep_states: bool = False,
) -> LayerwiseTraining:
    """Train networks of 1, 2, …, ``depth`` layers on documents × terms ``X``.

    ``eta``, ``burn_in`` (B_t) and ``collect`` (C_t) are one number or one a layer. Φ of a
    trained network is the posterior mean (η + x) / Σ(η + x) given the counts of the last sweep,
    as in the paper, or its average over the last ``average`` sweeps; r likewise. Training stops
    early at a layer of at most ``min_width`` factors, or with fewer than ``min_count`` counts
    in all. ``trace_every`` sweeps the log likelihood and the active width are noted (0: never).
    ``start_from`` is a network trained on the same documents, or its file: layers are added
    to it, or, if it has ``depth`` layers already, it is trained C_T sweeps more. Only the deepest
    network keeps its state, unless ``keep_states``.
    """
    plan = _Plan(
        depth=_whole("depth", depth, 1),
        eta=_floats("eta", eta, depth),
        burn_in=_wholes("burn_in", burn_in, depth),
        collect=_wholes("collect", collect, depth),
        link=link,
        seed=check_seed(seed),
        layer1=layer1,
        threads=threads,
        average=_whole("average", average, 1),
        trace_every=_whole("trace_every", trace_every, 0),
        priors=priors or Priors(),
        callback=callback,
    )
    _whole("max_width", max_width, 1)
    networks = _beginning(start_from, link)
    if networks and networks[-1].depth >= depth:
        networks[-1] = _go_on(plan, X, networks[-1])
        return LayerwiseTraining(tuple(networks), f"{plan.collect[-1]} sweeps more")
    stopped = f"depth {depth} reached"
    while not networks or networks[-1].depth < depth:
        below = networks[-1] if networks else None
        if below is not None and not keep_states:
            networks[-1] = below.without_state()
        trained, total = _add_layer(plan, X, max_width, below)
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
    callback: Callable[[Progress], None] | None

    def chain(self, X: Any, widths: tuple[int, ...], state: State, sweeps: int) -> Chain:
        """A chain at a state. The sweeps that were run before number it: its streams are new."""
        network = make_network(widths, self.eta[: len(widths)], self.link, self.priors)
        return network.chain({"x": X}, self.seed, sweeps, state, self.layer1, self.threads)


def _add_layer(
    plan: _Plan, X: Any, max_width: int, below: TrainedNetwork | None
) -> tuple[TrainedNetwork, int]:
    """Grow, burn in, prune, collect; also the total count of the new layer."""
    widths = (*below.widths, below.widths[-1]) if below else (max_width,)
    top, sweeps = len(widths), below.sweeps if below else 0
    chain = plan.chain(X, widths, _start(plan, X, widths, below), sweeps)
    trace = _Trace(plan, chain)
    _run(plan, chain, trace, top, "burn_in", plan.burn_in[top - 1])
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


def _go_on(plan: _Plan, X: Any, network: TrainedNetwork) -> TrainedNetwork:
    """C_T sweeps more of a whole network."""
    state = {name: np.asarray(value) for name, value in network.state.items()}
    chain = plan.chain(X, network.widths, state, network.sweeps)
    return _collect(plan, chain, _Trace(plan, chain), network.widths, network.sweeps)


def _collect(
    plan: _Plan, chain: Chain, trace: _Trace, widths: tuple[int, ...], sweeps: int
) -> TrainedNetwork:
    """Run C_T sweeps and take the parameters from the last of them."""
    top = len(widths)
    etas, budget = plan.eta[:top], plan.collect[top - 1]
    last = min(plan.average, budget)
    _run(plan, chain, trace, top, "collect", budget - last)
    phi: list[NDArray[np.float64]] = []
    r = np.zeros(widths[-1])
    for number in range(last):
        _run(plan, chain, trace, top, "collect", 1, done=budget - last + number)
        counts = chain.counts
        means = [_mean_of(counts[f"phi{t}"], eta) for t, eta in enumerate(etas, 1)]
        phi = [a + b for a, b in zip(phi, means, strict=True)] if phi else means
        r += chain.select(["r"])["r"]
    state = chain.values
    rates = [state["p2" if t == 2 else f"c{t}"] for t in range(2, top + 2)]
    return TrainedNetwork(
        phi=tuple(np.ascontiguousarray(matrix / last) for matrix in phi),
        r=r / last,
        c=np.array([np.median(rate) for rate in rates]),
        eta=etas,
        link=plan.link,
        noise=float(state["noise"]) if "noise" in state else 1.0,
        priors=plan.priors,
        weights=tuple(state[f"theta{t}"].sum(axis=0) for t in range(1, top + 1)),
        traces=trace.arrays(),
        state=state,
        sweeps=sweeps + budget,
    )


def _mean_of(counts: NDArray[np.int64], eta: float) -> NDArray[np.float64]:
    """E φ_k = (η + x_vk) / Σ_v (η + x_vk), a topic a row."""
    shape = counts + eta
    return np.asarray(shape / shape.sum(axis=1, keepdims=True))


def _run(
    plan: _Plan, chain: Chain, trace: _Trace, top: int, phase: str, sweeps: int, done: int = 0
) -> None:
    total = (plan.burn_in if phase == "burn_in" else plan.collect)[top - 1]
    for number in range(done + 1, done + sweeps + 1):
        chain.sweep()
        trace.note(chain)
        if plan.callback is not None:
            plan.callback(Progress(top, phase, number, total, chain))


def _start(plan: _Plan, X: Any, widths: tuple[int, ...], below: TrainedNetwork | None) -> State:
    """The state at which a network with a new top layer begins.

    θ^(T) = r = 1/K_T, γ0 = K_T/K_1, c0 = c^(T+1) = 1, and for T > 1 columns of Φ^(T) at random.
    The first layer starts at equal topics and weights: its labels are then drawn uniformly.
    """
    top, width = len(widths), widths[-1]
    if below is None and getattr(X, "ndim", 2) != 2:
        raise DataError(f"X has {X.ndim} dims; give documents × terms")
    documents, terms = (int(size) for size in np.shape(X)[:2])
    network = make_network(widths, plan.eta[:top], plan.link, plan.priors)
    values: dict[str, Any] = {
        f"theta{top}": 1.0 / width,
        "r": 1.0 / width,
        "gamma0": width / widths[0],
        "c0": 1.0,
        "p2" if top == 1 else f"c{top + 1}": 1.0,
    }
    state: dict[str, Any] = {}
    if below is None:
        values["phi1"] = 1.0 / terms
    else:
        stream = Stream(stream_key(plan.seed, word_of("grow"), top), (1, 1, width, widths[-2]))
        values[f"phi{top}"] = vectorised.dirichlet(stream, 1.0, 3)[0, 0]
        # Nodes that begin anew need not have had this size before.
        state = {name: value for name, value in below.state.items() if name not in values}
        _check_state(below, documents)
    sizes = {"doc": documents, "term": terms}
    return grow(network, state, values, sizes)[0]


def _check_state(below: TrainedNetwork, documents: int) -> None:
    if not below.state:
        raise DataError(
            "start_from: this network has no state; train it with keep_states=True, or start "
            "from the deepest network of a training"
        )
    found = below.state["theta1"].shape[0]
    if found != documents:
        raise DataError(f"start_from: trained on {found} documents, but X has {documents}")


def _beginning(
    start: TrainedNetwork | LayerwiseTraining | str | Path | None, link: str
) -> list[TrainedNetwork]:
    if start is None:
        return []
    if isinstance(start, (str, Path)):
        start = TrainedNetwork.load(start)
    networks = [start] if isinstance(start, TrainedNetwork) else list(start.networks)
    if networks[-1].link != link:
        raise DataError(f"start_from: its link is {networks[-1].link!r}, not link={link!r}")
    return networks


class _Trace:
    """The log likelihood and the number of active factors of the top layer, now and then."""

    def __init__(self, plan: _Plan, chain: Chain) -> None:
        self.every, self.sweep = plan.trace_every, 0
        self.top = f"theta{sum(name.startswith('theta') for name in chain.network.latent)}"
        self.rows: list[tuple[float, float, float]] = []

    def note(self, chain: Chain) -> None:
        self.sweep += 1
        if self.every and self.sweep % self.every == 0:
            width = int((chain.counts[self.top].sum(axis=0) > 0).sum())
            self.rows.append((self.sweep, chain.log_likelihood(), width))

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        table = np.array(self.rows).reshape(-1, 3)
        return {name: table[:, i] for i, name in enumerate(("sweep", "log_likelihood", "width"))}


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not np.isscalar(value) or int(value) != value or value < least:  # type: ignore[call-overload]
        raise DataError(f"{name}={value!r} must be an integer of at least {least}")
    return int(value)


def _wholes(name: str, value: int | Sequence[int], depth: int) -> tuple[int, ...]:
    each = [value] * depth if isinstance(value, (int, np.integer)) else list(value)
    if len(each) < depth:
        raise DataError(f"{name}={value!r}: give one number, or one for each of {depth} layers")
    return tuple(_whole(name, number, 1) for number in each[:depth])


def _floats(name: str, value: float | Sequence[float], depth: int) -> tuple[float, ...]:
    each = [value] * depth if isinstance(value, (int, float, np.number)) else list(value)
    if len(each) < depth or not all(np.isscalar(v) and v > 0 for v in each):
        raise DataError(f"{name}={value!r}: give a positive number, or one a layer ({depth})")
    return tuple(float(number) for number in each[:depth])
