"""Workers of Ray beside threads: what a sweep takes, and which part of it is not drawing.

python -m benchmarks.scale ray --tokens 10000000 --widths 200
"""

import tempfile
import time
from pathlib import Path

import numpy as np

import pgbn
from benchmarks.drawn import ROWS, drawn_blocks
from pgbn.engine.shards.driver import PARTS as OVERHEAD

THREADS = "2 threads"


def sweep(chain):
    """Seconds of one sweep, and those of its parts where workers ran it: the slowest worker
    ("compute"), what went through memory ("serialise"), messages ("wait"), and the rest, which the
    driver drew."""
    shards = chain._program.shards
    before = dict.fromkeys(OVERHEAD, 0.0) if shards is None else dict(shards.seconds)
    begun = time.perf_counter()
    chain.sweep(1)
    found = {"sweep": time.perf_counter() - begun}
    if shards is not None:
        found |= {part: shards.seconds[part] - before[part] for part in OVERHEAD}
        found["driver"] = found["sweep"] - sum(found[part] for part in OVERHEAD)
    return found


def on_ray(arguments):
    """Sweeps of "partial" on two threads, and with 1, 2 and 4 workers of Ray, in turns."""
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        blocks = drawn_blocks(arguments.tokens, arguments.vocabulary)
        corpus = pgbn.Corpus.build(blocks, Path(folder) / "corpus", block_rows=ROWS)
        network, tokens = pgbn.zoo.pgbn(arguments.widths), int(corpus.total)
        sides = {THREADS: network.chain({"x": corpus}, seed=1, threads=2)}
        executors = [pgbn.Ray(workers=n) for n in arguments.workers]
        for executor in reversed(executors):  # the first one starts Ray, with cores for all
            executor.worker_pool()
        for executor in executors:
            chain = network.chain({"x": corpus}, seed=1, executor=executor)
            sides[f"Ray, workers={executor.workers}"] = chain
        times = {name: [] for name in sides}
        for turn in range(arguments.repeats + 1):
            for name, chain in sides.items():
                taken = sweep(chain)
                if turn:  # before, kernels are loaded
                    times[name].append(taken)
        values = [chain.values["r"] for chain in sides.values()]
        assert all(np.array_equal(values[0], value) for value in values)
        for executor in executors:
            executor.close()
    found = {"tokens": tokens, "times": times, "ratios": {}, "medians": {}}
    for name, every in times.items():
        middle = found["medians"][name] = {
            part: float(np.median([each[part] for each in every])) for part in every[0]
        }
        ratio = float(np.median([b["sweep"] / a["sweep"]
                                 for a, b in zip(every, times[THREADS], strict=True)]))  # fmt: skip
        found["ratios"][name] = ratio
        parts = "  ".join(f"{part} {seconds:.3f}" for part, seconds in middle.items())
        print(f"{name:16s} {tokens / middle['sweep'] / 1e6:6.2f} M tokens/s, {ratio:.2f} of the "
              f"speed of {THREADS}; seconds: {parts}", flush=True)  # fmt: skip
    return found, {name: _parts(each) for name, each in found["medians"].items()}, "seconds"


def _parts(middle):
    """The parts of a sweep, one after another; on threads it has but one."""
    return {p: middle[p] for p in (*OVERHEAD, "driver") if p in middle} or {
        "compute": middle["sweep"]
    }
