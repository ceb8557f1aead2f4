"""Layer-wise training as users call it: the arguments, checked, and the networks that result.

The algorithm is in `pgbn.layerwise`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from pgbn.averages import Means
from pgbn.checks import check_integer, check_seed
from pgbn.errors import DataError
from pgbn.layerwise import Plan, Progress, run_plan, trained_at
from pgbn.memory import check_network
from pgbn.per_layer import integers, positives
from pgbn.progress import Clock, live
from pgbn.reportable import Reportable
from pgbn.trained import Priors, TrainedNetwork

__all__ = ["LayerwiseTraining", "Progress", "train_layerwise", "trained_so_far"]

MOST_LAYERS = 100
MOST_TOKENS = 2**28  # with a label each


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
    ``layer1`` is the sampler of the first layer (`Network.chain`); "auto": "collapsed" for counts,
    "blocked" beyond 2^28 of them.
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
    plan = Plan(
        max_width=max_width,
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
        min_width=min_width,
        min_count=min_count,
        trace_every=check_integer("trace_every", trace_every, 0),
        priors=priors or Priors(),
        keep_states=keep_states,
        callbacks=[] if callback is None else [callback],
        clock=Clock(0),
        networks=_beginning(start_from, link) if resume is None else list(resume.networks),
    )
    if not plan.networks:
        _check_room(plan, X)
    plan.set_clock(resume)
    with live(progress) as meter:
        plan.callbacks.append(meter)
        stopped = run_plan(plan, X, resume)
    return LayerwiseTraining(tuple(plan.networks), stopped)


def _sampler(X: Any) -> str:
    """The sampler of the first layer for counts; beyond so many tokens, one without labels."""
    numbers = sp.issparse(X) or isinstance(X, np.ndarray)
    many = numbers and X.dtype.kind in "iuf" and X.sum() > MOST_TOKENS
    return "blocked" if many else "collapsed"


def _check_room(plan: Plan, X: Any) -> None:
    """Refuse a first layer that memory cannot hold."""
    shape = np.shape(X)
    if len(shape) == 2:
        width = plan.max_width
        sizes = {"doc": shape[0], "term": shape[1], "topic1": width}
        check_network(plan.network((width,)), sizes, argument=f"max_width={width}: ")


def _beginning(
    start: TrainedNetwork | LayerwiseTraining | str | Path | None, link: str
) -> list[TrainedNetwork]:
    """The networks to go on from."""
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


def trained_so_far(
    at: Progress, eta: float | Sequence[float], link: str, priors: Priors
) -> LayerwiseTraining:
    """What a training that was stopped has: the layers below, and the new one as it stands."""
    etas, means = positives("eta", eta, at.depth), Means()
    means.add(at.chain, etas)
    network = trained_at(at.chain, means, 1, at.trace, etas, link, priors)
    below = tuple(each for each in at.networks if each.depth < at.depth)
    return LayerwiseTraining((*below, network), f"interrupted at sweep {at.done} of {at.total}")
