"""Inferred widths, topics by layer, the tree of a topic and synthetic documents.

20newsgroups, all terms, trained as in multiclass.py (the same networks, if they are there). c is at
the medians of the training documents; a synthetic document is shown by its 100 leading words.
"""

from __future__ import annotations

from typing import Any

from common import Results, arguments, keep_terms, load_newsgroups, train_depths

import pgbn
from pgbn import evaluation


def main() -> None:
    def more(parser: Any) -> None:
        parser.add_argument("--terms", type=int, default=0, help="most frequent terms; 0: all")
        parser.add_argument("--documents", type=int, default=10, help="synthetic documents")

    options = arguments(__doc__ or "", [50, 200, 600, 800], 5, more)
    results = Results(options.out / "structure.json")
    corpus = load_newsgroups(options)
    if options.terms and not options.quick:
        corpus = keep_terms(corpus, options.terms)
    train, vocabulary = corpus["train"], [str(term) for term in corpus["vocabulary"]]
    for seed in options.seeds:
        for width in options.widths:
            later = 1000 if width <= 400 else 500
            for network, seconds in train_depths(
                train, width, options, f"multiclass-V{len(vocabulary)}", seed,
                burn_in=[1000, *[later] * (options.depth - 1)], collect=500, eta=0.05,
            ):  # fmt: skip
                key = f"V={len(vocabulary)} K1max={width} T={network.depth} seed={seed}"
                if key in results:
                    continue
                depth = network.depth
                made = pgbn.generate_documents(network, options.documents, seed=seed)
                leading = evaluation.topics(network, depth, 20, vocabulary)
                graph = evaluation.topic_dag(network, depth, leading[0].index, 0.05, 8, vocabulary)
                first = network.phi[0]
                results.add(
                    key, widths=network.widths, depth=depth, max_width=width, seed=seed,
                    training_seconds=seconds,
                    npmi=float(evaluation.coherence(first, train).mean()),
                    umass=float(evaluation.coherence(first, train, "umass").mean()),
                    diversity=evaluation.diversity(first),
                    topics={t: [str(topic) for topic in
                                evaluation.topics(network, t, 12, vocabulary)[:30]]
                            for t in range(1, depth + 1)},
                    tree=[[list(a), list(b), data["weight"]]
                          for a, b, data in graph.edges(data=True)],
                    documents=[" ".join(words) for words in made.ranked(100, vocabulary)],
                    overdispersion=float(evaluation.predicted_overdispersion(network).mean()),
                )  # fmt: skip


if __name__ == "__main__":
    main()
