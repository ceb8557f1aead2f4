"""Topics of higher layers as distributions over terms, and how topics hang together.

    Ψ^(t) = Φ^(1) Φ^(2) … Φ^(t),   columns sum to one                   (paper, section 3)

Rows are topics, as everywhere in pgbn: row k of Ψ^(t) is topic k of layer t over the terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_integer, is_finite_number, is_integral, term_names
from pgbn.errors import DataError, printable
from pgbn.evaluation.relevance import rank_words, relevance_of
from pgbn.training.trained import TrainedNetwork, check_layer, trained_network

__all__ = [
    "Topic",
    "corpus_shares",
    "leading_words",
    "project",
    "token_count",
    "topic_dag",
    "topic_weights",
    "topics",
    "usual_length",
]

Names = Sequence[str] | Mapping[str, int]


@dataclass(frozen=True)
class Topic:
    """A topic of a layer: its number, its share of the corpus, its leading terms, and the
    label that somebody gave it, if any."""

    layer: int
    index: int
    weight: float
    terms: tuple[str, ...]
    probabilities: tuple[float, ...]
    label: str = ""

    def __str__(self) -> str:
        label = f"{self.label}: " if self.label else ""
        shown = f"{self.layer}/{self.index} ({self.weight:.1%}) {label}{' '.join(self.terms)}"
        return printable(shown, one_line=True)


def project(model: TrainedNetwork, layer: int) -> NDArray[np.float64]:
    """Ψ^(layer), (K_layer, V): rows sum to one."""
    model = trained_network(model)
    layer = check_layer(model, layer)
    psi = model.phi[layer - 1].copy()  # the caller's own, whatever the layer
    for t in range(layer - 2, -1, -1):
        psi = psi @ model.phi[t]
    return psi


def topic_weights(model: TrainedNetwork, layer: int) -> NDArray[np.float64]:
    """The share of the corpus that each topic of a layer accounts for, summing to one.

    That of the tokens of the training documents where it is known (`pgbn.training.shares`), else
    what r implies, Φ^(t+1) ⋯ Φ^(T) r.
    """
    model = trained_network(model)
    layer = check_layer(model, layer)
    if model.weights:
        weight = model.weights[layer - 1]
    else:
        weight = model.r
        for t in range(model.depth - 1, layer - 1, -1):
            weight = weight @ model.phi[t]
    total = weight.sum()
    return np.asarray(weight / total if total > 0 else np.full(weight.size, 1.0 / weight.size))


def corpus_shares(model: TrainedNetwork) -> NDArray[np.float64]:
    """p_v, the share of every term in what the model was trained on: Σ_k w_k φ^(1)_kv."""
    model = trained_network(model)
    return np.asarray(topic_weights(model, 1) @ model.phi[0])


def usual_length(model: TrainedNetwork) -> float:
    """r_· / Π_t c^(t), the expected count of a document with the median rates of the training
    documents; 0 if these are not known."""
    model = trained_network(model)
    rates = float(np.prod(model.c))
    return float(model.r.sum()) / rates if rates > 0 else 0.0


def token_count(model: TrainedNetwork) -> float:
    """Σ_kj θ^(1)_kj, the expected number of tokens in what the model was trained on; 0 if it is not
    known."""
    model = trained_network(model)
    return float(model.weights[0].sum()) if model.weights else 0.0


def leading_words(
    model: TrainedNetwork, layer: int, top: int = 10, relevance: float | None = None
) -> NDArray[np.int64]:
    """(K, top): the columns of the terms that stand for each topic of a layer, see `topics`."""
    model = trained_network(model)
    layer, top = check_layer(model, layer), check_integer("top", top, 1)
    lam = relevance_of(layer, relevance)
    shares, length, tokens = corpus_shares(model), usual_length(model), token_count(model)
    held = tokens * topic_weights(model, layer) if tokens else None
    return rank_words(project(model, layer), shares, lam, top, length, held)


def topics(
    model: TrainedNetwork,
    layer: int = 1,
    top: int = 10,
    vocabulary: Names | None = None,
    relevance: float | None = None,
) -> list[Topic]:
    """The topics of a layer, the weightiest first, each with its ``top`` terms.

    ``model`` is a trained network, the result of `train_layerwise` or a fitted estimator;
    ``vocabulary`` has the names of the terms in their order, or is a dict from names to columns;
    if left out, it is the one that the model was saved with. Terms are ranked by ``relevance`` λ,
    λ ln p + (1 − λ) ln(p / corpus): 1 is their probability p, the default in the first layer; above
    it λ = 0.3 is, since the likeliest terms of all topics there are the same common ones.
    """
    model = trained_network(model)
    layer = check_layer(model, layer)
    leading = leading_words(model, layer, top, relevance)
    names = _names(model, vocabulary)
    psi, weight = project(model, layer), topic_weights(model, layer)
    out = []
    for k in np.argsort(-weight, kind="stable"):
        terms = tuple(names[v] for v in leading[k])
        shares = tuple(float(psi[k, v]) for v in leading[k])
        label = model.labels.get((layer, int(k)), "")
        out.append(Topic(layer, int(k), float(weight[k]), terms, shares, label))
    return out


def topic_dag(
    model: TrainedNetwork,
    layer: int,
    index: int,
    threshold: float = 0.05,
    top: int = 5,
    vocabulary: Names | None = None,
) -> nx.DiGraph:
    """A topic and the topics below it that it is made of: edges with φ ≥ ``threshold``.

    Nodes are (layer, index) with the attributes ``weight`` and ``terms`` (ranked as in `topics`);
    an edge goes from a topic to one of the layer below, with ``weight`` φ^(t). A topic with no edge
    above the threshold keeps its strongest one. A node may have several parents: it is a DAG, not
    always a tree.
    """
    model = trained_network(model)
    layer, top = check_layer(model, layer), check_integer("top", top, 1)
    if not is_integral(index) or not 0 <= index < model.widths[layer - 1]:
        raise DataError(
            f"index={index!r}: layer {layer} has topics 0 to {model.widths[layer - 1] - 1}"
        )
    if not is_finite_number(threshold) or not 0 <= threshold <= 1:
        raise DataError(f"threshold={threshold!r} must be a number from 0 to 1, as φ is")
    names = _names(model, vocabulary)
    graph = nx.DiGraph()
    level = [int(index)]
    for t in range(layer, 0, -1):
        leading, weight = leading_words(model, t, top), topic_weights(model, t)
        below: dict[int, None] = {}
        for k in level:
            terms = tuple(names[v] for v in leading[k])
            graph.add_node((t, k), weight=float(weight[k]), terms=terms)
            if t == 1:
                continue
            row = model.phi[t - 1][k]
            children = np.flatnonzero(row >= threshold)
            for child in children if children.size else [int(np.argmax(row))]:
                graph.add_edge((t, k), (t - 1, int(child)), weight=float(row[child]))
                below[int(child)] = None
        level = list(below)
    return graph


def _names(model: TrainedNetwork, vocabulary: Names | None) -> Sequence[str]:
    if vocabulary is None:
        vocabulary = model.vocabulary  # those that it was saved with
    return term_names(vocabulary, model.vocabulary_size)
