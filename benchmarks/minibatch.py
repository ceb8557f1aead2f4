"""Minibatches beside Gibbs sampling, and the features of many documents: parts of
`benchmarks.scale`.

``perplexity``: both are trained on the training documents of 20newsgroups, or on one in ``part``;
80 % of the tokens of test documents are seen, and the others scored, given the mean of Φ and given
as many draws of Φ from both (minibatches: of the last half of the steps). On the way, against CPU
seconds of training: the perplexity of further test documents, half of each seen, given one Φ. With
a corpus of ``build`` documents that it does not have are scored, and Gibbs runs on disk.
``features``: short documents are drawn from a network block by block, built into a corpus, and
their features written to a file; with the documents a second and the largest memory.
"""

import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import pgbn
from benchmarks.drawn import unseen_block
from benchmarks.memory import peak
from examples.paper.corpora import load_newsgroups
from pgbn.evaluation import HeldOut, split_tokens

__all__ = ["features", "perplexity"]

ETA = 0.05
SWEEPS = 100  # to settle, and as many to score, for documents that are scored in the end
NOTES = 10  # on the way, for each of the two


class Watch:
    """Perplexity on the way, against CPU seconds without those of scoring."""

    def __init__(self, name, documents):
        self.name, self.documents, self.line = name, documents, []
        self.begun = time.process_time()

    def note(self, model):
        now = time.process_time()
        found = HeldOut.of_model(model, self.documents, burn_in=50, draws=50, seed=1)
        self.line.append((now - self.begun, found.perplexity()))
        print(f"{self.name}: {self.line[-1][0]:.1f} CPU s, {self.line[-1][1]:.1f}", flush=True)
        self.begun += time.process_time() - now

    @property
    def seconds(self):
        return time.process_time() - self.begun


