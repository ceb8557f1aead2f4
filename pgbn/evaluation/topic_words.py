"""Topics of higher layers as distributions over terms, and how topics are related.

    Ψ^(t) = Φ^(1) Φ^(2) … Φ^(t),   columns sum to one                   (paper, section 3)

Rows are topics, as everywhere in pgbn: row k of Ψ^(t) is topic k of layer t over the terms.

Topics are found by a word, by similarity, and across chains:

    p(k | v) ∝ w_k ψ_kv,   affinity(k, l) = Σ_v √(ψ_kv ψ_lv) ∈ [0, 1]

The affinity (Bhattacharyya) is 1 for equal topics and 0 for those that share no term.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from pgbn.checks import check_integer, is_finite_number, is_integral, listed, term_names
from pgbn.errors import DataError, did_you_mean, printable
from pgbn.training.trained import TrainedNetwork, check_layer, trained_network

# ---- relevance: which words stand for a topic -------------------------------------------------
#
#     relevance_λ(v | k) = λ ln ψ_kv + (1 − λ) ln(ψ_kv / p_v),   p = the share of v in the corpus
#
# λ = 1 ranks words by their probability, a smaller λ prefers words that the topic uses more than
# the corpus does (Sievert & Shirley, LDAvis, 2014). Topics of the upper layers are mixtures of many
# topics below, so their most probable words are the same common ones. The default λ is 1 in the
# first layer, and 0.3 above it.
#
# Rarity alone is no merit: rare words hardly ever meet in one text. So p_v has a floor, 0.02 / L,
# the share of a word that occurs in every fiftieth text of usual length L. Only words above it lose
# by being common everywhere; all others are ranked by their probability. The floor lies between the
# shares of the words at which a tenth and a half of all tokens are reached, the commonest first. If
# L is unknown, it is the former.
#
# A topic of a few tokens does not show well what it has more of than the corpus. So the ratio is
# drawn towards 1, as if s = 2000 more tokens of the topic, spread as in the corpus, had been seen:
#
#     (n_k ψ_kv / p_v + s) / (n_k + s),   n_k = the tokens that the topic holds


UPPER_RELEVANCE = 0.3  # λ of the layers above the first
_FEW, _MANY = 0.1, 0.5  # of all tokens: at least and at most, words that may lose by being common
_SELDOM = 0.02  # times in a text of usual length: rarer words gain nothing
_UNSURE = 2000.0  # tokens, s: ratios of topics with fewer count for little
_LEAST = 1e-6  # a word that is rare in a topic does not represent it
Matrix = NDArray[np.float64]


def relevance_of(layer: int, relevance: Any = None) -> float:
    """λ: the given one, or the default of the layer."""
    if relevance is None:
        return 1.0 if layer == 1 else UPPER_RELEVANCE
    if not is_finite_number(relevance) or not 0 <= relevance <= 1:
        raise DataError(
            f"relevance={relevance!r} must be a number from 0 to 1: 1 ranks words by probability, "
            "smaller ones put the words first that are more frequent in the topic than elsewhere"
        )
    return float(relevance)


def with_floor(common: Matrix, length: float = 0.0) -> Matrix:
    """The shares of words in a corpus, with the floor of a word that is rare in texts of this
    ``length`` (0 if unknown)."""
    falling = np.sort(common)[::-1]
    reached = np.cumsum(falling)
    if not reached.size or not reached[-1] > 0:
        return common
    most, least = falling[np.searchsorted(reached, np.array([_FEW, _MANY]) * reached[-1])]
    if np.isfinite(length) and length > 0:
        least = min(max(_SELDOM / length * reached[-1], least), most)
    else:
        least = most
    return np.asarray(np.maximum(common, least), np.float64)


def draw_of(held: Matrix | None) -> Matrix | float:
    """s / n_k: how far the ratios of topics with these numbers of tokens are drawn towards 1; 0 if
    the numbers are unknown."""
    return 0.0 if held is None else _UNSURE / np.maximum(np.asarray(held, np.float64), 1e-9)


def rank_words(
    psi: Matrix,
    common: Matrix,
    relevance: float,
    top: int,
    length: float = 0.0,
    held: Matrix | None = None,
) -> NDArray[np.int64]:
    """The ``top`` words of each topic of ``psi`` (K, V), the most relevant first; equal ones in the
    order of the vocabulary. ``common`` are the shares of the words in the corpus, whose texts have
    a usual ``length`` (0 if unknown), and ``held`` are the tokens of each topic."""
    if relevance == 1.0:
        return np.argsort(-psi, axis=1, kind="stable")[:, :top]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = psi / with_floor(common, length) + np.reshape(draw_of(held), (-1, 1))
        score = relevance * np.log(psi) + (1.0 - relevance) * np.log(ratio)
    # Words below the least come last, by probability: their ln ψ is below that of all others.
    rare = (psi < _LEAST) | np.isnan(score)
    score = np.where(rare, np.log(np.maximum(psi, 1e-300)) - 1e4, score)
    return np.argsort(-score, axis=1, kind="stable")[:, :top]


Names = Sequence[str] | Mapping[str, int]


def topic_name(layer: int, index: int) -> str:
    """What a topic is called in columns, frames and lists."""
    return f"layer{layer}_topic{index}"


@dataclass(frozen=True)
class Topic:
    """A topic of a layer: its number, its share of the corpus (``weight``), its leading ``terms``
    with their ``probabilities``, and its ``label`` if a reader gave one."""

    layer: int
    index: int
    weight: float
    terms: tuple[str, ...]
    probabilities: tuple[float, ...]
    label: str = ""

    @property
    def name(self) -> str:
        """Such as "layer1_topic0"."""
        return topic_name(self.layer, self.index)

    def __str__(self) -> str:
        label = f"{self.label}: " if self.label else ""
        shown = f"{self.name} ({self.weight:.1%}) {label}{' '.join(self.terms)}"
        return printable(shown, one_line=True)


def topic_terms(model: TrainedNetwork, layer: int) -> NDArray[np.float64]:
    """Ψ^(layer), (K_layer, V): rows sum to one."""
    model = trained_network(model)
    layer = check_layer(model, layer)
    psi = reduce(np.matmul, model.phi[layer - 1 :: -1])
    return psi.copy() if layer == 1 else psi  # the caller's own


def topic_weights(model: TrainedNetwork, layer: int) -> NDArray[np.float64]:
    """The share of the corpus that each topic of a layer accounts for, summing to one.

    It is the share of the tokens of the training documents if the model has it
    (`pgbn.training.trained`), else the one that r implies, Φ^(t+1) ⋯ Φ^(T) r.
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


