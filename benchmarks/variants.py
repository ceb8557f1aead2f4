"""Variants of Poisson factor analysis: the cost of a sweep beside that of the plain model.

    python -m benchmarks.variants --data ../shared/data/20newsgroups.npz --vocabulary 2000

Each variant is swept in turn with the plain model, on one thread, as ``sampler="auto"`` draws it
and by the composed rules; the ratios are of medians of CPU time. The last line is about new rows
of a belief network of two layers: drawn by the kernels for chains of gamma layers ("plain"), and
by the general way.
"""

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np

import pgbn
from benchmarks.networks import machine, measure, save
from benchmarks.sweep import load
from pgbn import Dirichlet, Gamma, Network, Poisson
from pgbn.engine.rows.gamma_chain import ChainPattern, find_chain
from pgbn.engine.rows.independent import row_network
from pgbn.engine.rows.infer import infer_rows

DIMS = ("doc", "term")
NEW_ROWS = "new rows, T = 2: general way ÷ kernels"


def scores(topics, rate=None):
    """θ_jk ~ Gam(r_k, c_j), with the priors of the plain model."""
    r = Gamma("r", Gamma("gamma0", 0.01, 0.01) / topics, Gamma("c0", 1, 1), dims="topic")
    rate = pgbn.BetaOdds("p", 0.01, 0.01, dims="doc") if rate is None else rate
    return Gamma("theta", r, rate, dims=("doc", "topic"))


def topics_of(name="phi", over="term", eta=0.05):
    return Dirichlet(name, eta, over=over, dims="topic")


def plain(topics):
    return Network(Poisson("x", topics_of() @ scores(topics), dims=DIMS), sizes={"topic": topics})


def inferred_eta(topics):
    phi = topics_of(eta=Gamma("eta", 1, 10))
    return Network(Poisson("x", phi @ scores(topics), dims=DIMS), sizes={"topic": topics})


def size_factor(topics):
    size = Gamma("size", 1, 1, dims="doc")
    rate = size * (topics_of() @ scores(topics, Gamma("c", 1, 1, dims="doc")))
    return Network(Poisson("x", rate, dims=DIMS), sizes={"topic": topics})


def size_by_group(topics):
    group = pgbn.Categories("group", dims="doc", of="team")
    size = Gamma("size", 1, 1, dims="team")[group]
    rate = size * (topics_of() @ scores(topics, Gamma("c", 1, 1, dims="doc")))
    return Network(Poisson("x", rate, dims=DIMS), sizes={"topic": topics})


def scores_by_author(topics):
    r = Gamma("r", Gamma("gamma0", 0.01, 0.01) / topics, Gamma("c0", 1, 1), dims="topic")
    theta = Gamma("theta", r, Gamma("c", 1, 1, dims="writer"), dims=("writer", "topic"))
    author = pgbn.Categories("author", dims="doc", of="writer")
    return Network(Poisson("x", topics_of() @ theta[author], dims=DIMS), sizes={"topic": topics})


def background(topics):
    usual = Dirichlet("usual", 0.05, over="term") * Gamma("amount", 1, 1, dims="doc")
    rate = topics_of() @ scores(topics) + usual
    return Network(Poisson("x", rate, dims=DIMS), sizes={"topic": topics})


def two_modalities(topics):
    theta = scores(topics, Gamma("c", 1, 1, dims="doc"))
    return Network(
        Poisson("x", topics_of() @ theta, dims=DIMS),
        Poisson("y", topics_of("psi", "tag") @ theta, dims=("doc", "tag")),
        sizes={"topic": topics},
    )


def binary(topics):
    x = pgbn.BernoulliPoisson("x", topics_of() @ scores(topics), dims=DIMS)
    return Network(x, sizes={"topic": topics})


@dataclass
class Variant:
    """A network for K topics, its K, the ratio that is the aim (or None), and the data it takes."""

    name: str
    network: Any
    topics: tuple[int, ...]
    most: float | None
    data: Any = lambda counts: {"x": counts}