def by_minibatches(X, arguments, watch):
    """A training on minibatches."""
    pace = {name: getattr(arguments, name) for name in ("first_step", "delay")
            if getattr(arguments, name)}  # fmt: skip

    def callback(event):
        if event.step % max(1, arguments.steps // NOTES) == 0:
            learner = event.learner
            phi = [learner.mean(f"phi{t + 1}") for t in range(len(arguments.widths))]
            watch.note(
                pgbn.TrainedNetwork.of_topics(tuple(phi), learner.values["r"], np.ones(len(phi)))
            )

    return pgbn.train_minibatch(
        X, tuple(arguments.widths), steps=arguments.steps, keep_draws=arguments.draws,
        batch_size=arguments.batch, seed=1, progress=False, callback=callback, **pace,
    )  # fmt: skip


def by_gibbs(X, arguments, watch, executor):
    """Gibbs sampling, layer by layer."""
    depth = len(arguments.widths)
    total = depth * (arguments.burn_in + arguments.sweeps)
    sweeps = iter(range(1, total + 1))

    def callback(event):
        if next(sweeps) % max(1, total // NOTES) == 0:
            counts, r = event.chain.counts, event.chain._select(["r"])["r"]
            shape = [ETA + counts[f"phi{t + 1}"] for t in range(event.depth)]
            phi = tuple(each / each.sum(axis=1, keepdims=True) for each in shape)
            watch.note(pgbn.TrainedNetwork.of_topics(phi, r, np.ones(len(phi))))

    return pgbn.train_layerwise(
        X, tuple(arguments.widths), depth, burn_in=arguments.burn_in, sweeps=arguments.sweeps,
        keep_draws=arguments.draws, seed=1, progress=False, min_width=1, callback=callback,
        executor=executor, trace_every=0,
    ).deepest  # fmt: skip


def perplexity(arguments):
    """Minibatches beside Gibbs sampling."""
    if arguments.corpus:
        X = pgbn.Corpus.open(arguments.corpus)
        test = unseen_block(1024, X.shape[1])
    else:
        corpus = load_newsgroups(Path(arguments.data), arguments.vocabulary)
        X, test = sp.csr_array(corpus["train"][:: arguments.part]), corpus["test"]
    seen, held_out = split_tokens(test[:: arguments.every], 0.8, seed=0)
    found, lines = {}, {}
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        disk = pgbn.Disk(folder, arguments.memory) if arguments.corpus else pgbn.Threads(1)
        for name in ("minibatch", "Gibbs"):
            watch = Watch(name, test[1 :: 4 * arguments.every])
            model = (by_minibatches(X, arguments, watch) if name == "minibatch" else
                     by_gibbs(X, arguments, watch, disk))  # fmt: skip
            seconds = watch.seconds
            one, draws = (HeldOut.of_model(each, seen, held_out, burn_in=SWEEPS,
                                                draws=SWEEPS, seed=1).perplexity()
                          for each in (replace(model, draws={}), model))  # fmt: skip
            found[name] = {"widths": model.widths, "cpu": seconds, "one": one, "draws": draws,
                           "way": watch.line}  # fmt: skip
            print(f"{name} {model.widths}: {seconds:.1f} CPU s, {one:.1f} with one Φ, "
                  f"{draws:.1f} with {arguments.draws} draws", flush=True)  # fmt: skip
            lines[name] = tuple(zip(*watch.line, strict=True))
    for kind in ("one", "draws"):
        more = found["minibatch"][kind] / found["Gibbs"][kind] - 1
        print(f"minibatches against Gibbs, {kind}: {100 * more:+.1f} %")
    return found, lines, ("CPU s", "perplexity of halves")


def features(arguments):
    """The features of many documents, from a corpus to a file."""
    rng = np.random.default_rng(0)
    model = pgbn.TrainedNetwork.of_topics(
        phi=(rng.dirichlet(np.full(arguments.vocabulary, 0.05), arguments.topics),),
        r=np.full(arguments.topics, 0.05),
        c=np.ones(1),
    )

    def batches():
        sums = np.cumsum(model.phi[0], axis=1)
        for _ in range(-(-arguments.documents // 10_000)):
            topic = rng.integers(arguments.topics, size=(10_000, 2))
            chosen = topic[np.arange(10_000)[:, None], rng.integers(2, size=(10_000, 10))]
            words = np.empty((10_000, 10), np.int64)
            for k in range(arguments.topics):
                here = chosen == k
                words[here] = np.searchsorted(sums[k], rng.random(here.sum()) * sums[k, -1])
            rows = np.repeat(np.arange(10_000), 10)
            cells = (np.ones(words.size, np.int64), (rows, words.reshape(-1)))
            yield sp.coo_array(cells, shape=(10_000, arguments.vocabulary)).tocsr()

    line = [(0.0, 0)]
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        begun = time.perf_counter()
        corpus = pgbn.Corpus.build(batches(), Path(folder) / "corpus")
        built = {"seconds": time.perf_counter() - begun, "peak": peak()}
        print(f"built {corpus.shape[0]} documents in {built['seconds']:.1f} s, "
              f"{built['peak']:.0f} MB", flush=True)  # fmt: skip
        begun, cpu = time.perf_counter(), time.process_time()
        found = model.transform(corpus, Path(folder) / "features.npy", burn_in=arguments.sweeps,
            draws=arguments.sweeps,
            progress=lambda done, _: line.append((time.perf_counter() - begun, done)),
        )  # fmt: skip
        seconds, cpu, size = line[-1][0], time.process_time() - cpu, found.nbytes
        print(f"features {found.shape}: {seconds:.1f} s, {cpu:.1f} CPU s, "
              f"{len(found) / seconds:.0f} documents a second, {peak():.0f} MB of which the file "
              f"has {size / 1e6:.0f}")  # fmt: skip
    results = {"built": built, "seconds": seconds, "cpu": cpu, "peak": peak(), "bytes": size,
               "documents a second": len(found) / seconds, "way": line}  # fmt: skip
    return results, {"features": tuple(zip(*line, strict=True))}, ("s", "documents")
