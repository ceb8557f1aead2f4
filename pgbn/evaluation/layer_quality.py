"""The readability of layers: duplicate topics, diversity, effective widths and coherence.

Two topics of a layer are duplicates if they share six of their ten leading
words. A layer with many duplicate topics says the same thing several times. The effective width of
a layer is

    exp H(w) = exp(−Σ_k w_k ln w_k),   w the shares of its topics,

the number of equally large topics that would be equally spread out. Topics with a few counts add to
the active width, but hardly to this one.

Coherence is computed from documents × terms. P(v) and P(v, w) are the fractions of documents that
have v, and both v and w. The terms of a topic are in the order of their probability:

    NPMI    mean over pairs of ln[P(v, w) / (P(v) P(w))] / −ln P(v, w), in [−1, 1] (Bouma 2009)
    U_Mass  mean over pairs, w before v, of ln[(D(v, w) + 1) / D(w)]    (Mimno et al. 2011)

Diversity is the number of distinct terms among the leading terms of all topics, divided by
their number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from pgbn.checks import check_choice, check_integer, listed
from pgbn.engine.data.reading import read_array
from pgbn.errors import DataError
from pgbn.evaluation.topic_words import leading_words, topic_name, topic_weights, topics
from pgbn.training.kept_draws import BEFORE_MERGING
from pgbn.training.merging import merge_topics, read_groups
from pgbn.training.trained import TrainedNetwork, check_layer, trained_network
from pgbn.training.training_result import LayerwiseTraining
from pgbn.zoo import layers
from pgbn.zoo.links import REALS

TOP, SHARED = 10, 6


@dataclass(frozen=True)
class SimilarTopics:
    """Two topics of a layer and how many of their leading words they ``shared``."""

    layer: int
    first: int
    second: int
    shared: int
    terms: tuple[int, ...]

    def __str__(self) -> str:
        first, second = (topic_name(self.layer, k) for k in (self.first, self.second))
        return f"{first} and {second} share {self.shared} words"


@dataclass(frozen=True)
class LayerQuality:
    """How a layer reads: its ``width``, its ``effective`` width, the number of its topics that have
    a duplicate, ``duplicates``, and the ``diversity`` of the leading words, distinct / all."""

    layer: int
    width: int
    effective: float
    duplicates: int
    diversity: float

    def __str__(self) -> str:
        return (
            f"layer {self.layer}: {self.width} topic{'' if self.width == 1 else 's'}, effectively "
            f"{self.effective:.0f}; "
            f"{self.duplicates} have a duplicate, diversity {self.diversity:.2f}"
        )


def effective_width(weights: NDArray[np.float64]) -> float:
    """exp(−Σ w ln w) of shares w."""
    shares = weights[weights > 0] / weights.sum() if weights.sum() > 0 else np.ones(1)
    return float(np.exp(-(shares * np.log(shares)).sum()))


def shared_words(leading: NDArray[np.int64]) -> NDArray[np.int64]:
    """(K, K): how many of their leading words each two topics have in common."""
    used, where = np.unique(leading, return_inverse=True)
    has = np.zeros((len(leading), used.size), np.int64)
    has[np.arange(len(leading))[:, None], where.reshape(leading.shape)] = 1
    return np.asarray(has @ has.T)


def similar_topics(
    model: TrainedNetwork,
    layer: int = 1,
    shared: int = SHARED,
    top: int = TOP,
    relevance: float | None = None,
) -> list[SimilarTopics]:
    """Pairs of topics of a layer that share at least ``shared`` of their ``top`` leading words
    (ranked as in `topics`), the most similar first."""
    model = trained_network(model)
    layer, top = check_layer(model, layer), check_integer("top", top, 1)
    if check_integer("shared", shared, 1) > top:
        raise DataError(f"shared={shared!r} must be at most top={top}")
    leading = leading_words(model, layer, top, relevance)
    common = np.triu(shared_words(leading), 1)
    pairs = np.argwhere(common >= shared)
    pairs = pairs[np.argsort(-common[pairs[:, 0], pairs[:, 1]], kind="stable")]
    return [
        SimilarTopics(layer, int(k), int(l), int(common[k, l]),
              tuple(int(v) for v in leading[k] if v in leading[l]))
        for k, l in pairs
    ]  # fmt: skip


def layer_quality(
    model: TrainedNetwork, layers: Sequence[int] | None = None, relevance: float | None = None
) -> list[LayerQuality]:
    """How each layer reads, by the ten leading words of its topics.

    Parameters
    ----------
    model
        A trained network, a layer-wise training or a fitted estimator.
    layers
        The numbers of some layers; by default all.
    relevance
        As in `pgbn.TrainedNetwork.topics`.

    Returns
    -------
    list of LayerQuality
        Each has ``layer``, ``width``, ``effective`` (the exponential of the entropy of the topics'
        shares), ``duplicates`` (topics that share six leading words with another one) and
        ``diversity`` (distinct leading words / all).

    Examples
    --------
    >>> import numpy as np
    >>> import pgbn
    >>> phi = np.array([[0.7, 0.3, 0.0], [0.0, 0.4, 0.6]])
    >>> model = pgbn.TrainedNetwork.of_topics((phi,), r=np.array([1.0, 1.0]), c=np.ones(1))
    >>> pgbn.evaluation.layer_quality(model)[0].effective
    2.0
    """
    model = trained_network(model)
    every = range(1, model.depth + 1)
    chosen = every if layers is None else listed("layers", layers, "give a list of layers: [1, 2]")
    found = []
    for layer in [check_layer(model, t, "layers") for t in chosen]:
        leading = leading_words(model, layer, TOP, relevance)
        effective = effective_width(topic_weights(model, layer))
        found.append(
            LayerQuality(layer, len(leading), effective, *duplicates_and_diversity(leading))
        )
    return found


def duplicates_and_diversity(leading: NDArray[np.int64]) -> tuple[int, float]:
    """The number of topics with a duplicate, and distinct words / all, from leading words (K,
    top)."""
    common = shared_words(leading)
    np.fill_diagonal(common, 0)
    duplicates = int((common >= min(SHARED, leading.shape[1])).any(axis=1).sum())
    return duplicates, float(np.unique(leading).size / leading.size)


# ---- merging duplicate topics -------------------------------------------------------------------
#
# A maximum width limits the number of topics of a layer, but even a narrow layer may say one thing
# twice. Merging duplicate topics and training further, a few times, gives a narrower network, and
# the last sweeps sample its posterior. The first layer is not merged. Nor is a small vocabulary, in
# which topics share many words by chance.


LEAST_TERMS = 100
LEAST_TOPICS = 2
ROUNDS = 3
SWEEPS = 50  # after each merging


def merge_duplicates(model: TrainedNetwork) -> TrainedNetwork | None:
    """The network with the duplicate topics of each layer above the first merged. None if there are
    no duplicates, or if hardly a topic would remain."""
    merged = model
    if model.vocabulary_size < LEAST_TERMS:
        return None
    for layer in range(2, model.depth + 1):
        duplicates = similar_topics(merged, layer)
        groups = read_groups(duplicates, merged.widths[layer - 1], layer)
        if duplicates and groups.max() + 1 >= LEAST_TOPICS:
            merged = merge_topics(merged, duplicates, layer)
    return None if merged is model else merged


def without_duplicates(
    training: LayerwiseTraining, train: Callable[[TrainedNetwork], TrainedNetwork]
) -> LayerwiseTraining:
    """The training with its deepest network merged and trained further by ``train``, until it has
    no duplicate topics above the first layer; at most three times."""
    before, reason = training.widths, training.stopped
    for _ in range(ROUNDS):
        merged = merge_duplicates(training.deepest)
        if merged is None:
            break
        networks = (*training.models[:-1], train(merged))
        training = replace(training, models=networks)
    if training.widths == before:
        return training
    shown = " to ".join("-".join(map(str, widths)) for widths in (before, training.widths))
    return replace(training, stopped=f"{reason}; duplicates were merged, {shown}")


# ---- advice: what to check before trusting the layers of a training -----------------------------
#
# Each function checks one thing and returns a sentence, or nothing:
#
# - a width that still falls when training ends is not yet inferred;
# - more topics than terms, or nearly as many as documents, are not a summary;
# - counts that are no more uneven than chance makes them have no topics. With the margins x_j· and
#   x_·v given, e_jv = x_j· x_·v / x_·· and D × V cells, independence of documents and terms gives
#
#       E Σ_jv x_jv (x_jv − 1) / e_jv = (x_·· − D) (x_·· − V) / (x_·· − 1),   variance about 2 D V
#
#   (x (x − 1) − e² has the mean 0 and the variance 2 e² + 4 e³ of Poisson counts; given margins
#   remove the second part);
#
# - a topic that leads in a third of all documents holds the words that all of them share;
# - layers in which more than a tenth of the topics have a duplicate say the same thing twice.


_LEAST_TOPICS = 6  # of fewer, one may well lead in a third of all documents
_LEAD = 1 / 3
_DOCUMENTS = 1 / 3  # topics for each document
_SIGMAS, _BELOW = 4.0, 2.5
_DUPLICATES = 0.1  # of the topics of a layer
_FEWER = "a smaller maximum for this layer leaves fewer; max_width takes a number for each layer"

_FEWER_BELOW = (
    "a smaller max_width leaves fewer, and so does removing the words that all documents have, "
    "by stop_words or a smaller max_df"
)


def training_advice(training: LayerwiseTraining, X: Any = None) -> list[str]:
    """What to check before trusting a training.

    Parameters
    ----------
    training
        The result of `pgbn.train_layerwise`.
    X
        The documents × terms that it was trained on.

    Returns
    -------
    list of str
        Warnings in sentences; none if all is well.

    Examples
    --------
    >>> import numpy as np
    >>> import pgbn
    >>> X = np.array([[4, 1, 0, 0], [0, 0, 3, 5], [5, 2, 0, 0], [0, 0, 4, 4]])
    >>> training = pgbn.train_layerwise(X, 6, 1, burn_in=2, sweeps=2, progress=False)
    >>> isinstance(pgbn.evaluation.training_advice(training, X), list)
    True
    """
    if not hasattr(training, "models"):
        raise DataError(f"training={training!r:.60}: give the result of pgbn.train_layerwise")
    if X is not None and len(getattr(X, "shape", ())) != 2:
        raise DataError(f"X={X!r:.60}: give the documents × terms of the training")
    deepest = trained_network(training)
    found = [_falling(network) for network in training.models]
    found.append(_too_many(deepest, X))
    if X is not None and deepest.link == "poisson" and looks_like_noise(X):
        found.append(
            "X looks like noise: the documents differ in their terms no more than by chance, and "
            "the topics mean nothing"
        )
    else:
        found.append(_background(deepest))
        found += _many_duplicates(deepest)
    return [each for each in found if each]


def still_falling(sweeps: ArrayLike, widths: ArrayLike) -> bool:
    """Whether a trace of active widths ends lower than it was halfway: the mean of its last tenth
    is below that of the tenth after its middle, by more than 5 % and more than one topic."""
    values = np.asarray(widths, np.float64)
    tenth = len(values) // 10
    if len(values) != np.size(sweeps) or tenth < 1:
        return False
    middle = values[len(values) // 2 :][:tenth].mean()
    fall = middle - values[-tenth:].mean()
    return bool(fall > max(1.0, 0.05 * middle))


def _falling(network: TrainedNetwork) -> str:
    trace = network.traces
    if "width" not in trace:
        return ""
    present = np.logical_not(trace.get(BEFORE_MERGING, np.zeros(np.size(trace["sweep"]))))
    values = np.asarray(trace["width"])[present]
    if not still_falling(np.asarray(trace["sweep"])[present], values):
        return ""
    return (
        f"layer {network.depth}: the number of topics was still falling when training ended "
        f"({values[len(values) // 2]:.0f} halfway, {values[-1]:.0f} at the end); a longer burn_in "
        "leaves fewer"
    )


def _too_many(network: TrainedNetwork, X: Any) -> str:
    width, terms = network.widths[0], network.vocabulary_size
    if width > terms:
        return f"{width} topics of {terms} terms: give a max_width below the number of terms"
    documents = None if X is None else X.shape[0]
    if documents is not None and width > _DOCUMENTS * documents:
        return (
            f"{width} topics are too many for {documents} documents; give a smaller max_width, or "
            "split the texts into paragraphs"
        )
    return ""


def looks_like_noise(X: Any) -> bool:
    """Whether counts are as uneven as independence of documents and terms predicts, within four
    standard deviations. The test cannot decide for one document, one term, or no counts. Nor can it
    for counts that repeat less than by chance, as in short texts, where hardly a word occurs
    twice."""
    try:
        counts = sp.csr_array(X).astype(np.float64)
    except ValueError as error:
        raise DataError(f"X: {error}") from None
    rows, columns = (np.asarray(counts.sum(axis=axis)).ravel() for axis in (1, 0))
    total, documents, terms = rows.sum(), (rows > 0).sum(), (columns > 0).sum()
    if documents < 2 or terms < 2:
        return False
    coo = counts.tocoo()
    j, v = coo.row, coo.col
    found = float((coo.data * (coo.data - 1) / (rows[j] * columns[v])).sum() * total)
    expected = (total - documents) * (total - terms) / max(total - 1, 1)
    excess = (found - expected) / np.sqrt(2.0 * documents * terms)
    return bool(-_BELOW < excess < _SIGMAS)


def _background(network: TrainedNetwork) -> str:
    """A topic of the first layer that leads in many documents."""
    units = network.state.get(layers.theta(1))
    if units is None or network.widths[0] < _LEAST_TOPICS:
        return ""
    scores = np.asarray(units)
    leads = np.bincount(scores.argmax(axis=1), minlength=scores.shape[1]) / max(len(scores), 1)
    first = int(leads.argmax())
    if leads[first] < _LEAD:
        return ""
    words = next(each.terms for each in topics(network, 1, 6) if each.index == first)
    return (
        f"{topic_name(1, first)} ({', '.join(words)}) leads in {leads[first]:.0%} of the "
        "documents: if its words say nothing, remove them by stop_words or a smaller max_df"
    )


def _many_duplicates(network: TrainedNetwork) -> list[str]:
    """Layers with many duplicate topics. With a small vocabulary topics share many words by
    chance."""
    if network.vocabulary_size < LEAST_TERMS:
        return []
    return [
        f"layer {each.layer}: {each.duplicates} of {each.width} topics share six of their ten "
        f"leading words with another one; {_FEWER if each.layer > 1 else _FEWER_BELOW}"
        for each in layer_quality(network)
        if each.duplicates > _DUPLICATES * each.width
    ]


MEASURES = ("npmi", "umass")


def leading_terms(phi: ArrayLike, top: int = 10) -> NDArray[np.int64]:
    """The numbers of the ``top`` terms of each topic (K, V), most probable first."""
    topics = _topics(phi)
    top = check_integer("top", top, 2)
    if top > topics.shape[1]:
        raise DataError(
            f"top={top!r}, but phi has {topics.shape[1]} terms (columns); give a smaller top, or "
            "phi as topics × terms"
        )
    return np.argsort(-topics, axis=1, kind="stable")[:, :top]


def coherence(phi: ArrayLike, X: Any, measure: str = "npmi", top: int = 10) -> NDArray[np.float64]:
    """Whether the leading terms of each topic occur in the same documents.

    Parameters
    ----------
    phi
        Topics × terms, such as ``model.topic_terms(layer=1)``.
    X
        Documents × terms.
    measure
        "npmi", normalised pointwise mutual information in [−1, 1], or "umass".
    top
        How many leading terms.

    Returns
    -------
    numpy.ndarray
        A number for each topic; larger is better.

    Examples
    --------
    >>> import numpy as np
    >>> import pgbn
    >>> phi = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    >>> X = np.array([[1, 1, 0], [2, 1, 0], [0, 0, 3]])
    >>> pgbn.evaluation.coherence(phi, X, top=2)
    array([ 1., -1.])
    """
    check_choice("measure", measure, MEASURES)
    topics = _topics(phi)
    return word_coherence(leading_terms(topics, top), X, topics.shape[1], measure)


def word_coherence(
    leading: NDArray[np.int64], X: Any, terms: int, measure: str = "npmi"
) -> NDArray[np.float64]:
    """The same for given words: ``leading`` (K, top) are columns of X, which has ``terms`` of
    them."""
    check_choice("measure", measure, MEASURES)
    terms = check_integer("terms", terms, 1)
    leading = _columns(leading, terms)
    cells = read_array(REALS.data_node(), X, imputed=False)  # any number from 0 on
    if cells.columns != terms:
        raise DataError(f"X has {cells.columns} columns, but the topics {terms} terms")
    used, where = np.unique(leading, return_inverse=True)
    parts = (np.ones(cells.values.size, np.int64), cells.indices, cells.indptr)
    present = sp.csr_array(parts, shape=(cells.rows, cells.columns))[:, used]
    together = (present.T @ present).toarray().astype(np.float64)
    documents, where = present.shape[0], where.reshape(leading.shape)
    first, second = np.tril_indices(leading.shape[1], -1)  # second comes before first in the topic
    v, w = where[:, first], where[:, second]
    both, of_v, of_w = together[v, w], together[v, v], together[w, w]
    if measure == "umass":
        return np.asarray(np.log((both + 1.0) / np.maximum(of_w, 1.0)).mean(axis=1))
    p = both / documents
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.log(both * documents / (of_v * of_w)) / -np.log(p)
    values = np.where(both == 0, -1.0, np.where(p == 1.0, 1.0, values))
    return np.asarray(values.mean(axis=1))


def diversity(phi: ArrayLike, top: int = 25) -> float:
    """Distinct leading terms divided by all leading terms.

    Parameters
    ----------
    phi
        Topics × terms, such as ``model.topic_terms(layer=1)``.
    top
        How many leading terms of each topic.

    Returns
    -------
    float
        1 if no two topics share a leading term.

    Examples
    --------
    >>> import numpy as np
    >>> import pgbn
    >>> phi = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    >>> pgbn.evaluation.diversity(phi, top=2)
    0.75
    """
    topics = _topics(phi)
    leading = leading_terms(topics, min(check_integer("top", top, 2), topics.shape[1]))
    return float(np.unique(leading).size / leading.size)


def _columns(leading: Any, terms: int) -> NDArray[np.int64]:
    """Numbers of terms, one row for each topic."""
    try:
        found = np.asarray(leading)
    except ValueError:  # rows of unequal length
        found = np.empty(0, object)
    if found.ndim != 2 or found.dtype.kind not in "iu" or found.shape[1] < 2:
        raise DataError("leading: give the numbers of two terms or more, topics in rows")
    if found.size and not 0 <= found.min() <= found.max() < terms:
        raise DataError(f"leading: terms {found.min()} to {found.max()}, but X has {terms} of them")
    return found.astype(np.int64)


def _topics(phi: ArrayLike) -> NDArray[np.float64]:
    """An array or lists of numbers, one row for each topic."""
    try:
        topics = np.asarray(phi)
    except ValueError:  # rows of unequal length
        topics = np.empty(0, object)
    if topics.ndim != 2 or topics.dtype.kind not in "iuf" or not np.isfinite(topics).all():
        raise DataError(
            "phi: give an array of finite numbers, topics in rows, as model.topic_terms(1)"
        )
    return topics
