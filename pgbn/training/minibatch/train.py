"""Training on minibatches, as users call it.

model = pgbn.train_minibatch(corpus, (200, 60, 20), held_out=X_test, save="run")
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.checks import Count, Flag, Sweeps, check_integer, check_place, validated
from pgbn.engine.data.reading import read_array, same_labels, term_labels
from pgbn.engine.run.chain import stop_gently
from pgbn.engine.run.progress import check_callback
from pgbn.errors import DataError, StorageError, notify, tell
from pgbn.network.network import Network
from pgbn.samplers.executor import executor_of
from pgbn.samplers.random import mix, stream_key, word_of
from pgbn.storage import folders
from pgbn.storage.archive import Files, register_unloadable
from pgbn.storage.corpus import Corpus
from pgbn.storage.runner import Runner, Timing
from pgbn.training.growing import kept_nodes, trained_at
from pgbn.training.kept_draws import Means, Trace, is_kept
from pgbn.training.minibatch.learner import Learner, Local, Pace
from pgbn.training.numbering import numbered_by_weight
from pgbn.training.settings import Settings, budgets
from pgbn.training.trained import LARGEST, Priors, TrainedNetwork, check_shapes, observed_node
from pgbn.training.training_files import under
from pgbn.training.training_result import completion_of
from pgbn.zoo import layers

KIND = "minibatch"
BEGIN_ROWS, BEGIN_SWEEPS = 4096, 100
PERPLEXITY, STEP = "perplexity", "sweep"
TABLES = ("values", "counts", "exposures")  # of a learner
Array = NDArray[np.float64]


# ---- the order in which rows are read: shuffled, by the seed alone, from any position -------
#
# An epoch has every row once. Its blocks come in a random order; some of them are in memory at a
# time, and their rows are shuffled together. So a corpus larger than memory is read block by block,
# and each block once an epoch. Epochs follow each other without a gap, and minibatch i has the rows
# i·n to (i + 1)·n − 1 of this sequence.

TOGETHER = 8  # blocks that are in memory at a time


def shuffled(count: int, *words: int) -> NDArray[np.int64]:
    """A random order of 0, …, count − 1, determined by the words."""
    key = np.uint64(stream_key(*words))
    with np.errstate(over="ignore"):
        word = key + np.uint64(0x9E3779B97F4A7C15) * np.arange(1, count + 1, dtype=np.uint64)
    return np.argsort(np.asarray(mix(mix(word))), kind="stable").astype(np.int64)


def minibatches(corpus: Corpus, size: int, seed: int, start: int = 0) -> Iterator[sp.csr_array]:
    """The minibatches from number ``start`` on, for ever."""
    parts: list[sp.csr_array] = []
    waiting = 0
    for rows in _rows(corpus, seed, start * size):
        parts.append(rows)
        waiting += rows.shape[0]
        while waiting >= size:
            joined = parts[0] if len(parts) == 1 else sp.csr_array(sp.vstack(parts, format="csr"))
            yield sp.csr_array(joined[:size])
            parts, waiting = [sp.csr_array(joined[size:])], waiting - size


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
            rows = sp.vstack([corpus.block(int(number)) for number in chosen], format="csr")
            yield sp.csr_array(rows)[order]
        epoch += 1


def _length(corpus: Corpus, number: int) -> int:
    """The rows of a block."""
    return min(corpus.block_rows, corpus.shape[0] - number * corpus.block_rows)


# ---- training -----------------------------------------------------------------------------


@dataclass(frozen=True)
class MinibatchEvent:
    """The end of a step, which the ``callback`` of `pgbn.train_minibatch` receives.

    Attributes
    ----------
    step : int
        The number of the step, from 1 on.
    steps : int
        The number of all steps.
    seconds : float
        The time since the start.
    perplexity : float or None
        That of the held-out documents, if this step computed it.
    learner : Learner
        The learner itself, with the current ``values`` by node.

    Examples
    --------
    >>> X = np.random.default_rng(0).poisson(1.0, (20, 12))
    >>> found = []
    >>> few = dict(steps=2, batch_size=5, progress=False)
    >>> model = pgbn.train_minibatch(X, 3, callback=lambda event: found.append(event.step), **few)
    >>> found
    [1, 2]
    """

    step: int
    steps: int
    seconds: float
    perplexity: float | None
    learner: Learner


@validated
def train_minibatch(
    X: Any,
    widths: int | Sequence[int],
    *,
    eta: float | Sequence[float] | None = None,
    link: str = "poisson",
    priors: Priors | None = None,
    batch_size: Count = 512,
    steps: Count = 1000,
    average: Count | None = None,
    keep_draws: Sweeps = 0,
    first_step: float = 0.5,
    delay: float = 20.0,
    decay: float = 0.6,
    local_burn_in: Sweeps = 10,
    local_draws: Count = 5,
    seed: int = 0,
    threads: int | None = None,
    held_out: Any = None,
    show_every: Count = 100,
    callback: Callable[[MinibatchEvent], None] | None = None,
    progress: Flag = True,
    save: str | Path | None = None,
    minutes: float = 5.0,
) -> TrainedNetwork:
    """Train a belief network on minibatches: stochastic-gradient MCMC.

    Training starts with Gibbs sampling of the first 4,096 documents. Each step samples a minibatch
    of documents. It then moves the parameters that all documents share by ε_i = ``first_step`` ·
    (1 + i/``delay``)^−``decay``. Layers above the first take their steps T times in a sweep of T
    layers. Widths do not change. docs/howto/minibatch.md says what is approximate.

    Parameters
    ----------
    X : Corpus or documents × terms
        The documents.
    widths : int or sequence of int
        The number of topics of each layer, from the first up.
    eta : float or sequence of float, optional
        The Dirichlet parameter of the topics, for all layers or for each; by default 0.05.
    link : str
        "poisson" for counts, "bernoulli" for 0/1, "gamma" for reals of at least 0, or the name of a
        link of your own.
    priors : Priors, optional
        The other constants of the model.
    batch_size : int
        The documents of a minibatch.
    steps : int
        The number of steps.
    average : int, optional
        The number of last steps over which Φ and r are averaged; by default half of them.
    keep_draws : int
        How many draws of these steps are kept.
    first_step, delay, decay : float
        The constants of ε_i.
    local_burn_in, local_draws : int
        The sweeps over a minibatch in each step: those before, and those that are averaged.
    seed : int
        The seed.
    threads : int, optional
        The number of threads. The results do not depend on it.
    held_out : documents × terms, optional
        Documents that are not trained on. Their perplexity is shown and recorded in ``traces``;
        half of the tokens of each are seen.
    show_every : int
        The steps from one such perplexity to the next.
    callback : callable, optional
        A function that receives a `MinibatchEvent` after each step.
    progress : bool
        Whether progress is shown.
    save : str or Path, optional
        A folder for checkpoints, and for the result at the end. The same call continues from there,
        bit-identically.
    minutes : float
        The minutes from one checkpoint to the next.

    Returns
    -------
    TrainedNetwork
        The network with the averages of Φ and r.

    Examples
    --------
    >>> X = np.random.default_rng(0).poisson(1.0, (20, 12))
    >>> model = pgbn.train_minibatch(X, (4, 2), steps=4, batch_size=5, progress=False)
    >>> model.widths
    (4, 2)
    """
    found = budgets("widths", widths, 1)
    each = (found,) if isinstance(found, int) else found
    model = Settings(each, len(each), eta=eta, link=link, seed=seed, priors=priors, min_width=1)
    average = (steps + 1) // 2 if average is None else average
    if average > steps:
        raise DataError(f"average={average!r} must be at most steps={steps!r}")
    if keep_draws > average:
        raise DataError(f"keep_draws={keep_draws!r} must be at most average={average!r}")
    pace = Pace(first_step, delay, decay, local_burn_in, local_draws)
    check_callback(callback)
    corpus = as_corpus(X, link)
    if not corpus.total:
        notify("X has no counts: all cells are 0, so training samples the prior")
    if held_out is not None:
        held_out = _check_held_out(held_out, link, corpus)
    run = _Run(
        model=model, pace=pace, batch_size=batch_size, steps=steps, average=average,
        keep_draws=keep_draws, corpus=corpus, threads=threads, held_out=held_out,
        show_every=show_every, shown=progress, callback=callback,
    )  # fmt: skip
    if save is None:
        return run.go()
    with Runner(check_place("save", save), KIND, run.content(), Timing(minutes, share=2.0)) as at:
        if at.body is not None and (other := at.other_setting()) is not None:
            raise DataError(
                f"save={str(at.path)!r}: there is another {at.body['kind']}"
                + (f", with another {other}" if other else "")
                + "; name another folder, or give the same arguments and data"
            )
        if at.body is not None and not at.committed:
            done: TrainedNetwork = folders.load(at.path)  # the result of the same training
            return done
        return run.go(at)


def as_corpus(X: Any, link: str) -> Corpus:
    """A corpus as it is; documents × terms, checked, as a corpus in memory."""
    if isinstance(X, Corpus):
        if not X.shape[0]:
            raise DataError("X: the corpus has no documents")
        return X
    cells = read_array(observed_node(link), X, imputed=False)
    counts = sp.csr_array((cells.values, cells.indices, cells.indptr), shape=cells.shape)
    return Corpus(counts, term_labels(cells), [])


def _check_held_out(X: Any, link: str, corpus: Corpus) -> sp.csr_array:
    """Documents over the same terms, with counts; they are checked before the training, which may
    take long."""
    cells = read_array(observed_node(link, "held_out"), X, imputed=False)
    if corpus.vocabulary is not None:
        same_labels("held_out", cells.labels, {cells.dims[-1]: corpus.vocabulary}, "X")
    if cells.shape[1] != corpus.shape[1]:
        terms = corpus.shape[1]
        raise DataError(f"held_out has {cells.shape[1]} columns, but X has {terms} terms")
    if not cells.values.any():
        raise DataError("held_out has no counts: all cells are 0; give documents with words")
    return sp.csr_array((cells.values, cells.indices, cells.indptr), shape=cells.shape)


@dataclass
class _Run:
    """A training: its settings, its learner, and what it has collected. ``rows`` are steps with the
    perplexity of the ``held_out`` documents after each."""

    model: Settings
    pace: Pace
    batch_size: int
    steps: int
    average: int
    keep_draws: int
    corpus: Corpus
    threads: int | None
    held_out: Any
    show_every: int
    shown: bool
    callback: Callable[[MinibatchEvent], None] | None
    means: Means = field(default_factory=Means)
    rows: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.network = self.model.grown.network(self.model.max_width)
        self.names = kept_nodes(self.network)
        executor = executor_of(self.threads)
        self.learner = Learner(self.network, layers.DOCUMENT, self.model.seed, self.pace, executor)
        self.size = min(self.batch_size, self.corpus.shape[0])

    def content(self) -> dict[str, Any]:
        """The settings as JSON, for comparison, with a digest that identifies the data."""
        own = {name: getattr(self, name) for name in ("batch_size", "steps", "average",
                                                      "keep_draws")}  # fmt: skip
        data = [*self.corpus.shape, self.corpus.entries, self.corpus.total]
        return {"model": self.model.content(), "pace": asdict(self.pace), **own, "data": data}

    def go(self, runner: Runner | None = None) -> TrainedNetwork:
        """Run all steps, or the remaining ones of a training that was stopped."""
        learner, total, begun = self.learner, self.steps, time.monotonic()
        if runner is not None and runner.committed:
            restore(runner, self)
        scale, observed = self.corpus.shape[0] / self.size, self.network.observed[0]
        if not learner.has_begun:  # a Gibbs chain on the rows that come first
            rows = min(BEGIN_ROWS, self.corpus.shape[0])
            first = next(minibatches(self.corpus, rows, learner.seed))
            learner.begin({observed: first}, self.corpus.shape[0] / rows, BEGIN_SWEEPS)
        batches = minibatches(self.corpus, self.size, learner.seed, learner.steps)
        with stop_gently() as stop:
            while learner.steps < total:
                local = learner.step({observed: next(batches)}, scale)
                self._collect()
                found = self._watch(local)
                if self.callback is not None:
                    seconds = time.monotonic() - begun
                    self.callback(MinibatchEvent(learner.steps, total, seconds, found, learner))
                if learner.steps == total:
                    break
                if runner is not None:
                    runner.rhythms[0].tick(lambda: commit(runner, self), stop.requested)
                if stop.requested:
                    raise stop.interrupted(
                        f"stopped after step {learner.steps} of {total}"
                        + (" and saved; the same call continues" if runner is not None else "")
                    )
            result = numbered_by_weight(self._result(local))
            if runner is not None:
                record = {KIND: runner.settings}
                folders.save(result, runner.path, vocabulary=self.corpus.vocabulary, record=record)
                if stop.requested:
                    raise stop.interrupted(f"stopped after all {total} steps; the result is saved")
        return result

    def _collect(self) -> None:
        learner = self.learner
        number = learner.steps - (self.steps - self.average)
        if number < 1:
            return
        for name in self.names:
            self.means.sums[name] = self.means.sums.get(name, 0.0) + learner.mean(name)
        if is_kept(number, self.average, self.keep_draws):
            self.means.draws.append(learner.draw(self.names))

    def _watch(self, local: Local) -> float | None:
        """The perplexity of documents that are not in the training, every few steps."""
        step, found = self.learner.steps, None
        if step % self.show_every and step != self.steps:
            return None
        if self.held_out is not None:
            scale = self.corpus.shape[0] / self.size
            found = completion_of(network_of(self.learner, local, self.model, scale), self.held_out)
            self.rows.append((step, found))
        if self.shown:
            words = "" if found is None else f", held-out perplexity {found:.1f}"
            tell(f"step {step} of {self.steps}{words}")
        return found

    def _result(self, local: Local) -> TrainedNetwork:
        """The network with the means over the steps that were collected."""
        scale, names = self.corpus.shape[0] / self.size, self.corpus.vocabulary
        found = network_of(self.learner, local, self.model, scale, self.means, self.average, names)
        if not self.rows:
            return found
        table = np.array(self.rows, np.float64)
        return replace(found, traces={STEP: table[:, 0], PERPLEXITY: table[:, 1]})


def network_of(
    learner: Learner,
    local: Local,
    model: Settings,
    scale: float,
    means: Means | None = None,
    samples: int = 1,
    vocabulary: Sequence[str] | None = None,
) -> TrainedNetwork:
    """The network with means over some samples, or with the current values. Rates and weights are
    of the last minibatch; there are ``scale`` times as many rows in all."""
    if means is None:
        means = Means({name: learner.mean(name) for name in kept_nodes(learner.network)})
    found = trained_at(local.chain, means, samples, Trace(0), model)
    return replace(
        found,
        weights=tuple(scale * weight for weight in found.weights),
        traces={},
        state={},
        sweeps=learner.steps,
        vocabulary=vocabulary,
    )


@dataclass
class Arriving:
    """A learner of a belief network for documents that arrive in batches, of unknown number. The
    new documents are a minibatch of the N documents ``seen`` so far, so their evidence counts N/n
    times. A minibatch has at most ``size`` documents. The first batch is sampled by Gibbs."""

    learner: Learner
    model: Settings
    size: int
    seen: int = 0

    def learn(self, X: sp.csr_array) -> TrainedNetwork:
        """The network after some more documents."""
        observed, local = self.learner.network.observed[0], None
        self.seen += X.shape[0]
        if not self.learner.has_begun:
            self.learner.begin({observed: X}, 1.0, BEGIN_SWEEPS)
        for start in range(0, X.shape[0], self.size):
            batch = sp.csr_array(X[start : start + self.size])
            local = self.learner.step({observed: batch}, self.seen / batch.shape[0])
        assert isinstance(local, Local)
        rows = local.chain._program.cells[observed].rows
        return numbered_by_weight(network_of(self.learner, local, self.model, self.seen / rows))


# ---- checkpoints: the writer of each field, and its reader --------------------------------
#
# object    steps, kept (how many draws)
# state     values/…, counts/… and exposures/… of the learner, sum/… and kept/0/… of what was
#           collected, and the perplexities that were noted


def commit(runner: Runner, run: _Run) -> None:
    """Write a checkpoint."""
    learner, means = run.learner, run.means
    arrays: dict[str, Any] = {"rows": np.array(run.rows, np.float64).reshape(-1, 2)}
    for table in TABLES:
        arrays |= {f"{table}/{name}": a for name, a in getattr(learner, table).items()}
    arrays |= {f"sum/{name}": total for name, total in means.sums.items()}
    for number, draw in enumerate(means.draws):
        arrays |= {f"kept/{number}/{name}": value for name, value in draw.items()}
    runner.commit({"steps": learner.steps, "kept": len(means.draws)}, {"state": arrays})


def restore(runner: Runner, run: _Run) -> None:
    """Put a training where its last checkpoint was taken. Nothing in it is trusted: names, shapes
    and values must be those of a learner after that many steps."""

    def read(body: Mapping[str, Any], files: Files) -> None:
        place, arrays, learner = runner.resume(), files("state"), run.learner
        steps = check_integer("damaged: steps", place["steps"], 1)
        if steps >= run.steps:
            raise StorageError(f"damaged: {steps} of {run.steps} steps are done")
        network, roles = learner.network, learner.roles
        sizes = {network[network.observed[0]].axes[1]: run.corpus.shape[1]}
        values, counts, exposures = (under(f"{table}/", arrays) for table in TABLES)
        received = (*roles.proportions, *roles.received)
        _check_values("values", network, values, roles.shared, sizes)
        _check_values("counts", network, counts, received, sizes, possible=False)
        if set(exposures) != set(received):
            raise StorageError("damaged: the exposures are not those of a checkpoint")
        # of proportions, which need none, a 0 without dims
        some = {name: a for name, a in exposures.items() if name in roles.received or np.ndim(a)}
        _check_values("exposures", network, some, roles.received, sizes, possible=False)
        number = steps - (run.steps - run.average)
        sums = under("sum/", arrays)
        means = {name: total / max(number, 1) for name, total in sums.items()}
        _check_values("sums", network, means, run.names if number > 0 else (), sizes)
        noted = sum(is_kept(n, run.average, run.keep_draws) for n in range(1, number + 1))
        if check_integer("damaged: kept", place["kept"], 0) != noted:
            raise StorageError(f"damaged: {place['kept']} draws after {steps} steps, not {noted}")
        draws = [under(f"kept/{s}/", arrays) for s in range(noted)]
        for draw in draws:
            _check_values("draws", network, draw, run.names, sizes)
        table = arrays["rows"]
        if table.ndim != 2 or table.shape[1] != 2 or not np.isfinite(table).all():
            raise StorageError("damaged: the perplexities are not pairs of numbers")
        learner.steps, learner.values = steps, values
        learner.counts, learner.exposures = counts, exposures
        run.means, run.rows = Means(sums, draws), [(float(a), float(b)) for a, b in table]

    folders.read_folder(runner.path, read)


def _check_values(
    what: str,
    network: Network,
    arrays: Mapping[str, Array],
    names: Sequence[str],
    sizes: Mapping[str, int],
    possible: bool = True,
) -> None:
    """Check that there are floats of exactly these nodes, with their dims. Their values satisfy
    ``possible``, or else are in the range of counts."""
    if set(arrays) != set(names):
        raise StorageError(f"damaged: {what} of {sorted(arrays)}, not of {sorted(names)}")
    check_shapes(f"damaged: {what}", network, arrays, sizes)
    for name, array in arrays.items():
        node: Any = network[name]
        complaint = node.refuses(array) if possible else None
        if array.dtype != np.float64 or not ((array >= 0) & (array <= LARGEST)).all() or complaint:
            why = complaint or f"has values that are not counts, or are above {LARGEST:g}"
            raise StorageError(f"damaged: {what}: {name} {why}")


register_unloadable(
    KIND,
    lambda path: (
        "a training on minibatches that has not ended; call pgbn.train_minibatch again with the "
        f"same arguments and save={str(path)!r}: it continues"
    ),
)
