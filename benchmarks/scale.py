"""Past one core and one memory: tokens a second, peak memory, perplexity against time.

    python -m benchmarks.scale ratios --data ../shared/data/20newsgroups.npz
    python -m benchmarks.scale build --tokens 100000000 --vocabulary 100000 --corpus corpus
    python -m benchmarks.scale disk --corpus corpus --topics 200 --memory 400MB --part 10
    python -m benchmarks.scale labels --data ../shared/data/20newsgroups.npz
    python -m benchmarks.scale minibatch --data ../shared/data/20newsgroups.npz --widths 100 50 20
    python -m benchmarks.scale minibatch --corpus corpus --widths 200 --steps 300 --burn-in 20
    python -m benchmarks.scale features
    python -m benchmarks.scale ray --tokens 10000000

``ratios``: sweeps side after side in one process, and the medians of their ratios: "partial" on two
threads and on one, "partial" on two and "collapsed" on one, rows on disk and in memory. ``build``:
a corpus drawn from the model block by block, built in bounded memory. ``disk``: a chain on that
corpus with `pgbn.Disk` and, on its first blocks (one in ``part``), in memory and on disk: a process
each, so that each has a peak of its own. ``labels``, ``minibatch``, ``features``, ``ray``: see
`benchmarks.labels`, `benchmarks.minibatch` and `benchmarks.scale_ray`. Each writes scale-NAME.json
and scale-NAME.png to ``--out``.
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
from benchmarks.drawn import ROWS, drawn_blocks
from benchmarks.labels import by_labels, share_labels
from benchmarks.memory import peak
from benchmarks.minibatch import features, perplexity
from benchmarks.networks import Sweeper, bars, machine, measure, plot, save
from benchmarks.scale_ray import on_ray
from benchmarks.sweep import load

DEEP = (400, 200, 200, 100, 100)


def build(arguments):
    """The corpus, and what it took."""
    begun = time.process_time()
    blocks = drawn_blocks(arguments.tokens, arguments.vocabulary)
    corpus = pgbn.Corpus.build(blocks, arguments.corpus, block_rows=ROWS)
    found = {"documents": corpus.shape[0], "tokens": int(corpus.total), "cells": corpus.entries,
             "cpu": time.process_time() - begun, "peak": peak()}  # fmt: skip
    print(found)
    return found, None, None


# ---- (a) threads, and all ratios ------------------------------------------------------


def ratio(name, sides, repeats):
    """How many times faster the second side is, by wall and by CPU time: medians of the ratios of
    sweeps that follow each other."""
    measure(sides, 1)
    times = measure(sides, repeats)
    slow, fast = (np.array(times[side]) for side in sides)
    cpu, wall = np.median(slow / fast, axis=0)
    low, high = np.quantile(slow[:, 1] / fast[:, 1], [0.25, 0.75])
    print(f"{name}: {wall:.2f} (quartiles {low:.2f}, {high:.2f}); by CPU time {cpu:.2f}")
    for side, values in times.items():
        seconds = np.median(values, axis=0)
        print(f"    {side:26s}{seconds[1]:9.3f} s{seconds[0]:9.3f} CPU s", flush=True)
    return {name: {"wall": wall, "cpu": cpu, "quartiles": [low, high], "times": times}}


def deep(counts, arguments):
    """The whole network of five layers on two threads and on one."""
    one = Sweeper(counts, DEEP, 1, "partial", burn_in=arguments.burn_in)
    two = Sweeper(counts, DEEP, 2, "partial", like=one)
    sides = {"T = 5, one thread": one, "T = 5, two threads": two}
    return ratio("partial, T = 5, two threads against one", sides, arguments.repeats)


def beside_collapsed(counts, arguments, topics, copies):
    """ "partial" on two threads and "collapsed" on one from the same labels, of a chain on the
    documents before they were repeated."""
    first = Sweeper(counts, [topics], 1, "collapsed", burn_in=arguments.burn_in).chain
    many = sparse.vstack([counts] * copies).tocsr()
    begin = first._select(["r", "gamma0", "c0"])
    sides = {}
    for name, threads in (("collapsed", 1), ("partial", 2)):
        side = Sweeper(many, [topics], threads, name, start=begin)
        share_labels(first, side.chain, 3, copies)
        sides[f"{name} on {threads}"] = side
    name = f"partial on two against collapsed on one, {int(many.sum())} tokens, K = {topics}"
    return ratio(name, sides, arguments.repeats)


def disk_beside_memory(arguments):
    """Rows on disk and in memory, of the same corpus: how many times the speed of the latter."""
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        corpus = pgbn.Corpus.build(drawn_blocks(arguments.tokens, 30_000), Path(folder) / "corpus",
                                   block_rows=ROWS)  # fmt: skip
        net, sides = pgbn.zoo.pgbn([100]), {}
        for name, executor in (("in memory", pgbn.Threads(2)),
                               ("on disk", pgbn.Disk(folder, arguments.memory, 2))):  # fmt: skip
            sides[name] = net.chain({"x": corpus}, seed=1, executor=executor)
        name = f"disk ÷ memory, tokens a second, {int(corpus.total)} tokens"
        return ratio(name, sides, arguments.repeats)


def ratios(arguments):
    """All ratios of threads, disk and samplers."""
    counts = load(arguments.data, arguments.vocabulary)
    found = deep(counts, arguments)
    found |= beside_collapsed(counts, arguments, 400, 1)
    found |= beside_collapsed(counts, arguments, 200, arguments.copies)
    found |= disk_beside_memory(arguments)
    print()
    for name, value in found.items():
        print(f"{value['wall']:6.2f}  {name}")
    return found, {name: value["wall"] for name, value in found.items()}, "times"


# ---- (b) disk -------------------------------------------------------------------------


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
        r = chain._select(["r"])["r"]
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
    found = {"whole, disk": [_run(arguments, "disk", arguments.corpus)]}
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        whole = pgbn.Corpus.open(arguments.corpus)
        number = max(1, -(-whole.shape[0] // ROWS) // arguments.part)
        first = (block for block, _ in zip(whole.blocks(), range(number), strict=False))
        pgbn.Corpus.build(first, Path(folder) / "part", block_rows=ROWS)
        for _ in range(arguments.repeats):
            for name in ("memory", "disk"):
                one = _run(arguments, name, Path(folder) / "part")
                found.setdefault(f"part, {name}", []).append(one)
    speed = {name: max(run["tokens a CPU second"] for run in runs) / 1e6
             for name, runs in found.items()}  # fmt: skip
    print(f"disk ÷ memory, tokens a CPU second: {speed['part, disk'] / speed['part, memory']:.2f}")
    print("peaks, MB:", {name: round(max(r["peak"] for r in runs)) for name, runs in found.items()})
    same = len({run["hash"] for name in found if "part" in name for run in found[name]}) == 1
    print("the same bits on disk and in memory:", same)
    return found, speed, "million tokens a CPU second"


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


# ---- the command ----------------------------------------------------------------------

# Of each part: what runs it, and its options with their defaults. A part returns its figures, and
# what is drawn of them: lines {name: (x, y)} with the names of the axes, or bars {name: number}
# with the name of theirs.
DATA, FOLDER = {"data": None}, {"folder": None}
PARTS = {
    "ratios": (ratios, {**DATA, **FOLDER, "vocabulary": 0, "burn_in": 30, "repeats": 12,
                        "copies": 16, "tokens": 3 * 10**6, "memory": "16MB"}),
    "build": (build, {"tokens": 10**7, "vocabulary": 100_000, "corpus": "corpus"}),
    "disk": (on_disk, {**FOLDER, "corpus": "corpus", "topics": 200, "memory": "400MB", "part": 10,
                       "threads": 1, "sweeps": 3, "repeats": 3, "side": ""}),
    "labels": (by_labels, {**DATA, "vocabulary": 2000, "topics": 100, "sweeps": 100, "only": ""}),
    "minibatch": (perplexity, {**DATA, **FOLDER, "corpus": "", "vocabulary": 2000, "every": 4,
                               "widths": [100], "steps": 500, "batch": 512, "burn_in": 300,
                               "sweeps": 100, "draws": 20, "memory": "400MB",
                               "first_step": 0.0, "delay": 0.0, "part": 1}),
    "features": (features, {**FOLDER, "documents": 10**6, "vocabulary": 2000, "topics": 50,
                            "sweeps": 20}),
    "ray": (on_ray, {**FOLDER, "tokens": 10**7, "vocabulary": 30_000, "widths": [200],
                     "workers": [1, 2, 4], "repeats": 5}),
}  # fmt: skip


def read_arguments():
    """The part, and its options."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parts = parser.add_subparsers(dest="what", required=True)
    for part, (run, options) in PARTS.items():
        own = parts.add_parser(part, help=run.__doc__.split("\n")[0])
        own.add_argument("--out", type=Path, default=Path(), help="the folder of JSON and picture")
        for name, default in options.items():
            many = isinstance(default, list)
            kind = str if default is None else type(default[0] if many else default)
            own.add_argument("--" + name.replace("_", "-"), default=default, type=kind,
                             nargs="+" if many else None)  # fmt: skip
    return parser.parse_args()


def main():
    arguments = read_arguments()
    if getattr(arguments, "side", ""):
        side(arguments)
        return
    print(machine(), flush=True)
    arguments.out.mkdir(parents=True, exist_ok=True)
    results, drawn, labels = PARTS[arguments.what][0](arguments)
    path = arguments.out / f"scale-{arguments.what}"
    save(path.with_suffix(".json"),
         {"arguments": vars(arguments), "machine": machine(), "results": results})  # fmt: skip
    if drawn is None:
        return
    if isinstance(labels, str):
        bars(path.with_suffix(".png"), drawn, labels)
    else:
        plot(path.with_suffix(".png"), drawn, *labels, log=False)


if __name__ == "__main__":
    main()
