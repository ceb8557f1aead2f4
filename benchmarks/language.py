"""What the wider language costs: networks that are no tables of documents and terms.

    python -m benchmarks.language

A line for each size: CPU seconds of a sweep on one thread, the median of some, the sizes in turn.
"""

import argparse

import numpy as np
import scipy.sparse as sp

import pgbn
from benchmarks.networks import machine, measure, save

__all__ = ["author_sweeps", "graph_sweeps", "random_graph", "tensor_sweeps"]


def random_graph(vertices, edges, seed=0):
    """A graph with about so many edges, each once, as an upper triangle."""
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, vertices, (2, 2 * edges))
    first, second = pairs[:, pairs[0] < pairs[1]][:, :edges]
    matrix = sp.coo_array((np.ones(first.size, int), (first, second)), (vertices, vertices)).tocsr()
    matrix.data[:] = 1
    return matrix


class _Side:
    def __init__(self, network, data, burn_in):
        self.chain = network.chain(data, seed=1, threads=1).sweep(burn_in)

    def sweep(self):
        self.chain.sweep()


def graph_sweeps(sizes, width, burn_in, repeats):
    """CPU seconds of a sweep of the edge partition model, by (vertices, edges)."""
    sides = {
        (vertices, edges): _Side(pgbn.zoo.epm(width), {"x": random_graph(vertices, edges)}, burn_in)
        for vertices, edges in sizes
    }
    times = measure(sides, repeats)
    return {size: float(np.median([cpu for cpu, _ in each])) for size, each in times.items()}


def _medians(sides, repeats):
    times = measure(sides, repeats)
    return {name: float(np.median([cpu for cpu, _ in each])) for name, each in times.items()}


def tensor_sweeps(entries, width, burn_in, repeats, shape=(1000, 1000, 200, 300)):
    """CPU seconds of a sweep of a Poisson tensor factorisation, by the number of non-zeros."""
    rng, modes = np.random.default_rng(0), ("sender", "receiver", "action", "time")
    sides = {}
    for number in entries:
        data = {m: rng.integers(0, size, number) for m, size in zip(modes, shape, strict=True)}
        network = pgbn.zoo.bptf(width, modes).with_sizes(**dict(zip(modes, shape, strict=True)))
        sides[number] = _Side(network, {"y": data}, burn_in)
    return _medians(sides, repeats)


def author_sweeps(authors, width, burn_in, repeats, documents=5000, terms=2000):
    """CPU seconds of a sweep of topics of authors, beside Poisson factor analysis of the same
    counts as ``sampler="auto"`` draws it."""
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(documents), 100)
    words = (terms * rng.random(rows.size) ** 3).astype(int)
    x = sp.coo_array((np.ones(rows.size, int), (rows, words)), (documents, terms)).tocsr()
    author = rng.integers(0, authors, documents)
    return _medians({
        "author_topic": _Side(pgbn.zoo.author_topic(width), {"x": x, "author": author}, burn_in),
        "pfa": _Side(pgbn.zoo.pfa(width), {"x": x}, burn_in),
    }, repeats)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--width", type=int, default=50, help="communities")
    parser.add_argument("--burn-in", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    print(machine())
    sizes = [(10_000, 25_000), (10_000, 100_000), (10_000, 400_000), (40_000, 100_000)]
    found = graph_sweeps(sizes, arguments.width, arguments.burn_in, arguments.repeats)
    print(f"| vertices | edges | epm, K = {arguments.width}: seconds a sweep |")
    print("|---|---|---|")
    for (vertices, edges), seconds in found.items():
        print(f"| {vertices:,} | {edges:,} | {seconds:.2f} |")
    how = arguments.width, arguments.burn_in, arguments.repeats
    tensors = tensor_sweeps([50_000, 200_000, 800_000], *how)
    print(f"| non-zeros of 4 modes | bptf, K = {arguments.width}: seconds a sweep |\n|---|---|")
    for number, seconds in tensors.items():
        print(f"| {number:,} | {seconds:.2f} |")
    topics = author_sweeps(1000, *how)
    print(f"1,000 authors, 500,000 tokens: {topics['author_topic']:.2f} s a sweep, pfa "
          f"{topics['pfa']:.2f} s, ratio {topics['author_topic'] / topics['pfa']:.2f}")  # fmt: skip
    rows = [{"vertices": v, "edges": e, "seconds": s} for (v, e), s in found.items()]
    save(arguments.json, {"arguments": vars(arguments), "machine": machine(), "epm": rows})


if __name__ == "__main__":
    main()
