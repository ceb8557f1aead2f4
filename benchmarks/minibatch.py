"""Minibatches beside Gibbs sampling, and the features of many documents.

    python -m benchmarks.minibatch perplexity --data ../shared/data/20newsgroups.npz --widths 100
    python -m benchmarks.minibatch features --documents 1000000

``perplexity``: both are trained on the training documents of 20newsgroups; 80 % of the tokens of
test documents are seen, and the others scored, given the mean of Φ and given as many draws of Φ
from both. Printed with the CPU time of each, and of minibatches also on the way.
``features``: short documents are drawn from a network block by block, built into a corpus, and
their features written to a file; printed with the documents a second and the largest memory.
Each prints one JSON document a line.
"""

import argparse
import json
import resource
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import pgbn
from benchmarks.networks import machine
from examples.paper.corpora import load_newsgroups
from pgbn.evaluation import completion_perplexity, split_tokens


def show(**facts):
    print(json.dumps(facts), flush=True)


def memory():
    """The largest resident memory so far, in megabytes."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def perplexity(arguments):
    corpus = load_newsgroups(arguments.data, arguments.vocabulary)
    seen, held_out = split_tokens(corpus["test"][:: arguments.every], 0.8, seed=0)
    X, widths = sp.csr_array(corpus["train"]), tuple(arguments.widths)
    show(machine=machine(), documents=X.shape[0], tokens=int(X.sum()), scored=int(held_out.sum()))

    def scores(model):
        both = (replace(model, draws={}), model)
        found = [completion_perplexity(each, seen, held_out, burn_in=100, samples=100, seed=1)
                 for each in both]  # fmt: skip
        return {"one": round(found[0].perplexity(), 1), "draws": round(found[1].perplexity(), 1)}

    def note(event):
        if event.perplexity is not None:
            seconds = round(time.process_time() - begun, 1)
            show(way="minibatch", step=event.step, cpu=seconds, half=round(event.perplexity, 1))

    begun = time.process_time()
    model = pgbn.train_minibatch(
        X, widths, steps=arguments.steps, collect=arguments.collect, keep_draws=arguments.draws,
        batch_size=arguments.batch, first_step=arguments.first_step, delay=arguments.delay,
        seed=1, progress=False, callback=note, show_every=100,
        held_out=corpus["test"][1 :: 4 * arguments.every],
    )  # fmt: skip
    show(way="minibatch", widths=widths, cpu=round(time.process_time() - begun, 1), **scores(model))
    begun = time.process_time()
    trained = pgbn.train_layerwise(
        X, widths, len(widths), burn_in=arguments.burn_in, collect=arguments.collect,
        keep_draws=arguments.draws, seed=1, progress=False, min_width=1,
    )  # fmt: skip
    seconds = round(time.process_time() - begun, 1)
    show(way="gibbs", widths=trained.widths, cpu=seconds, **scores(trained.deepest))


def features(arguments):
    rng = np.random.default_rng(0)
    model = pgbn.TrainedNetwork(
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

    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        begun = time.perf_counter()
        corpus = pgbn.Corpus.build(batches(), Path(folder) / "corpus")
        show(machine=machine(), what="built", documents=corpus.shape[0], tokens=corpus.total,
             seconds=round(time.perf_counter() - begun, 1), megabytes=memory())  # fmt: skip
        begun = time.perf_counter()
        found = pgbn.transform_to(model, corpus, Path(folder) / "features.npy",
                                  burn_in=arguments.sweeps, samples=arguments.sweeps)  # fmt: skip
        seconds = time.perf_counter() - begun
        show(what="features", shape=found.shape, seconds=round(seconds, 1),
             documents_a_second=round(len(found) / seconds), megabytes=memory(),
             file_megabytes=round(found.nbytes / 1e6))  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["perplexity", "features"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--vocabulary", type=int, default=2000)
    parser.add_argument("--every", type=int, default=4, help="of the test documents, every n-th")
    parser.add_argument("--widths", type=int, nargs="+", default=[100])
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--first-step", type=float, default=0.5)
    parser.add_argument("--delay", type=float, default=20.0)
    parser.add_argument("--burn-in", type=int, default=300)
    parser.add_argument("--collect", type=int, default=100)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--sweeps", type=int, default=20)
    parser.add_argument("--folder", type=Path, help="for the corpus and the file of features")
    arguments = parser.parse_args()
    {"perplexity": perplexity, "features": features}[arguments.what](arguments)


if __name__ == "__main__":
    main()
