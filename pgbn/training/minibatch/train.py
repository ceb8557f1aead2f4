"""Training on minibatches, as users call it.

model = pgbn.train_minibatch(corpus, (200, 60, 20), held_out=X_test, save="run")
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.checks import check_flag, check_integer, check_place, is_finite_number
from pgbn.engine.data.cells import read_array
from pgbn.engine.data.coords import same_labels, term_labels
from pgbn.engine.run.progress import check_callback
from pgbn.errors import DataError, notify, tell
from pgbn.samplers.executor import executor_of
from pgbn.samplers.random import mix, stream_key, word_of
from pgbn.storage import folders
from pgbn.storage.blocks import Corpus
from pgbn.storage.runner import Runner, Timing
from pgbn.storage.stopping import stop_gently
from pgbn.training.averages import Means
from pgbn.training.growing import family_of, kept_nodes
from pgbn.training.kept_draws import is_kept
from pgbn.training.minibatch.learner import Learner, Local, Pace
from pgbn.training.minibatch.minibatch_files import KIND, check_same, commit, restore
from pgbn.training.minibatch.result import network_of
from pgbn.training.settings import Settings, budgets
from pgbn.training.trained import Priors, TrainedNetwork, observed_node
from pgbn.training.training_result import completion_of

# ---- order --------------------------------------------------------------------------------------
#
# The order in which rows are read: shuffled, by the seed alone, and from any place on.
#
# An epoch has every row once. Its blocks come in a random order, some of them are in memory at a
# time, and the rows of these are shuffled together: a corpus larger than memory is read block by
# block, and each block once an epoch. One epoch follows the other without a gap, and minibatch i
# has the rows i·n to (i + 1)·n − 1 of this sequence.


TOGETHER = 8  # blocks that are in memory at a time


def shuffled(count: int, *words: int) -> NDArray[np.int64]:
    """A random order of 0, …, count − 1, the one of these words."""
    key = np.uint64(stream_key(*words))
    with np.errstate(over="ignore"):
        word = key + np.uint64(0x9E3779B97F4A7C15) * np.arange(1, count + 1, dtype=np.uint64)
    return np.argsort(np.asarray(mix(mix(word))), kind="stable").astype(np.int64)


def minibatches(corpus: Corpus, size: int, seed: int, start: int = 0) -> Iterator[sp.csr_array]:
    """The minibatches from number ``start`` on, for ever."""
    parts: list[sp.csr_array] = []
    held = 0
    for rows in _rows(corpus, seed, start * size):
        parts.append(rows)
        held += rows.shape[0]
        while held >= size:
            whole = parts[0] if len(parts) == 1 else sp.csr_array(sp.vstack(parts, format="csr"))
            yield sp.csr_array(whole[:size])
            parts, held = [sp.csr_array(whole[size:])], held - size


def _rows(corpus: Corpus, seed: int, skip: int) -> Iterator[Any]:
    """The rows of all epochs in their order, without the first ``skip``, some at a time."""
    total = corpus.shape[0]
    epoch, skip = divmod(skip, total)
    while True:
        blocks = shuffled(corpus.block_count, seed, word_of("blocks"), epoch)
        for group in range(0, blocks.size, TOGETHER):
            chosen = blocks[group : group + TOGETHER]
            length = sum(_length(corpus, int(number)) for number in chosen)
            if skip >= length:
                skip -= length
                continue
            order = shuffled(length, seed, word_of("rows"), epoch, group)[skip:]
            skip = 0
            whole = sp.vstack([corpus.block(int(number)) for number in chosen], format="csr")
            yield sp.csr_array(whole)[order]
        epoch += 1


def _length(corpus: Corpus, number: int) -> int:
    """The rows of a block."""
    return min(corpus.block_rows, corpus.shape[0] - number * corpus.block_rows)


# ---- settings -----------------------------------------------------------------------------------
#
# The settings of a training on minibatches, checked once.


@dataclass(frozen=True)
class MinibatchSettings:
    """``model`` has the widths, eta, link, priors and the seed."""

    model: Settings
    batch_size: int
    steps: int
    collect: int
    keep_draws: int
    pace: Pace

    @classmethod
    def of(
        cls,
        widths: int | Sequence[int],
        *,
        eta: float | Sequence[float] | None,
        link: str,
        priors: Priors | None,
        seed: int,
        batch_size: int,
        steps: int,
        collect: int | None,
        keep_draws: int,
        first_step: float,
        delay: float,
        decay: float,
        local_burn_in: int,
        local_samples: int,
    ) -> MinibatchSettings:
        """From the arguments of `train_minibatch`."""
        found = budgets("widths", widths, 1)
        layers = (found,) if isinstance(found, int) else found
        model = Settings(layers, len(layers), eta=eta, link=link, seed=seed, priors=priors,
                            min_width=1)  # fmt: skip
        check_integer("batch_size", batch_size, 1)
        check_integer("steps", steps, 1)
        collect = (steps + 1) // 2 if collect is None else collect
        if check_integer("collect", collect, 1) > steps:
            raise DataError(f"collect={collect!r} must be at most steps={steps!r}")
        if check_integer("keep_draws", keep_draws, 0) > collect:
            raise DataError(f"keep_draws={keep_draws!r} must be at most collect={collect!r}")
        if not is_finite_number(first_step) or not 0 < first_step <= 1:
            raise DataError(f"first_step={first_step!r}: give a number above 0, at most 1")
        if not is_finite_number(delay) or not delay > 0:
            raise DataError(f"delay={delay!r}: give a number of steps above 0, such as 10")
        if not is_finite_number(decay) or not 0.5 < decay <= 1:
            raise DataError(
                f"decay={decay!r}: give a number above 0.5 and at most 1; steps that shrink more "
                "slowly or faster do not converge"
            )
        pace = Pace(float(first_step), float(delay), float(decay),
                    check_integer("local_burn_in", local_burn_in, 0),
                    check_integer("local_samples", local_samples, 1))  # fmt: skip
        return cls(model, int(batch_size), int(steps), int(collect), int(keep_draws), pace)

    @property
    def widths(self) -> tuple[int, ...]:
        widths = self.model.max_width
        assert isinstance(widths, tuple)
        return widths

    def content(self) -> dict[str, Any]:
        """As JSON, to be compared."""
        own = {name: getattr(self, name) for name in
               ("batch_size", "steps", "collect", "keep_draws")}  # fmt: skip
        return {"model": self.model.content(), "pace": asdict(self.pace), **own}


# ---- train --------------------------------------------------------------------------------------


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
    content = settings.content() | {"data": _data_content(corpus)}
    path, timing = check_place("save", save), Timing(minutes, share=2.0)
    with Runner(path, KIND, content, timing) as runner:
        check_same(runner)
        if runner.body is not None and not runner.committed:
            found: TrainedNetwork = folders.load(path)  # the result of the same training
            return found
        return run.go(runner)


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

    def go(self, runner: Runner | None = None) -> TrainedNetwork:
        """All steps, or those that are left of a training that was stopped."""
        learner, total, begun = self.learner, self.settings.steps, time.monotonic()
        if runner is not None and runner.committed:
            kept = restore(runner, learner, self.corpus.shape[1])
            self.means.sums, self.means.draws, self.watch.rows = kept.sums, kept.draws, kept.rows
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
                if runner is not None and learner.steps < total:
                    save = partial(commit, runner, learner, self.means, self.watch.rows)
                    runner.rhythms[0].tick(save, stop.requested)
                if stop.requested and learner.steps < total:
                    raise stop.interrupted(
                        f"stopped after step {learner.steps} of {total}"
                        + (" and saved; the same call goes on" if runner is not None else "")
                    )
            assert local is not None
            result = self._result(local)
            if runner is not None:
                record = {KIND: runner.settings}
                folders.save(result, runner.path, vocabulary=self.corpus.vocabulary, record=record)
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
