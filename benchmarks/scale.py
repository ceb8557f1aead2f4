"""Threads, and rows on disk: tokens a second and peak memory.

    python -m benchmarks.scale threads --data ../shared/data/20newsgroups.npz --topics 400
    python -m benchmarks.scale disk --tokens 10000000 --vocabulary 100000 --topics 200

``threads``: sweeps of T = 1 in one process, side after side: "collapsed" on one thread, "partial"
on one and two. ``disk``: a corpus drawn from the model block by block, then the same chain in
memory and with `pgbn.Disk`, a process each, so that each has a peak of its own; both print the
same hash.
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
from benchmarks.networks import Sweeper, least, machine, measure, save
from benchmarks.sweep import load

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


def side(arguments):
    """One chain, in memory or on disk; prints what it took as JSON."""
    corpus, folder = pgbn.Corpus.open(arguments.corpus), Path(arguments.corpus)
    executor = pgbn.Threads(arguments.threads)
    if arguments.side == "disk":
        executor = pgbn.Disk(folder.with_name("rows"), arguments.memory, arguments.threads)
    chain = pgbn.zoo.pfa(arguments.topics).chain({"x": corpus}, seed=1, executor=executor)
    times = []
    for _ in range(arguments.sweeps + 1):
        cpu, wall = time.process_time(), time.perf_counter()
        chain.sweep()
        times.append((time.process_time() - cpu, time.perf_counter() - wall))
    result = {
        "tokens": int(corpus.total), "cells": corpus.entries,
        "mapped": getattr(executor, "mapped", 0),
        "cpu": min(t[0] for t in times[1:]), "wall": min(t[1] for t in times[1:]),
        "peak": peak(), "hash": hashlib.sha256(chain.select(["r"])["r"].tobytes()).hexdigest()[:16],
    }  # fmt: skip
    print(json.dumps(result))


def on_disk(arguments):
    """The same chain in memory and on disk, in turn."""
    results = {"memory": [], "disk": []}
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        blocks = drawn_blocks(arguments.tokens, arguments.vocabulary, arguments.topics)
        pgbn.Corpus.build(blocks, Path(folder) / "corpus", block_rows=ROWS)
        for _ in range(arguments.repeats):
            for name, found in results.items():
                command = [sys.executable, "-m", "benchmarks.scale", "disk", "--side", name,
                           "--corpus", str(Path(folder) / "corpus"), "--memory", arguments.memory,
                           "--topics", str(arguments.topics), "--sweeps", str(arguments.sweeps),
                           "--threads", str(arguments.threads)]  # fmt: skip
                run = subprocess.run(command, capture_output=True, text=True, check=True)
                found.append(json.loads(run.stdout))
                print(name, found[-1], flush=True)
    return results


def on_threads(arguments):
    """Sweeps of one network, side after side."""
    counts, widths = load(arguments.data, arguments.vocabulary), [arguments.topics]
    first = Sweeper(counts, widths, 1, "collapsed", burn_in=arguments.sweeps)
    sides = {"collapsed": first}
    for number in (1, 2):
        sides[f"partial {number}"] = Sweeper(counts, widths, number, "partial", burn_in=2)
    found = measure(sides, arguments.repeats)
    for name, (cpu, wall) in least(found).items():
        print(f"{name:12s}{cpu:9.3f} CPU s{wall:9.3f} s")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["threads", "disk"])
    parser.add_argument("--data", help="an .npz file as in shared/data")
    parser.add_argument("--tokens", type=int, default=10**7)
    parser.add_argument("--vocabulary", type=int)
    parser.add_argument("--topics", type=int, default=200)
    parser.add_argument("--memory", default="200MB")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sweeps", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", help="where the corpus and the rows are, for a while")
    parser.add_argument("--json")
    parser.add_argument("--side", help=argparse.SUPPRESS)
    parser.add_argument("--corpus", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.side:
        side(arguments)
        return
    print(machine())
    results = (on_disk if arguments.what == "disk" else on_threads)(arguments)
    save(arguments.json, {"arguments": vars(arguments), "machine": machine(), "results": results})


if __name__ == "__main__":
    main()
