"""The samplers of the first layer where counts are small and where they are large.

    python -m benchmarks.layer1 --data ../shared/data/20newsgroups.npz --vocabulary 2000

All counts are multiplied (×1 … ×1000), with fewer documents as they grow. Beside the CPU
milliseconds of a sweep stand those that ``sampler="auto"`` expects, and what it takes.
"""

import argparse
from math import isfinite

from benchmarks.networks import Sweeper, least, machine, measure, save
from benchmarks.sweep import load
from pgbn.engine.first_layer.choice import automatic

SAMPLERS = ("collapsed", "partial", "blocked")
TIMES = (1, 4, 16, 100, 1000)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="an .npz file as in shared/data")
    parser.add_argument("--vocabulary", type=int, help="keep the most frequent terms")
    parser.add_argument("--topics", type=int, nargs="+", default=[50, 200, 800])
    parser.add_argument("--burn-in", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    corpus = load(arguments.data, arguments.vocabulary)
    print(f"{corpus.shape[1]} terms; {machine()}; milliseconds, expected in brackets")
    print(f"{'×':>5}{'tokens':>10}{'cells':>8}{'K':>5}" + "".join(f"{s:>16}" for s in SAMPLERS))
    results = []
    for times in TIMES:
        counts = times * corpus[: max(100, int(corpus.shape[0] / times**0.6))]
        for topics in arguments.topics:
            sides = {name: Sweeper(counts, [topics], sampler=name, burn_in=arguments.burn_in)
                     for name in SAMPLERS}  # fmt: skip
            found = {name: 1e3 * cpu for name, (cpu, _) in
                     least(measure(sides, arguments.repeats)).items()}  # fmt: skip
            costs = {kind.name: kind.nanoseconds(counts.data, *counts.shape, topics)
                     for kind in automatic()}  # fmt: skip
            expected = {name: 1e-6 * cost for name, cost in costs.items() if isfinite(cost)}
            choice = Sweeper(counts, [topics]).chain.sampler
            cells = [f"{found[name]:8.1f}" + (f" ({expected[name]:5.0f})" if name in expected
                     else " " * 8) for name in SAMPLERS]  # fmt: skip
            print(
                f"{times:5d}{counts.sum():10d}{counts.nnz:8d}{topics:5d}" + " ".join(cells), choice
            )
            results.append({"times": times, "tokens": int(counts.sum()), "cells": counts.nnz,
                            "topics": topics, "cpu_ms": found, "expected_ms": expected,
                            "auto": choice})  # fmt: skip
    save(arguments.json, {"arguments": vars(arguments), "machine": machine(), "results": results})


if __name__ == "__main__":
    main()
