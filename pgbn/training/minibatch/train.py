"""Training on minibatches, as users call it.

model = pgbn.train_minibatch(corpus, (200, 60, 20), held_out=X_test, save="run")
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from pgbn.checks import check_flag, check_integer
from pgbn.engine.data.cells import read_array
from pgbn.engine.data.coords import same_labels, term_labels
from pgbn.engine.run.progress import check_callback
from pgbn.engine.run.stopping import stop_gently
from pgbn.errors import DataError, notify, tell
from pgbn.samplers.executor import executor_of
from pgbn.storage.blocks import Corpus
from pgbn.training.averages import Means
from pgbn.training.belief import family_of, kept_nodes
from pgbn.training.kept_draws import is_kept
from pgbn.training.minibatch.learner import Learner
from pgbn.training.minibatch.local import Local
from pgbn.training.minibatch.order import minibatches
from pgbn.training.minibatch.result import network_of
from pgbn.training.minibatch.saving import Store
from pgbn.training.minibatch.settings import MinibatchSettings
from pgbn.training.trained import Priors, TrainedNetwork, observed_node
from pgbn.training.verbs import completion_of

__all__ = ["MinibatchEvent", "train_minibatch"]

ROWS = "doc"
BEGIN_ROWS, BEGIN_SWEEPS = 4096, 100
PERPLEXITY, STEP = "perplexity", "sweep"


@dataclass(frozen=True)
class MinibatchEvent:
    """The end of a step: number ``step`` of ``steps``, ``seconds`` after the start; ``perplexity``
    of the held-out documents if it was computed after this step; the ``learner`` itself."""

    step: int
    steps: int
    seconds: float
    perplexity: float | None
    learner: Learner


def train_minibatch(
    X: Any,
    widths: int | Sequence[int],
    *,
    eta: float | Sequence[float] | None = None,
    link: str = "poisson",
    priors: Priors | None = None,
    batch_size: int = 512,
    steps: int = 1000,
    collect: int | None = None,
    keep_draws: int = 0,
    first_step: float = 0.5,
    delay: float = 20.0,
    decay: float = 0.6,
    local_burn_in: int = 10,
    local_samples: int = 5,
    seed: int = 0,
    threads: int | None = None,
    held_out: Any = None,
    show_every: int = 100,
    callback: Callable[[MinibatchEvent], None] | None = None,
    progress: bool = True,
    save: str | Path | None = None,
    minutes: float = 5.0,
) -> TrainedNetwork:
    """Train a belief network of ``widths`` on minibatches of ``batch_size`` documents of ``X``, a
    `pgbn.Corpus` or documents × terms: stochastic-gradient MCMC with topic-layer-adaptive steps
    (docs/howto/minibatch.md says what is approximate).

    It begins with Gibbs sampling of the first 4,096 documents. Each of the ``steps`` runs
    ``local_burn_in`` + ``local_samples`` sweeps over a minibatch, and moves what all documents
    share by ε_i = ``first_step`` · (1 + i/``delay``)^−``decay``. Means of Φ and r are over
    the last ``collect`` steps (the last half), of which ``keep_draws`` draws are kept. Widths stay
    as they are. Layers above the first take their steps T times in a sweep of T layers.
    ``held_out`` are documents whose perplexity (half of the tokens of each are seen) is shown and
    noted in ``traces`` every ``show_every`` steps. ``callback`` gets a `MinibatchEvent` after
    each step. With ``save``, a folder, a checkpoint is written every ``minutes`` minutes, and the
    result at the end: the same call goes on from there, with the same bits.
    """
    settings = MinibatchSettings.of(
        widths, eta=eta, link=link, priors=priors, seed=seed, batch_size=batch_size, steps=steps,
        collect=collect, keep_draws=keep_draws, first_step=first_step, delay=delay, decay=decay,
        local_burn_in=local_burn_in, local_samples=local_samples,
    )  # fmt: skip
    check_callback(callback)
    check_integer("show_every", show_every, 1)
    corpus = as_corpus(X, settings.model.link)
    if not corpus.total:
        notify("X has no counts: all cells are 0, and what is trained is the prior")
    if held_out is not None:
        held_out = _check_held_out(
            held_out, settings.model.link, corpus.shape[1], corpus.vocabulary
        )
    run = _Run(settings, corpus, threads, _Watch(held_out, int(show_every), progress), callback)
    if save is None:
        return run.go()
    with Store(save, settings.content() | {"data": _data_content(corpus)}, minutes) as store:
        return store.finished() or run.go(store)


def as_corpus(X: Any, link: str) -> Corpus:
    """A corpus as it is; documents × terms, checked, as a corpus in memory."""
    if isinstance(X, Corpus):
        if not X.shape[0]:
            raise DataError("X: the corpus has no documents")
        return X
    cells = read_array(observed_node(link), X, imputed=False)
    counts = sp.csr_array((cells.values, cells.indices, cells.indptr), shape=cells.shape)
    return Corpus(counts, term_labels(cells), [])


def _check_held_out(X: Any, link: str, terms: int, names: Any = None) -> sp.csr_array:
    """Documents × the same terms, with counts: before the training, which may take long."""
    cells = read_array(observed_node(link, "held_out"), X, imputed=False)
    if names is not None:
        same_labels("held_out", cells.labels, {cells.dims[-1]: names}, "X")
    if cells.shape[1] != terms:
        raise DataError(f"held_out has {cells.shape[1]} columns, but X has {terms} terms")
    if not cells.values.any():
        raise DataError("held_out has no counts: all cells are 0; give documents with words")
    return sp.csr_array((cells.values, cells.indices, cells.indptr), shape=cells.shape)


def _data_content(corpus: Corpus) -> list[float]:
    """What tells other data."""
    return [*corpus.shape, corpus.entries, corpus.total]


class _Watch:
    """The perplexity of documents that are not trained on, now and then."""

    def __init__(self, held_out: Any, every: int, shown: bool) -> None:
        self.held_out, self.every, self.shown = held_out, every, check_flag("progress", shown)
        self.rows: list[tuple[float, float]] = []

    def __call__(self, step: int, steps: int, make: Callable[[], TrainedNetwork]) -> float | None:
        if step % self.every and step != steps:
            return None
        found = None
        if self.held_out is not None:
            found = completion_of(make(), self.held_out)
            self.rows.append((step, found))
        if self.shown:
            words = "" if found is None else f", held-out perplexity {found:.1f}"
            tell(f"step {step} of {steps}{words}")
        return found


@dataclass
class _Run:
    """A training: its learner, and what is collected of it."""

    settings: MinibatchSettings
    corpus: Corpus
    threads: int | None
    watch: _Watch
    callback: Callable[[MinibatchEvent], None] | None
    means: Means = field(default_factory=Means)

    def __post_init__(self) -> None:
        model = self.settings.model
        self.network = family_of(model).network(self.settings.widths)
        self.names = kept_nodes(self.network)
        executor = executor_of(self.threads)
        self.learner = Learner(self.network, ROWS, model.seed, self.settings.pace, executor)
        self.size = min(self.settings.batch_size, self.corpus.shape[0])

    def go(self, store: Store | None = None) -> TrainedNetwork:
        """All steps, or those that are left of a training that was stopped."""
        learner, total, begun = self.learner, self.settings.steps, time.monotonic()
        if store is not None:
            self.means.sums, self.means.draws, self.watch.rows = store.restore(
                learner, self.corpus.shape[1]
            )
        scale, observed = self.corpus.shape[0] / self.size, self.network.observed[0]
        if not learner.has_begun:
            self._begin(observed)
        batches = minibatches(self.corpus, self.size, learner.seed, learner.steps)
        local: Local | None = None
        with stop_gently() as stop:
            while learner.steps < total:
                local = learner.step({observed: next(batches)}, scale)
                self._collect()
                found = self.watch(learner.steps, total, partial(self._result, local, now=True))
                if self.callback is not None:
                    seconds = time.monotonic() - begun
                    event = MinibatchEvent(learner.steps, total, seconds, found, learner)
                    self.callback(event)
                if store is not None and learner.steps < total:
                    store.note(learner, self.means, self.watch.rows, stop.requested)
                if stop.requested and learner.steps < total:
                    raise stop.interrupted(
                        f"stopped after step {learner.steps} of {total}"
                        + (" and saved; the same call goes on" if store is not None else "")
                    )
            assert local is not None
            result = self._result(local)
            if store is not None:
                store.finish(result, self.corpus.vocabulary)
                if stop.requested:
                    raise stop.interrupted(f"stopped after all {total} steps; the result is saved")
        return result

    def _begin(self, observed: str) -> None:
        """A Gibbs chain on the rows that come first."""
        rows = min(BEGIN_ROWS, self.corpus.shape[0])
        first = next(minibatches(self.corpus, rows, self.learner.seed))
        self.learner.begin({observed: first}, self.corpus.shape[0] / rows, BEGIN_SWEEPS)

    def _collect(self) -> None:
        settings, learner = self.settings, self.learner
        number = learner.steps - (settings.steps - settings.collect)
        if number < 1:
            return
        for name in self.names:
            mean = learner.mean(name)
            self.means.sums[name] = self.means.sums.get(name, 0.0) + mean
        if is_kept(number, settings.collect, settings.keep_draws):
            self.means.draws.append(learner.draw(self.names))

    def _result(self, local: Local, now: bool = False) -> TrainedNetwork:
        """The network with the means over the steps that were collected, or as it is ``now``."""
        means = None if now else self.means
        samples = 1 if now else self.settings.collect
        scale, names = self.corpus.shape[0] / self.size, self.corpus.vocabulary
        found = network_of(self.learner, local, self.settings.model, scale, means, samples, names)
        if not self.watch.rows:
            return found
        table = np.array(self.watch.rows, np.float64)
        return replace(found, traces={STEP: table[:, 0], PERPLEXITY: table[:, 1]})
