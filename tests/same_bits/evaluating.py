"""Generated documents, perplexity, topics and other numbers about a trained network."""

from __future__ import annotations

from typing import Any

import numpy as np

import pgbn
import pgbn as pg
from pgbn import evaluation
from pgbn.evaluation.layer_quality import leading_terms

from .registry import case
from .training import documents, trained

__all__: list[str] = []

NAMES = [f"word{v}" for v in range(80)]


def _generated(link: str = "poisson", **options: Any) -> object:
    model = trained(link).deepest
    made = model.generate(300, seed=2, **options)
    theta = tuple(made[f"theta{t}"] for t in range(1, model.depth + 1))
    rates = [made[name] for name in ("p2", "c3", "c4")[: model.depth]]
    likely = [
        np.argsort(-(row @ model.phi[0]), kind="stable")[:5].tolist() for row in theta[0][:10]
    ]
    return [made["x"], theta, np.stack(rates, axis=1), model.phi[0], likely]


def _add_generated() -> None:
    case("documents/bernoulli", lambda threads: _generated("bernoulli"), (1,))
    case("documents/prior c", lambda threads: _generated(c="prior", length=20), (1,))


def _held_out(threads: int) -> object:
    seen, rest = pg.evaluation.split_tokens(documents(), 0.8, seed=4)
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
    counts = X.astype(np.float64)
    graph = model.to_networkx((model.depth, 0), vocabulary=NAMES)
    layers = range(1, model.depth + 1)
    phi = model.phi[0]
    return [
        [model.topic_terms(t) for t in layers],
        [model.topic_weights(t) for t in layers],
        [[vars(topic) for topic in model.topics(t, 5, NAMES)] for t in layers],
        {
            str(node): {"weight": entry["weight"], "terms": tuple(entry["terms"].split())}
            for node, entry in graph.nodes(data=True)
        },
        {str((a, b)): entry for a, b, entry in graph.edges(data=True)},
        [evaluation.coherence(phi, X, measure) for measure in ("npmi", "umass")],
        evaluation.diversity(phi),
        leading_terms(phi),
        (1.0 + (3 - 1) * 0.7) / (1.0 - 0.7),
        evaluation.overdispersion(model),
        counts.var(axis=0, ddof=1) / counts.mean(axis=0),
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
