"""What trained networks look like: widths, topics by layer, the tree of a topic, new documents.

Reads the networks that multiclass.py (20newsgroups) or perplexity.py (NIPS12) saved and trains
nothing. Documents are generated with c at the medians of the training documents and shown by
their 100 leading words, as in the appendix of the paper. Writes structure.json and, to read,
structure/NETWORK.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from common import Results, arguments
from corpora import load_newsgroups, load_nips

import pgbn
from pgbn import evaluation


def describe(
    network: pgbn.TrainedNetwork, X: Any, vocabulary: list[str], documents: int, seed: int
) -> dict[str, Any]:
    """Everything that is said of a network."""
    depth, first = network.depth, network.phi[0]
    made = network.generate(documents, seed=seed)
    likely = [np.argsort(-(weights @ first), kind="stable")[:100] for weights in made["theta1"]]
    top = network.topics(depth, 1)[0]
    graph = network.to_networkx(top, top=8, vocabulary=vocabulary)
    return {
        "widths": list(network.widths),
        "topics": {
            str(t): [str(topic) for topic in network.topics(t, 12, vocabulary)]
            for t in range(1, depth + 1)
        },
        "tree": [[list(a), list(b), data["weight"]] for a, b, data in graph.edges(data=True)],
        "tree_terms": {
            f"{t}/{k}": data["terms"].split() for (t, k), data in graph.nodes(data=True)
        },
        "documents": [" ".join(vocabulary[v] for v in words) for words in likely],
        "npmi": float(evaluation.coherence(first, X).mean()),
        "umass": float(evaluation.coherence(first, X, "umass").mean()),
        "diversity": float(evaluation.diversity(first)),
        "overdispersion": float(np.mean(evaluation.overdispersion(network))),
    }


def to_markdown(record: dict[str, Any], topics: int = 10) -> str:
    """The page of a network."""
    lines = [f"Widths {', '.join(map(str, record['widths']))}.", ""]
    for layer in sorted(record["topics"], key=int, reverse=True):
        lines += [
            f"**Layer {layer}**, the weightiest topics (layer/topic, share, leading terms)",
            "",
        ]
        lines += [f"- {topic}" for topic in record["topics"][layer][:topics]] + [""]
    lines += [
        "**The weightiest topic of the top layer and what it is made of** (φ ≥ 0.05)",
        "",
        "```",
    ]
    lines += [*tree_lines(record), "```", "", "**Synthetic documents**, their leading words", ""]
    lines += [f"{i}. {words}" for i, words in enumerate(record["documents"], 1)]
    return "\n".join(lines) + "\n"


def tree_lines(record: dict[str, Any]) -> Iterator[str]:
    """The tree of a topic, indented; a topic that was shown before is not opened again."""
    below: dict[str, list[tuple[float, str]]] = {}
    for (t, k), (u, child), weight in record["tree"]:
        below.setdefault(f"{t}/{k}", []).append((weight, f"{u}/{child}"))
    shown: set[str] = set()

    def walk(name: str, depth: int, weight: float) -> Iterator[str]:
        again = " (above)" if name in shown and name in below else ""
        terms = " ".join(record["tree_terms"][name])
        yield f"{'  ' * depth}{name} {weight:.2f}  {terms}{again}"
        if name not in shown:
            shown.add(name)
            for part, child in sorted(below.get(name, []), reverse=True):
                yield from walk(child, depth + 1, part)

    yield from walk(next(iter(record["tree_terms"])), 0, 1.0)


def main(argv: Sequence[str] | None = None) -> None:
    def more(parser: Any) -> None:
        parser.add_argument("--corpus", choices=["20newsgroups", "nips12"], default="20newsgroups")
        parser.add_argument("--terms", type=int, default=0, help="of 20newsgroups; 0: all")
        parser.add_argument("--documents", type=int, default=10, help="synthetic documents")

    options = arguments(__doc__ or "", [50, 200, 600, 800], 5, argv, more)
    results = Results(options.out / "structure.json")
    if options.corpus == "nips12":
        X, terms = load_nips(options.data, quick=options.quick)
        name = "perplexity"
    else:
        corpus = load_newsgroups(options.data, options.terms, options.quick)
        X, terms = corpus["train"], corpus["vocabulary"]
        name = f"multiclass-V{len(terms)}"
    (options.out / "structure").mkdir(exist_ok=True)
    for width in options.widths:
        for seed in options.seeds:
            stem = f"{name}-K{width}-seed{seed}"
            path = deepest(options.out / "networks", stem, options.depth)
            if path is None:
                print(f"{stem}: not trained; see {name.partition('-')[0]}.py")
                continue
            if path.name not in results:
                network = pgbn.load(path)
                record = describe(network, X, [str(t) for t in terms], options.documents, seed)
                (options.out / "structure" / f"{path.name}.md").write_text(to_markdown(record))
                results.add(path.name, corpus=options.corpus, terms=len(terms), max_width=width,
                            depth=network.depth, seed=seed, **record)  # fmt: skip


def deepest(folder: Path, stem: str, depth: int) -> Path | None:
    """The network with most layers among those that were saved."""
    paths = [folder / f"{stem}-T{t}" for t in range(depth, 0, -1)]
    return next((path for path in paths if (path / "model.json").exists()), None)


if __name__ == "__main__":
    main()