def usual_length(model: TrainedNetwork) -> float:
    """r_· / Π_t c^(t), the expected count of a document with the median rates of the training
    documents; 0 if these are unknown."""
    rates = float(np.prod(model.c))
    return float(model.r.sum()) / rates if rates > 0 else 0.0


def token_count(model: TrainedNetwork) -> float:
    """Σ_kj θ^(1)_kj, the expected number of tokens in the training documents; 0 if it is
    unknown."""
    return float(model.weights[0].sum()) if model.weights else 0.0


def leading_words(
    model: TrainedNetwork, layer: int, top: int = 10, relevance: float | None = None
) -> NDArray[np.int64]:
    """(K, top): the columns of the terms that represent each topic of a layer, see `topics`."""
    model = trained_network(model)
    layer, top = check_layer(model, layer), check_integer("top", top, 1)
    lam, length, tokens = relevance_of(layer, relevance), usual_length(model), token_count(model)
    common = topic_weights(model, 1) @ model.phi[0]  # the share of every term in the corpus
    held = tokens * topic_weights(model, layer) if tokens else None
    return rank_words(topic_terms(model, layer), common, lam, top, length, held)


def topics(
    model: Any,
    layer: int = 1,
    top: int = 10,
    vocabulary: Names | None = None,
    relevance: float | None = None,
) -> list[Topic]:
    """The topics of a layer, the largest first; see `pgbn.TrainedNetwork.topics`."""
    model = trained_network(model)
    layer = check_layer(model, layer)
    leading = leading_words(model, layer, top, relevance)
    given = model.vocabulary if vocabulary is None else vocabulary
    names = term_names(given, model.vocabulary_size)
    psi, weight = topic_terms(model, layer), topic_weights(model, layer)
    out = []
    for k in np.argsort(-weight, kind="stable"):
        terms = tuple(names[v] for v in leading[k])
        shares = tuple(float(psi[k, v]) for v in leading[k])
        label = model.labels.get((layer, int(k)), "")
        out.append(Topic(layer, int(k), float(weight[k]), terms, shares, label))
    return out


