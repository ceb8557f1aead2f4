"""Coherence and diversity of topics, from documents × terms.

With P(v) and P(v, w) the parts of documents that have v, and both, and the terms of a topic in the
order of their probability:

    NPMI    mean over pairs of ln[P(v, w) / (P(v) P(w))] / −ln P(v, w), in [−1, 1] (Bouma 2009)
    U_Mass  mean over pairs, w before v, of ln[(D(v, w) + 1) / D(w)]    (Mimno et al. 2011)

Diversity is the number of distinct terms among the leading terms of all topics, divided by
their number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from pgbn.checks import check_choice, check_integer
from pgbn.engine.data.cells import read_array
from pgbn.errors import DataError
from pgbn.zoo.links import REALS

MEASURES = ("npmi", "umass")


def leading_terms(phi: ArrayLike, top: int = 10) -> NDArray[np.int64]:
    """The numbers of the ``top`` terms of each topic (K, V), most probable first."""
    topics = _topics(phi)
    top = check_integer("top", top, 2)
    if top > topics.shape[1]:
        raise DataError(f"top={top!r} must be between 2 and the {topics.shape[1]} terms")
    return np.argsort(-topics, axis=1, kind="stable")[:, :top]


def coherence(phi: ArrayLike, X: Any, measure: str = "npmi", top: int = 10) -> NDArray[np.float64]:
    """The coherence of every topic; ``measure`` is "npmi" or "umass"."""
    check_choice("measure", measure, MEASURES)
    topics = _topics(phi)
    return word_coherence(leading_terms(topics, top), X, topics.shape[1], measure)


def word_coherence(
    leading: NDArray[np.int64], X: Any, terms: int, measure: str = "npmi"
) -> NDArray[np.float64]:
    """The same for words that are chosen already: ``leading`` (K, top) are columns of X, which has
    ``terms`` of them. So the words that `pgbn.evaluation.topics` shows can be judged."""
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
    """Distinct leading terms / all leading terms, in (0, 1]."""
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
        raise DataError("phi: give an array of finite numbers, topics in rows, as model.phi[0]")
    return topics
