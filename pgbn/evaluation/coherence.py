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
from numpy.typing import NDArray

from pgbn.errors import DataError

__all__ = ["coherence", "diversity", "leading_terms"]


def leading_terms(phi: NDArray[np.float64], top: int = 10) -> NDArray[np.int64]:
    """The numbers of the ``top`` terms of each topic (K, V), most probable first."""
    if not 2 <= top <= phi.shape[1]:
        raise DataError(f"top={top!r} must be between 2 and the {phi.shape[1]} terms")
    return np.argsort(-phi, axis=1, kind="stable")[:, :top]


def coherence(
    phi: NDArray[np.float64], X: Any, measure: str = "npmi", top: int = 10
) -> NDArray[np.float64]:
    """The coherence of every topic; ``measure`` is "npmi" or "umass"."""
    if measure not in ("npmi", "umass"):
        raise DataError(f"measure={measure!r} must be 'npmi' or 'umass'")
    leading = leading_terms(np.asarray(phi), top)
    present = sp.csc_array(X)
    if present.shape[1] != phi.shape[1]:
        raise DataError(f"X has {present.shape[1]} columns, but the topics {phi.shape[1]} terms")
    used, where = np.unique(leading, return_inverse=True)
    present = sp.csc_array(present[:, used] > 0).astype(np.int64)
    together = (present.T @ present).toarray().astype(np.float64)
    documents, where = present.shape[0], where.reshape(leading.shape)
    first, second = np.tril_indices(top, -1)  # second comes before first in the topic
    v, w = where[:, first], where[:, second]
    both, of_v, of_w = together[v, w], together[v, v], together[w, w]
    if measure == "umass":
        return np.asarray(np.log((both + 1.0) / np.maximum(of_w, 1.0)).mean(axis=1))
    p = both / documents
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.log(both * documents / (of_v * of_w)) / -np.log(p)
    values = np.where(both == 0, -1.0, np.where(p == 1.0, 1.0, values))
    return np.asarray(values.mean(axis=1))


def diversity(phi: NDArray[np.float64], top: int = 25) -> float:
    """Distinct leading terms / all leading terms, in (0, 1]."""
    leading = leading_terms(np.asarray(phi), min(top, phi.shape[1]))
    return float(np.unique(leading).size / leading.size)