def place_of(model: TrainedNetwork, topic: Any, layer: int = 1) -> tuple[int, int]:
    """The layer and the number of a topic: from its name, (layer, number), a `Topic`, or its number
    in ``layer``."""
    if isinstance(topic, Topic):
        topic = (topic.layer, topic.index)
    elif isinstance(topic, str) and (
        found := re.fullmatch(r"layer(\d{1,9})_topic(\d{1,9})", topic)
    ):
        topic = (int(found[1]), int(found[2]))
    if isinstance(topic, tuple) and len(topic) == 2:
        if layer not in (1, topic[0]):
            name = topic_name(*topic)
            raise DataError(f"topic={name}, but layer={layer!r:.60}; omit layer")
        layer, topic = topic
    layer = check_layer(model, layer)
    most = model.widths[layer - 1] - 1
    if not is_integral(topic) or not 0 <= topic <= most:
        raise DataError(
            f"topic={topic!r:.60}: layer {layer} has topics 0 to {most}; give a number or a name, "
            f"such as {topic_name(layer, 0)!r}"
        )
    return layer, int(topic)


def topics_graph(
    model: Any,
    topic: Any = None,
    threshold: float = 0.05,
    top: int = 5,
    relevance: float | None = None,
    vocabulary: Names | None = None,
) -> nx.DiGraph:
    """All topics, or one with those that compose it; see `pgbn.TrainedNetwork.to_networkx`."""
    model = trained_network(model)
    place = None if topic is None else place_of(model, topic)
    if not is_finite_number(threshold) or not 0 <= threshold <= 1:
        raise DataError(f"threshold={threshold!r} must be a number from 0 to 1, as φ is")
    graph = nx.DiGraph()
    for layer in range(model.depth if place is None else place[0], 0, -1):
        for each in topics(model, layer, top, vocabulary, relevance):
            at = (layer, each.index)
            graph.add_node(at, layer=layer, weight=each.weight, label=each.label,
                           terms=" ".join(each.terms))  # fmt: skip
            row = model.phi[layer - 1][each.index] if layer > 1 else np.zeros(0)
            below = np.flatnonzero(row >= threshold)
            for k in below if below.size or layer == 1 else [int(np.argmax(row))]:
                graph.add_edge(at, (layer - 1, int(k)), weight=float(row[k]))
    if place is None:
        return graph
    return graph.subgraph({place, *nx.descendants(graph, place)}).copy()


def groups_for(model: Any, to: int, layer: int = 1) -> list[tuple[int, ...]]:
    """Groups of topics that leave ``to`` of them in a layer, for `pgbn.TrainedNetwork.merge`.

    Topics are merged in pairs, always the pair that loses least, by Ward's rule on the roots of
    their probabilities (Hellinger distances):

        loss(k, l) = w_k w_l / (w_k + w_l) · Σ_v (√ψ_kv − √ψ_lv)²,   w the shares of the topics.

    Small topics and duplicate topics go first.
    """
    model = trained_network(model)
    layer = check_layer(model, layer)
    width = model.widths[layer - 1]
    if not is_integral(to) or not 1 <= to <= width:
        raise DataError(f"to={to!r}: layer {layer} has {width} topics; give a number from 1 to it")
    psi, weight = topic_terms(model, layer), topic_weights(model, layer).copy()
    root, groups = np.sqrt(psi), [[k] for k in range(width)]
    overlap = root @ root.T
    alive = np.ones(width, bool)
    for _ in range(width - int(to)):
        both = weight[:, None] + weight
        loss = np.outer(weight, weight) / np.where(both > 0, both, 1.0) * (2 - 2 * overlap)
        loss[~alive] = loss[:, ~alive] = np.inf
        np.fill_diagonal(loss, np.inf)
        k, l = sorted(divmod(int(np.argmin(loss)), width))
        total = weight[k] + weight[l]
        share = weight[k] / total if total > 0 else 0.5
        psi[k] = share * psi[k] + (1 - share) * psi[l]
        weight[k], weight[l], alive[l] = total, 0.0, False
        groups[k] += groups[l]
        root[k] = np.sqrt(psi[k])
        overlap[k] = overlap[:, k] = root @ root[k]
    return [tuple(sorted(group)) for group, here in zip(groups, alive, strict=True) if here]


def find_topics(
    model: Any,
    words: str | Sequence[str],
    layer: int = 1,
    n: int = 5,
    vocabulary: Names | None = None,
) -> list[tuple[Topic, float]]:
    """The topics with most of some words; see `pgbn.TrainedNetwork.find_topics`."""
    model = trained_network(model)
    layer, n = check_layer(model, layer), check_integer("n", n, 1)
    share = _shares(model, layer, _columns(model, words, vocabulary)).mean(axis=1)
    named = {topic.index: topic for topic in topics(model, layer, 10, vocabulary)}
    order = np.argsort(-share, kind="stable")[:n]
    return [(named[int(k)], float(share[k])) for k in order]


