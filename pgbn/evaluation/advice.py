"""What a reader should know before believing the layers of a training.

Each function looks at one thing and says a sentence, or nothing:

- a width that still falls when training ends is not yet inferred;
- more topics than terms, or nearly as many as documents, are no summary;
- counts that are no more uneven than chance makes them have no topics. With the margins x_j· and
  x_·v given, e_jv = x_j· x_·v / x_·· and D × V cells, independence of documents and terms gives

      E Σ_jv x_jv (x_jv − 1) / e_jv = (x_·· − D) (x_·· − V) / (x_·· − 1),   variance about 2 D V

  (x (x − 1) − e² has the mean 0 and the variance 2 e² + 4 e³ of Poisson counts, of which margins
  that are given take the second part away);

- a topic that leads in a third of all documents holds the words that all of them share;
- layers of which more than a tenth of the topics have a twin say the same thing several times.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from pgbn.errors import DataError
from pgbn.evaluation.layer_quality import layer_quality
from pgbn.evaluation.projection import topics
from pgbn.evaluation.untwinning import LEAST_TERMS
from pgbn.training.averages import BEFORE_MERGING
from pgbn.training.result import LayerwiseTraining
from pgbn.training.trained import TrainedNetwork, trained_network
from pgbn.zoo import layers

__all__ = ["looks_like_noise", "still_falling", "training_advice"]

_LEAST_TOPICS = 6  # of fewer, one may well lead in a third of all documents
_LEAD = 1 / 3
_DOCUMENTS = 1 / 3  # topics for each document
_SIGMAS, _BELOW = 4.0, 2.5
_TWINS = 0.1  # of the topics of a layer
_FEWER = "a smaller max_width, one number for each layer, leaves fewer"
_FEWER_BELOW = (
    "a smaller max_width leaves fewer, and so does leaving out the words that all documents have, "
    "by stop_words or a smaller max_df"
)


def training_advice(training: LayerwiseTraining, X: Any = None) -> list[str]:
    """Sentences of warning about a training, and about the documents × terms ``X`` that it is of;
    none if all is well."""
    if not hasattr(training, "networks"):
        raise DataError(f"training={training!r:.60}: give the result of pgbn.train_layerwise")
    if X is not None and len(getattr(X, "shape", ())) != 2:
        raise DataError(f"X={X!r:.60}: give the documents × terms of the training")
    deepest = trained_network(training)
    found = [_falling(network) for network in training.networks]
    found.append(_too_many(deepest, X))
    if X is not None and deepest.link == "poisson" and looks_like_noise(X):
        found.append(
            "X looks like noise: the documents differ in their terms no more than by chance, and "
            "the topics mean nothing"
        )
    else:
        found.append(_background(deepest))
        found += _twins(deepest)
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
            f"{width} topics of {documents} documents: that is hardly a summary; give a smaller "
            "max_width, or more documents (paragraphs in place of texts, say)"
        )
    return ""


def looks_like_noise(X: Any) -> bool:
    """Whether counts are what independence of documents and terms gives, within four standard
    deviations. Counts of one document, of one term, or none at all cannot tell; nor can those that
    repeat less than by chance, as in short texts, where hardly a word comes twice."""
    try:
        counts = sp.csr_array(X).astype(np.float64)
    except ValueError as error:
        raise DataError(f"X: {error}") from None
    rows, columns = _totals(counts, 1), _totals(counts, 0)
    total, documents, terms = rows.sum(), (rows > 0).sum(), (columns > 0).sum()
    if documents < 2 or terms < 2:
        return False
    coo = counts.tocoo()
    j, v = coo.row, coo.col
    found = float((coo.data * (coo.data - 1) / (rows[j] * columns[v])).sum() * total)
    expected = (total - documents) * (total - terms) / max(total - 1, 1)
    excess = (found - expected) / np.sqrt(2.0 * documents * terms)
    return bool(-_BELOW < excess < _SIGMAS)


def _totals(counts: sp.csr_array, axis: int) -> NDArray[np.float64]:
    return np.asarray(counts.sum(axis=axis)).ravel()


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
        f"topic 1/{first} ({', '.join(words)}) leads in {leads[first]:.0%} of the documents: if "
        "its words say nothing, leave them out by stop_words or a smaller max_df"
    )


def _twins(network: TrainedNetwork) -> list[str]:
    """Layers with many twins. Of a small vocabulary topics share many words by chance."""
    if network.vocabulary_size < LEAST_TERMS:
        return []
    return [
        f"layer {each.layer}: {each.twins} of {each.width} topics share six of their ten leading "
        f"words with another one; {_FEWER if each.layer > 1 else _FEWER_BELOW}"
        for each in layer_quality(network)
        if each.twins > _TWINS * each.width
    ]
