"""Topics by a word, by their likeness, and across chains.

    p(k | v) ∝ w_k ψ_kv,   affinity(k, l) = Σ_v √(ψ_kv ψ_lv) ∈ [0, 1]

The affinity (Bhattacharyya) is 1 for equal topics and 0 for those that share no term.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from pgbn.checks import check_integer, listed, term_names
from pgbn.errors import DataError, did_you_mean
from pgbn.evaluation.projection import Topic, project, topic_weights, topics
from pgbn.training.trained import TrainedNetwork, check_layer, trained_network

Matrix = NDArray[np.float64]


def find_topics(
    model: Any,
    words: str | Sequence[str],
    layer: int = 1,
    n: int = 5,
    vocabulary: Sequence[str] | None = None,
) -> list[tuple[Topic, float]]:
    """The ``n`` topics of a layer in which a word, or each of several, most often is, with the
    share p(k | v) of its occurrences that they have, the mean over the words. Upper and lower case
    matter only where a term is written like the word."""
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
    vocabulary: Sequence[str] | None = None,
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
    root = np.sqrt(project(model, layer))
    return np.asarray(np.minimum(root @ root.T, 1.0))


def topic_stability(models: Sequence[Any], layer: int = 1) -> Matrix:
    """(others, K): the affinity of each topic of the first model with the topic of each other one
    that is matched with it, one to one, so that the sum is largest. Models are chains with other
    seeds on the same data; what is far below 1 comes and goes with the seed."""
    given = listed("models", models, "give a list of models, fitted with different seeds")
    networks = [trained_network(each, "models") for each in given]
    if len(networks) < 2:
        raise DataError("models: give at least two, fitted with different seeds")
    sizes = {network.vocabulary_size for network in networks}
    if len(sizes) > 1:
        raise DataError(f"models: of {sorted(sizes)} terms; give chains of the same data")
    first = np.sqrt(project(networks[0], layer))
    out = np.zeros((len(networks) - 1, len(first)))
    for row, other in zip(out, networks[1:], strict=True):
        affinity = np.minimum(first @ np.sqrt(project(other, layer)).T, 1.0)
        mine, theirs = linear_sum_assignment(-affinity)
        row[mine] = affinity[mine, theirs]
    return out


def _shares(model: TrainedNetwork, layer: int, columns: list[list[int]]) -> Matrix:
    """(K, words): p(k | v), where v is any of the columns of a word."""
    weights, psi = topic_weights(model, layer), project(model, layer)
    joint = np.stack([(weights[:, None] * psi[:, own]).sum(axis=1) for own in columns], axis=1)
    return np.asarray(joint / np.maximum(joint.sum(axis=0), 1e-300))


def _columns(model: TrainedNetwork, words: Any, vocabulary: Any) -> list[list[int]]:
    """Of each word the column of its term; where there is none, those of terms that differ from it
    in upper and lower case alone."""
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
                f"{word!r}: the model does not know the names of its terms; give them as "
                "vocabulary=, or fit it to a data frame that has them as its columns"
            )
        if not is_known:
            near = did_you_mean(str(word), names)  # of a large vocabulary no list is printed
            raise DataError(
                f"{word!r} is no term of the model.{near if 'Did you mean' in near else ''}"
            )
    return [columns for columns in found if columns]


def _plain(word: str) -> str:
    """A word as people type it; the page of a report does the same."""
    return unicodedata.normalize("NFKC", word).lower()
