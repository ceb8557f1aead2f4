"""Past one core and one memory: tokens a second, peak memory, perplexity against time.

    python -m benchmarks.scale threads --data ../shared/data/20newsgroups.npz --topics 400
    python -m benchmarks.scale build --tokens 100000000 --vocabulary 100000 --corpus corpus
    python -m benchmarks.scale disk --corpus corpus --topics 200 --memory 400MB --part 10
    python -m benchmarks.scale labels --data ../shared/data/20newsgroups.npz --vocabulary 2000
    python -m benchmarks.scale minibatch --data ../shared/data/20newsgroups.npz --widths 100 50 20
    python -m benchmarks.scale features

``threads``: sweeps in one process, side after side: "collapsed" on one thread, "partial" on one
and two; with ``--widths`` of a deep network. ``build``: a corpus drawn from the model block by
block, built in bounded memory. ``disk``: the same chain on that corpus with `pgbn.Disk` and, on its
first blocks (one in ``part``), in memory and on disk: a process each, so that each has a peak of
its own. ``labels``: held-out perplexity against CPU time for "collapsed", and for "partial" with
one, two and three sweeps of labels for each draw of Φ. ``minibatch`` and ``features`` are those of
`benchmarks.minibatch`. ``--json`` keeps all figures, ``--png`` draws those of labels.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy import sparse

import pgbn
from benchmarks.memory import peak
from benchmarks.networks import Sweeper, least, machine, measure, plot, save
from benchmarks.sweep import load
from pgbn.evaluation import HeldOut, split_tokens
from pgbn.samplers.random import stream_key

LENGTH = 300  # tokens of a document
ROWS = 4096  # documents of a block


def drawn_blocks(tokens, vocabulary, topics, seed=0):
    """Blocks of documents × terms with a few of ``topics`` topics each, Zipfian words."""
    rng = np.random.default_rng(seed)
    base = 1.0 / np.arange(1, vocabulary + 1)
    shape = 0.05 * vocabulary * base / base.sum()
    reached = [np.cumsum(rng.gamma(shape)) for _ in range(topics)]
    documents = tokens // LENGTH
    for first in range(0, documents, ROWS):
        rows = min(ROWS, documents - first)
        theta = rng.gamma(0.05, size=(rows, topics)) + 1e-12
        split = np.array([rng.multinomial(LENGTH, line / line.sum()) for line in theta])
        row, word = [], []
        for k, sums in enumerate(reached):
            where = np.repeat(np.arange(rows), split[:, k])
            row.append(where)
            word.append(np.searchsorted(sums, rng.random(where.size) * sums[-1]))
        at = (np.concatenate(row), np.concatenate(word))
        yield sparse.csr_matrix((np.ones(at[0].size, np.int64), at), shape=(rows, vocabulary))


def build(arguments):
    """The corpus, and what it took."""
    begun = time.process_time()
    blocks = drawn_blocks(arguments.tokens, arguments.vocabulary, 200)
    corpus = pgbn.Corpus.build(blocks, arguments.corpus, block_rows=ROWS)
    found = {"documents": corpus.shape[0], "tokens": int(corpus.total), "cells": corpus.entries,
             "cpu": time.process_time() - begun, "peak": peak()}  # fmt: skip
    print(found)
    return found


def side(arguments):
    """One chain, in memory or on disk; prints what it took as JSON."""
    corpus, executor = pgbn.Corpus.open(arguments.corpus), pgbn.Threads(arguments.threads)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        if arguments.side == "disk":
            executor = pgbn.Disk(folder, arguments.memory, arguments.threads)
        chain = pgbn.zoo.pfa(arguments.topics).chain({"x": corpus}, seed=1, executor=executor)
        times, begun = [], peak()
        for _ in range(arguments.sweeps):
            cpu, wall = time.process_time(), time.perf_counter()
            chain.sweep()
            times.append((time.process_time() - cpu, time.perf_counter() - wall))
        r = chain.select(["r"])["r"]
    result = {
        "tokens": int(corpus.total), "cells": corpus.entries,
        "mapped": getattr(executor, "mapped", 0), "peak begun": begun, "peak": peak(),
        "cpu": [t[0] for t in times], "wall": [t[1] for t in times],
        "tokens a CPU second": round(int(corpus.total) / min(t[0] for t in times)),
        "hash": hashlib.sha256(r.tobytes()).hexdigest()[:16],
    }  # fmt: skip
    print(json.dumps(result))


def on_disk(arguments):
    """The whole corpus on disk; and a part of it in memory and on disk, in turn."""
    results = {"whole, disk": [_run(arguments, "disk", arguments.corpus)]}
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        whole = pgbn.Corpus.open(arguments.corpus)
        number = max(1, -(-whole.shape[0] // ROWS) // arguments.part)
        first = (block for block, _ in zip(whole.blocks(), range(number), strict=False))
        pgbn.Corpus.build(first, Path(folder) / "part", block_rows=ROWS)
        for _ in range(arguments.repeats):
            for name in ("memory", "disk"):
                found = _run(arguments, name, Path(folder) / "part")
                results.setdefault(f"part, {name}", []).append(found)
    return results


def _run(arguments, name, corpus):
    """One side in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale", "disk", "--side", name, "--corpus",
               str(corpus), "--memory", arguments.memory, "--topics", str(arguments.topics),
               "--sweeps", str(arguments.sweeps), "--threads", str(arguments.threads)]  # fmt: skip
    if arguments.folder:
        command += ["--folder", arguments.folder]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(run.stdout)
    print(name, found, flush=True)
    return found