def _numbered(name, rows_each):
    """Every row with the number of its group, of which each has some rows of all parts of the
    corpus."""
    return lambda counts: {
        "x": counts,
        name: np.arange(counts.shape[0]) % (counts.shape[0] // rows_each),
    }


def _halves(counts):
    """The terms at random in two nodes."""
    first = np.random.default_rng(0).random(counts.shape[1]) < 0.5
    return {"x": counts[:, np.flatnonzero(first)], "y": counts[:, np.flatnonzero(~first)]}


VARIANTS = (
    Variant("η inferred", inferred_eta, (100, 400), 1.5),
    Variant("size factor by row", size_factor, (100, 400), 1.5),
    Variant("size factor of groups of 20 rows", size_by_group, (100, 400), None,
            _numbered("group", 20)),
    Variant("scores of authors of 4 rows", scores_by_author, (100, 400), None,
            _numbered("author", 4)),
    Variant("background topic", background, (100, 400), 1.5),
    Variant("two modalities", two_modalities, (100,), 1.7, _halves),
    Variant("Bernoulli–Poisson link", binary, (100,), 2.0, lambda counts: {"x": counts > 0}),
)  # fmt: skip


class Side:
    """A chain whose sweeps are timed."""

    def __init__(self, network, data, sampler, burn_in):
        self.chain = network.chain(data, seed=1, sampler=sampler, threads=1).sweep(burn_in)

    def sweep(self):
        self.chain.sweep()


def compare(variant, topics, counts, burn_in, repeats):
    """CPU milliseconds of the plain model, of a variant, and of the variant by composed rules."""
    data = variant.data(counts)
    sides = {
        "plain": Side(plain(topics), {"x": counts}, "auto", burn_in),
        "auto": Side(variant.network(topics), data, "auto", burn_in),
        "composed": Side(variant.network(topics), data, "composed", 1),
    }
    times = measure(sides, repeats)
    found = {name: 1e3 * float(np.median([cpu for cpu, _ in each])) for name, each in times.items()}
    return {**found, "sampler": sides["auto"].chain.sampler}


class NewRows:
    """Rows that are inferred by one of two ways."""

    def __init__(self, network, given, rows, kernels):
        self.network, self.given, self.rows, self.kernels = network, given, rows, kernels
        chain = find_chain(row_network(network, "doc"), "doc")
        assert isinstance(chain, ChainPattern), chain
        self.nodes = chain.scores  # the kernels tell of no others

    def sweep(self):
        infer_rows(self.network, {"x": self.rows}, self.given, burn_in=20, draws=20, threads=1,
                   nodes=self.nodes, kernels=self.kernels)  # fmt: skip


def compare_new_rows(counts, topics, rows, burn_in, repeats):
    """CPU milliseconds of 40 sweeps of some rows by kernels and by the general way."""
    network = pgbn.zoo.pgbn([topics, topics])
    chain = network.chain({"x": counts}, seed=1, threads=1).sweep(burn_in)
    given = {name: chain.values[name] for name in network.latent}
    sides = {name: NewRows(network, given, counts[:rows], name == "kernels")
             for name in ("kernels", "general")}  # fmt: skip
    measure(sides, 1)  # compiled before it is timed
    times = measure(sides, repeats)
    return {name: 1e3 * float(np.median([cpu for cpu, _ in each])) for name, each in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="an .npz file as in shared/data")
    parser.add_argument("--vocabulary", type=int, help="keep the most frequent terms")
    parser.add_argument("--topics", type=int, nargs="+", help="only these K")
    parser.add_argument("--only", nargs="+", help="only variants with one of these words")
    parser.add_argument("--rows", type=int, default=1000, help="new rows that are inferred")
    parser.add_argument("--burn-in", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    counts = load(arguments.data, arguments.vocabulary)
    print(f"{counts.shape[0]} × {counts.shape[1]}, {counts.sum()} tokens; {machine()}")
    print("| variant | K | plain, ms | variant, ms | ratio | at most | sampler | composed, ratio |")
    print("|---|---|---|---|---|---|---|---|")
    results = []

    def wanted(name, topics):
        chosen = not arguments.topics or topics in arguments.topics
        return chosen and (not arguments.only or any(word in name for word in arguments.only))

    for variant in VARIANTS:
        for topics in filter(lambda k, name=variant.name: wanted(name, k), variant.topics):
            found = compare(variant, topics, counts, arguments.burn_in, arguments.repeats)
            ratio, slow = found["auto"] / found["plain"], found["composed"] / found["plain"]
            print(f"| {variant.name} | {topics} | {found['plain']:.0f} | {found['auto']:.0f} | "
                  f"{ratio:.2f} | {variant.most or '–'} | {found['sampler']} | {slow:.1f} |",
                  flush=True)  # fmt: skip
            results.append({"variant": variant.name, "topics": topics, "ratio": ratio,
                            "at_most": variant.most, "composed_ratio": slow, **found})  # fmt: skip
    if wanted(NEW_ROWS, 100):
        found = compare_new_rows(counts, 100, arguments.rows, arguments.burn_in, 3)
        ratio = found["general"] / found["kernels"]
        print(f"| {NEW_ROWS} | 100 | {found['kernels']:.0f} | {found['general']:.0f} | "
              f"{ratio:.2f} | 6 | | |")  # fmt: skip
        results.append({"variant": NEW_ROWS, "topics": 100, "ratio": ratio, "at_most": 6, **found})
    save(arguments.json, {"arguments": vars(arguments), "machine": machine(), "results": results})


if __name__ == "__main__":
    main()
