"""Layer-wise training as users call it: the arguments, checked, and the networks that result.

The algorithm is in `pgbn.training.growing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pgbn.checks import check_integer, check_seed
from pgbn.engine.compile.sizes import check_fits
from pgbn.engine.data.cells import Cells, read_array
from pgbn.engine.first_layer.cost import blocked_is_cheaper
from pgbn.engine.run.progress import Clock, live
from pgbn.errors import DataError
from pgbn.training.averages import Means
from pgbn.training.growing import Plan, Progress, run_plan, trained_at
from pgbn.training.per_layer import integers, positives, up_to
from pgbn.training.start_settings import check_width, choose_eta, choose_priors
from pgbn.training.trained import Priors, TrainedNetwork, observed_node
from pgbn.training.verbs import Reportable
from pgbn.zoo.links import get_link

if TYPE_CHECKING:
    from pgbn.estimators.pgbn import PGBN

__all__ = [
    "LayerwiseTraining",
    "Progress",
    "check_callback",
    "check_depth",
    "check_priors",
    "read_beginning",
    "read_training",
    "train_layerwise",
    "trained_so_far",
]

MOST_LAYERS = 100
MOST_TOKENS = 2**28  # with a label each
MOST_TOPICS = 2**16  # that a label can tell apart


@dataclass(frozen=True)
class LayerwiseTraining(Reportable):
    """The networks of depth 1, 2, …, and why training stopped.

    ``training[2]`` is the network of two layers; ``for network in training`` goes through all.
    """

    networks: tuple[TrainedNetwork, ...]
    stopped: str

    @property
    def deepest(self) -> TrainedNetwork:
        """The network of most layers, the last that was trained; only it can be trained further,
        unless ``keep_states`` was asked for."""
        return self.networks[-1]

    @property
    def widths(self) -> tuple[int, ...]:
        """(K_1, …, K_T) of the deepest network."""
        return self.deepest.widths

    def __iter__(self) -> Iterator[TrainedNetwork]:
        return iter(self.networks)

    def __len__(self) -> int:
        return len(self.networks)

    def __getitem__(self, depth: int) -> TrainedNetwork:
        """The network of so many layers."""
        for network in self.networks:
            if network.depth == depth:
                return network
        known = [network.depth for network in self.networks]
        raise DataError(f"there is no network of depth {depth!r}; trained depths: {known}")

    def with_vocabulary(self, names: Sequence[str] | None) -> LayerwiseTraining:
        """The same with names of the terms; None: it stays as it is."""
        named = (replace(network, vocabulary=names) for network in self.networks)
        return self if names is None else replace(self, networks=tuple(named))

    def __repr__(self) -> str:
        return f"LayerwiseTraining(widths={self.widths}, stopped={self.stopped!r})"


def train_layerwise(
    X: Any,
    max_width: int,
    depth: int,
    *,
    eta: float | Sequence[float] | None = None,
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
    start_from: TrainedNetwork | LayerwiseTraining | PGBN | str | Path | None = None,
    keep_states: bool = False,
    resume: Progress | None = None,
) -> LayerwiseTraining:
    """Train networks of 1, 2, …, ``depth`` layers on documents × terms ``X``.

    ``eta`` (0.05), ``burn_in`` (B_t) and ``collect`` (C_t) are one number or one for each layer;
    ``priors`` are the paper's, `pgbn.Priors()`, unless others are given. Φ of a
    trained network is the posterior mean (η + x) / Σ(η + x) given the counts of the last sweep,
    as in the paper, or its average over the last ``average`` ≤ C_t sweeps; r likewise. Training
    stops early at a layer of at most ``min_width`` factors, or with fewer than ``min_count`` counts
    in all. ``trace_every`` sweeps the log likelihood and the active width are noted (0: never).
    ``layer1`` is the sampler of the first layer (`Network.chain`). "auto" goes by X and
    ``max_width``: "collapsed" for counts, but "blocked" where counts are so large that it is many
    times cheaper, where there are more than 2^28 of them, and where cells are masked.
    ``start_from`` is a network, a training or a fitted estimator of the same documents, or the
    folder of one: layers are added to it, or, if it has ``depth`` layers already, it is trained C_T
    sweeps more. Its first layer keeps its width, which ``max_width`` must not be below; ``eta`` and
    ``priors`` are its own where they are left out (further layers: the topmost eta), and the rules
    that stop early hold for it too: then nothing is trained, and it is returned. Of its top layer
    they know the width, and of counts only that there are no more than in X.
    Only the deepest network keeps its state, unless ``keep_states``. ``resume`` goes
    on from where a callback saw a training with the same arguments: see `pgbn.checkpoint`.
    """
    depth, max_width = check_depth(depth), check_integer("max_width", max_width, 1)
    min_width = check_integer("min_width", min_width, 0)
    min_count = check_integer("min_count", min_count, 0)
    check_priors(priors)
    check_callback(callback)
    cells = read_training(X, link)
    if resume is None:
        networks = read_beginning(start_from, cells, depth, link)
    else:
        networks = _resumed(resume, cells, depth)
    if networks and resume is None:
        check_width(max_width, networks[-1])
    plan = Plan(
        max_width=max_width,
        depth=depth,
        eta=choose_eta(eta, depth, networks),
        burn_in=integers("burn_in", burn_in, depth),
        collect=integers("collect", collect, depth),
        link=link,
        seed=check_seed(seed),
        layer1=_sampler(cells, max_width, resume) if _is_open(layer1, link) else layer1,
        threads=threads,
        average=check_integer("average", average, 1),
        min_width=min_width,
        min_count=min_count,
        trace_every=check_integer("trace_every", trace_every, 0),
        priors=choose_priors(priors, networks),
        keep_states=keep_states,
        callbacks=[] if callback is None else [callback],
        clock=Clock(0),
        networks=networks,
    )
    if plan.average > min(plan.collect):
        raise DataError(f"average={average!r} must be at most collect={collect!r}")
    if not plan.networks:
        _check_room(plan, cells)
    plan.set_clock(resume)
    with live(progress) as meter:
        plan.callbacks.append(meter)
        stopped = run_plan(plan, cells, resume)
    return LayerwiseTraining(tuple(plan.networks), stopped)


def check_depth(depth: Any) -> int:
    if check_integer("depth", depth, 1) > MOST_LAYERS:
        raise DataError(f"depth={depth!r} must be at most {MOST_LAYERS}")
    return int(depth)


def check_priors(priors: Any) -> None:
    if not isinstance(priors, Priors | None):
        raise DataError(f"priors={priors!r}: give pgbn.Priors(...), or None for the paper's")


def check_callback(callback: Any) -> None:
    if callback is not None and not callable(callback):
        raise DataError(f"callback={callback!r}: give a function of one argument")


def read_training(X: Any, link: str) -> Cells:
    """The documents to train on, checked."""
    if isinstance(X, Cells):  # read before
        return X
    return read_array(observed_node(link, "X"), X)


def _is_open(layer1: Any, link: str) -> bool:
    """Whether the sampler of the first layer is to be chosen here; other links have but one."""
    return isinstance(layer1, str) and layer1 == "auto" and get_link(link).is_counts


def _sampler(cells: Cells, width: int, resume: Progress | None) -> str:
    """The sampler of the first layer for counts, for the whole training.

    It goes by the data and the width that training begins with, never by the threads or by widths
    after pruning: training at one go, resumed, or layer by layer are one and the same chain.
    """
    if resume is not None:  # what was chosen, though another version might choose otherwise
        chosen = resume.chain.layer1
        return "blocked" if chosen == "composed" else chosen
    tokens = cells.values.sum(dtype=np.float64)
    if cells.missing is not None or tokens > MOST_TOKENS or width >= MOST_TOPICS:
        return "blocked"
    large = blocked_is_cheaper(cells.values, cells.rows, cells.columns, width)
    return "blocked" if large else "collapsed"


def _check_room(plan: Plan, cells: Cells) -> None:
    """Refuse a first layer that memory cannot hold."""
    documents, terms = cells.shape
    sizes = {"doc": documents, "term": terms, "topic1": plan.max_width}
    network = plan.network((plan.max_width,))
    check_fits(network, sizes, argument=f"max_width={plan.max_width}: ")


def read_beginning(start: Any, cells: Cells, depth: int, link: str) -> list[TrainedNetwork]:
    """The networks to go on from, which must fit the documents and what is to be trained."""
    if start is None:
        return []
    found = start
    if isinstance(start, (str, Path)):
        from pgbn.storage.folders import load

        found = load(start)
    found = getattr(found, "training_", found)  # of an estimator
    networks = list(found) if isinstance(found, LayerwiseTraining) else [found]
    last = networks[-1]
    if not isinstance(last, TrainedNetwork):
        held = "" if found is start else f" holds a {type(found).__name__}"
        raise DataError(
            f"start_from={start!r:.80}{held}: give a trained network, a training, a fitted "
            "estimator, or the folder of one"
        )
    if last.link != link:
        raise DataError(f"start_from: its link is {last.link!r}, not link={link!r}")
    if last.depth > depth:
        raise DataError(
            f"start_from: it has {last.depth} layers, more than depth={depth}; give "
            f"depth={last.depth} to train it further, or start from a network of fewer layers"
        )
    if last.vocabulary_size != cells.columns:
        raise DataError(
            f"start_from: trained on {last.vocabulary_size} terms, but X has {cells.columns}; give "
            "the same X"
        )
    if any(name not in last.state for name in last.network().latent):
        raise DataError(
            "start_from: this network has no state to go on from; train it with keep_states=True, "
            "or start from the deepest network of a training"
        )
    documents = last.state["theta1"].shape[0]
    if documents != cells.rows:
        raise DataError(
            f"start_from: trained on {documents} documents, but X has {cells.rows}; give the same X"
        )
    return networks


def _resumed(resume: Any, cells: Cells, depth: int) -> list[TrainedNetwork]:
    """The networks that a training had when it was stopped."""
    if not isinstance(resume, Progress):
        raise DataError(
            f"resume={resume!r}: give the pgbn.Progress that a callback saw; for a folder with a "
            "checkpoint, use pgbn.resume(path)"
        )
    shape = resume.chain.program.cells["x"].shape
    if shape != cells.shape or resume.depth > depth:
        raise DataError(
            f"resume: a training of layer {resume.depth} on documents × terms {shape} does not fit "
            f"depth={depth} and X of {cells.shape}; give the arguments that it had"
        )
    return list(resume.networks)


def trained_so_far(
    at: Progress, eta: float | Sequence[float], link: str, priors: Priors
) -> LayerwiseTraining:
    """What a training that was stopped has: the layers below, and the new one as it stands."""
    etas, means = positives("eta", up_to(eta, at.depth), at.depth), Means()
    means.add(at.chain, etas)
    network = trained_at(at.chain, means, 1, at.trace, etas, link, priors)
    if at.networks:
        network = replace(network, vocabulary=at.networks[-1].vocabulary)
    below = tuple(each for each in at.networks if each.depth < at.depth)
    return LayerwiseTraining((*below, network), f"interrupted at sweep {at.done} of {at.total}")