def on_threads(arguments):
    """Sweeps of one network, side after side."""
    counts = load(arguments.data, arguments.vocabulary)
    widths = arguments.widths or [arguments.topics]
    first = Sweeper(counts, widths, 1, "collapsed", burn_in=arguments.sweeps)
    sides = {"collapsed": first}
    for number in (1, 2):
        sides[f"partial {number}"] = Sweeper(counts, widths, number, "partial", burn_in=2)
    found = measure(sides, arguments.repeats)
    for name, (cpu, wall) in least(found).items():
        print(f"{name:12s}{cpu:9.3f} CPU s{wall:9.3f} s")
    return found


def by_labels(arguments):
    """Perplexity of held-out tokens of the training documents against CPU seconds of sampling."""
    counts = load(arguments.data, arguments.vocabulary)
    seen, held_out = split_tokens(counts, 0.8, seed=0)
    net, found = pgbn.zoo.pfa(arguments.topics), {}
    for name, layer1, sweeps in (("collapsed", "collapsed", 1), ("partial", "partial", 1),
                                 ("partial, 2 of labels", "partial", 2),
                                 ("partial, 3 of labels", "partial", 3)):  # fmt: skip
        chain = net.chain({"x": seen}, seed=1, layer1=layer1, threads=1)
        cpu, line = 0.0, []
        for sweep in range(1, arguments.sweeps + 1):
            begun = time.process_time()
            for again in range(sweeps - 1):
                chain.sampler.step(stream_key(7, sweep, again))
            chain.sweep()
            cpu += time.process_time() - begun
            if sweep % max(1, arguments.sweeps // 10) == 0:
                meter = HeldOut(net, "x", held_out)
                meter.add_chain(chain)
                line.append((cpu, meter.perplexity()))
        found[name] = line
        print(name, [(round(a, 2), round(b, 1)) for a, b in line], flush=True)
    plot(arguments.png, {n: tuple(zip(*v, strict=True)) for n, v in found.items()}, "CPU s",
         "perplexity")  # fmt: skip
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ways = {"threads": on_threads, "build": build, "disk": on_disk, "labels": by_labels}
    parser.add_argument("what", choices=[*ways, "minibatch", "features"])
    parser.add_argument("--data", help="an .npz file as in shared/data")
    parser.add_argument("--tokens", type=int, default=10**7)
    parser.add_argument("--vocabulary", type=int)
    parser.add_argument("--topics", type=int, default=200)
    parser.add_argument("--widths", type=int, nargs="+", help="of a deep network")
    parser.add_argument("--memory", default="400MB")
    parser.add_argument("--part", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sweeps", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", help="where rows are, for a while")
    parser.add_argument("--corpus", help="the folder of the corpus")
    parser.add_argument("--json")
    parser.add_argument("--png")
    parser.add_argument("--side", help=argparse.SUPPRESS)
    if sys.argv[1:2] in (["minibatch"], ["features"]):
        from benchmarks import minibatch

        sys.argv[1] = "perplexity" if sys.argv[1] == "minibatch" else "features"
        minibatch.main()
        return
    arguments = parser.parse_args()
    if arguments.side:
        side(arguments)
        return
    print(machine())
    results = ways[arguments.what](arguments)
    save(arguments.json, {"arguments": vars(arguments), "machine": machine(), "results": results})


if __name__ == "__main__":
    main()
