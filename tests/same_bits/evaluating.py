"""Generated documents, perplexity, topics and other numbers about a trained network."""

from __future__ import annotations

from typing import Any

import numpy as np

import pgbn
import pgbn as pg
from pgbn import evaluation

from .registry import case
from .training import documents, trained

__all__: list[str] = []

NAMES = [f"word{v}" for v in range(80)]


def _generated(link: str = "poisson", **options: Any) -> object:
    found = pg.generate_documents(trained(link), 300, seed=2, **options)
    return [found.counts, found.theta, found.c, found.phi, found.ranked(5)[:10]]


def _add_generated() -> None:
    case("documents/bernoulli", lambda threads: _generated("bernoulli"), (1,))
    case("documents/prior c", lambda threads: _generated(c="prior", length=20), (1,))


def _held_out(threads: int) -> object:
    seen, rest = pg.split_tokens(documents(), 0.8, seed=4)
    out = pg.HeldOut(rest, threads=threads)
    chain = pg.zoo.pgbn([10, 5]).chain({"x": seen}, seed=1, threads=threads)
    path = []
    for _ in range(3):
        out.add_chain(chain.sweep())
        path.append([out.last(), out.perplexity()])
    values = chain.values
    out.add(values["phi1"], values["theta1"])
    return [path, out.perplexity(), out.per_row()]


def _topics(threads: int) -> object:
    model, X = trained(depth=3).deepest, documents()
    graph = evaluation.topic_dag(model, model.depth, 0, vocabulary=NAMES)
    layers = range(1, model.depth + 1)
    phi = model.phi[0]
    return [
        [evaluation.project(model, t) for t in layers],
        [evaluation.topic_weights(model, t) for t in layers],
        [[vars(topic) for topic in evaluation.topics(model, t, 5, NAMES)] for t in layers],
        {str(node): entry for node, entry in graph.nodes(data=True)},
        {str((a, b)): entry for a, b, entry in graph.edges(data=True)},
        [evaluation.coherence(phi, X, measure) for measure in ("npmi", "umass")],
        evaluation.diversity(phi),
        evaluation.leading_terms(phi),
        evaluation.overdispersion(3, 0.7),
        evaluation.predicted_overdispersion(model),
        evaluation.variance_to_mean(X),
    ]


def _corpus(threads: int) -> object:
    rng = np.random.default_rng(0)
    words = ["ship", "wave", "storm", "butter", "flour", "oven", "Größe", "the"]
    texts = {f"text {n}": " ".join(rng.choice(words, 20)) for n in range(12)}
    found = pgbn.Corpus.from_texts(texts, stop_words="english", min_df=2, max_df=1.0)
    return [found.counts, found.vocabulary, found.names]


_add_generated()
case("evaluate/held-out perplexity", _held_out)
case("evaluate/topics", _topics, (1,))
case("corpus/count terms", _corpus, (1,))