def keyword_labels(
    model: Any,
    keywords: Mapping[str, str | Sequence[str]],
    layer: int = 1,
    vocabulary: Names | None = None,
) -> dict[tuple[int, int], str]:
    """Labels for `TrainedNetwork.with_labels`: each goes to the topic that has most of its words,
    {"weather": ["rain", "sun"]}. Two labels of one topic are joined."""
    if not isinstance(keywords, Mapping):
        raise DataError(f"keywords={keywords!r:.60}: give a dict such as {{'weather': ['rain']}}")
    found: dict[tuple[int, int], str] = {}
    for label, words in keywords.items():
        (topic, _), *_ = find_topics(model, words, layer, 1, vocabulary)
        place = (topic.layer, topic.index)
        found[place] = f"{found[place]} / {label}" if place in found else str(label)
    return found


def topic_similarity(model: Any, layer: int = 1) -> Matrix:
    """(K, K): the affinity of each two topics of a layer."""
    root = np.sqrt(topic_terms(model, layer))
    return np.asarray(np.minimum(root @ root.T, 1.0))


def topic_stability(models: Sequence[Any], layer: int = 1) -> Matrix:
    """How alike the topics of the first model are with those of other models of the same data.

    Topics are matched one to one, so that the sum of affinities Σ_v √(ψ_kv ψ_lv) is largest. An
    affinity far below 1 marks a topic that depends on the seed.

    Parameters
    ----------
    models
        Two or more trained models, fitted to the same terms with different seeds.
    layer
        The number of a layer, from 1.

    Returns
    -------
    numpy.ndarray
        (others, K): the affinity of each topic of the first model with its match.

    Examples
    --------
    >>> import numpy as np
    >>> import pgbn
    >>> phi = np.array([[0.7, 0.3, 0.0], [0.0, 0.4, 0.6]])
    >>> one, two = (
    ...     pgbn.TrainedNetwork.of_topics((each,), r=np.ones(2), c=np.ones(1))
    ...     for each in (phi, phi[::-1])
    ... )
    >>> pgbn.evaluation.topic_stability([one, two]).round(2)
    array([[1., 1.]])
    """
    given = listed("models", models, "give a list of models, fitted with different seeds")
    networks = [trained_network(each, "models") for each in given]
    if len(networks) < 2:
        raise DataError("models: give at least two, fitted with different seeds")
    sizes = {network.vocabulary_size for network in networks}
    if len(sizes) > 1:
        raise DataError(f"models: of {sorted(sizes)} terms; give chains of the same data")
    first = np.sqrt(topic_terms(networks[0], layer))
    out = np.zeros((len(networks) - 1, len(first)))
    for row, other in zip(out, networks[1:], strict=True):
        affinity = np.minimum(first @ np.sqrt(topic_terms(other, layer)).T, 1.0)
        mine, theirs = linear_sum_assignment(-affinity)
        row[mine] = affinity[mine, theirs]
    return out


def _shares(model: TrainedNetwork, layer: int, columns: list[list[int]]) -> Matrix:
    """(K, words): p(k | v), where v is any of the columns of a word."""
    weights, psi = topic_weights(model, layer), topic_terms(model, layer)
    joint = np.stack([(weights[:, None] * psi[:, own]).sum(axis=1) for own in columns], axis=1)
    return np.asarray(joint / np.maximum(joint.sum(axis=0), 1e-300))


def _columns(model: TrainedNetwork, words: Any, vocabulary: Any) -> list[list[int]]:
    """The column of the term of each word; if there is none, those of terms that differ from it
    only in upper and lower case."""
    names = term_names(model.vocabulary if vocabulary is None else vocabulary,
                       model.vocabulary_size)  # fmt: skip
    given = [words] if isinstance(words, str) else listed("words", words, "give a list of words")
    if not given:
        raise DataError("words: give at least one word")
    number, alike = dict[str, list[int]](), dict[str, list[int]]()
    for column, name in enumerate(names):
        number[name] = [column]
        alike.setdefault(_plain(name), []).append(column)
    unnamed = model.vocabulary is None and vocabulary is None
    found = [number.get(w) or alike.get(_plain(w)) if isinstance(w, str) else None for w in given]
    for word, is_known in zip(given, found, strict=True):
        if not is_known and unnamed:
            raise DataError(
                f"{word!r}: the model has no names of its terms; give them as "
                "vocabulary=, or fit it to a data frame that has them as its columns"
            )
        if not is_known:
            near = did_you_mean(str(word), names)  # a large vocabulary is not printed
            raise DataError(
                f"{word!r} is not a term of the model.{near if 'Did you mean' in near else ''}"
            )
    return [columns for columns in found if columns]


def _plain(word: str) -> str:
    """A word as people type it; the page of a report does the same."""
    return unicodedata.normalize("NFKC", word).lower()
