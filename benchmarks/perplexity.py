"""Held-out perplexity against CPU time: ours, and tomotopy's LDA where it is installed.

    python -m benchmarks.perplexity --data ../shared/data/20newsgroups.npz --vocabulary 2000

Of every document 30 % of the tokens are seen; the perplexity of the others is that of the ratio
of sums over samples, one in 5 sweeps. The clock runs while sampling and scoring; compilation is
done before. Sides take turns of 5 sweeps, in one process.
"""

import argparse
import time

import numpy as np

import pgbn
from benchmarks.networks import machine, plot, save
from benchmarks.sweep import load
from pgbn.evaluation import HeldOut, split_tokens
from pgbn.samplers.first_layer.tokens import expand

THIN = 5


class Ours:
    def __init__(self, seen, held_out, topics, burn_in, samples, threads, depth):
        network = pgbn.zoo.pgbn([topics] * depth)
        self.chain = network.chain({"x": seen}, seed=1, threads=threads)
        self.score = HeldOut(held_out, threads=threads)
        self.burn_in, self.samples, self.path = burn_in, samples, []

    def turn(self):
        """Five sweeps; after the burn-in, a sample."""
        self.chain.sweep(THIN)
        if self.chain.sweeps > self.burn_in and self.score.draws < self.samples:
            self.score.add_chain(self.chain)

    def result(self):
        return self.score.perplexity() if self.score.draws else None


class Tomotopy:
    def __init__(self, seen, held_out, topics, burn_in, samples):
        import tomotopy

        self.model = tomotopy.LDAModel(k=topics, alpha=50.0 / topics, eta=0.05, seed=1)
        self.rows = np.flatnonzero(np.asarray(seen.sum(axis=1)).ravel() > 0)
        tokens = expand(seen.indptr, seen.indices, seen.data)
        for j in self.rows:
            words = tokens.word[tokens.row_start[j] : tokens.row_start[j + 1]]
            self.model.add_doc([str(w) for w in words])
        self.score = HeldOut(held_out, threads=1)
        self.burn_in, self.samples, self.sweeps = burn_in, samples, 0
        self.model.train(0)

    def turn(self):
        self.model.train(THIN, workers=1)
        self.sweeps += THIN
        if self.sweeps > self.burn_in and self.score.draws < self.samples:
            self._add()

    def _add(self):
        documents, terms = self.score.cells.shape
        topics = self.model.k
        known = np.array([int(word) for word in self.model.used_vocabs])
        phi = np.full((topics, terms), 1e-12)
        for k in range(topics):
            phi[k, known] = self.model.get_topic_word_dist(k)
        theta = np.full((documents, topics), 1.0 / topics)
        for place, document in zip(self.rows, self.model.docs, strict=True):
            theta[place] = document.get_topic_dist()
        self.score.add(phi, theta)

    def result(self):
        return self.score.perplexity() if self.score.draws else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="an .npz file as in shared/data")
    parser.add_argument("--vocabulary", type=int, help="keep the most frequent terms")
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--depth", type=int, default=1)
    parser.add_argument("--burn-in", type=int, default=100)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--threads", type=int, nargs="*", default=[1])
    parser.add_argument("--full", action="store_true", help="200 sweeps of burn-in, two threads")
    parser.add_argument("--json")
    parser.add_argument("--png")
    arguments = parser.parse_args()
    if arguments.full:
        arguments.burn_in, arguments.threads = 200, [1, 2]
    counts = load(arguments.data, arguments.vocabulary)
    seen, held_out = split_tokens(counts, 0.3, seed=0)
    common = (arguments.topics, arguments.burn_in, arguments.draws)
    sides = {
        f"pgbn, {threads} threads": Ours(seen, held_out, *common, threads, arguments.depth)
        for threads in arguments.threads
    }
    try:
        sides["tomotopy"] = Tomotopy(seen, held_out, *common)
    except ImportError:
        print("tomotopy is not installed")
    warm = Ours(seen[:50], held_out[:50], *common, 1, arguments.depth)  # compile everything
    warm.turn()
    warm.score.add_chain(warm.chain)
    clock = {name: [0.0, 0.0] for name in sides}
    path = {name: [] for name in sides}
    for _ in range(-(-arguments.burn_in // THIN) + arguments.draws):
        for name, side in sides.items():
            cpu, wall = time.process_time(), time.perf_counter()
            side.turn()
            clock[name][0] += time.process_time() - cpu
            clock[name][1] += time.perf_counter() - wall
            result = side.result()
            if result is not None:
                path[name].append((*clock[name], result))
    print(f"{counts.shape[0]} documents, {counts.shape[1]} terms; {machine()}")
    print(f"{'':20s}{'CPU s':>9s}{'wall s':>9s}{'one sample':>12s}{'all samples':>13s}")
    for name, side in sides.items():
        cpu, wall = clock[name]
        print(f"{name:20s}{cpu:9.2f}{wall:9.2f}{path[name][0][2]:12.1f}{side.result():13.1f}")
    frequency = np.asarray(seen.sum(axis=0)).ravel() + 0.05
    held = np.asarray(held_out.sum(axis=0)).ravel()
    unigram = np.exp(-(held * np.log(frequency / frequency.sum())).sum() / held.sum())
    print(f"{'unigram':20s}{'':30s}{unigram:13.1f}")
    save(arguments.json, {"arguments": vars(arguments), "machine": machine(), "path": path})
    lines = {n: ([p[0] for p in v], [p[2] for p in v]) for n, v in path.items()}
    plot(arguments.png, lines, "CPU seconds", "held-out perplexity", log=False)


if __name__ == "__main__":
    main()
