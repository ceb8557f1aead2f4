"""How the time of a sweep grows: with the tokens, the topics and the layers.

    python -m benchmarks.scaling --data ../shared/data/20newsgroups.npz --vocabulary 2000 --full

Tokens: the documents are repeated (×1 … ×16). Topics: T = 1, K from 50 to 1600. Layers: widths
128, T from 1 to 8. Slopes are those of the least squares line on log axes.
"""

import argparse

import numpy as np
from scipy import sparse

from benchmarks.networks import Sweeper, least, machine, measure, plot, save
from benchmarks.sweep import load


def slope(x, y):
    """d ln y / d ln x."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def times_of(sides, repeats):
    """Least CPU seconds of a sweep, side by side."""
    found = least(measure(sides, repeats))
    return [found[name][0] for name in sides]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="an .npz file as in shared/data")
    parser.add_argument("--vocabulary", type=int, help="keep the most frequent terms")
    parser.add_argument("--topics", type=int, default=100, help="for the growth in tokens")
    parser.add_argument("--burn-in", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--full", action="store_true", help="the whole ranges")
    parser.add_argument("--json")
    parser.add_argument("--png")
    arguments = parser.parse_args()
    counts = load(arguments.data, arguments.vocabulary)
    full, burn_in = arguments.full, arguments.burn_in
    copies = [1, 2, 4, 8, 16] if full else [1, 2, 4]
    topics = [50, 100, 200, 400, 800, 1600] if full else [100, 200, 400, 800]
    depths = [1, 2, 3, 4, 5, 6, 7, 8] if full else [1, 2, 4]
    print(f"{counts.shape[0]} documents, {counts.shape[1]} terms; {machine()}")
    results = {}

    def run(name, x, sides):
        seconds = times_of(sides, arguments.repeats)
        results[name] = {"x": x, "cpu": seconds}
        print(f"\n{name:12s}" + "".join(f"{value:>10d}" for value in x))
        print(f"{'CPU ms':12s}" + "".join(f"{1e3 * value:10.1f}" for value in seconds))
        return seconds

    sides = {
        n: Sweeper(sparse.vstack([counts] * n).tocsr(), [arguments.topics], burn_in=burn_in)
        for n in copies
    }
    results["tokens slope"] = slope(copies, run("tokens ×", copies, sides))
    print(f"slope in tokens: {results['tokens slope']:.2f}")
    seconds = run("K", topics, {k: Sweeper(counts, [k], burn_in=burn_in) for k in topics})
    inner = [i for i, k in enumerate(topics) if 100 <= k <= 800]
    results["K slope"] = slope([topics[i] for i in inner], [seconds[i] for i in inner])
    print(f"slope in K, 100 to 800: {results['K slope']:.2f}")
    run("T", depths, {t: Sweeper(counts, [128] * t, burn_in=burn_in) for t in depths})
    save(arguments.json, {"arguments": vars(arguments), "machine": machine(), **results})
    lines = {n: (results[n]["x"], results[n]["cpu"]) for n in ("tokens ×", "K", "T")}
    plot(arguments.png, lines, "tokens ×, K or T", "CPU seconds a sweep")


if __name__ == "__main__":
    main()
