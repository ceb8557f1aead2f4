"""ReportData: the data of the report and the figures about a network, as plain arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import is_integral, layer_error
from pgbn.diagnostics import bulk_ess, split_rhat
from pgbn.evaluation.topic_words import rank_words, relevance_of
from pgbn.explain.document import Block
from pgbn.storage.terms import TOKEN

Matrix = NDArray[np.float64]

# A chain has mixed if R-hat is below the first number and the effective sample size of each chain
# is at least the second, 50 in each half. With fewer draws, R-hat itself is noise (Vehtari et al.
# 2021).
_GOOD_RHAT, _LEAST_ESS = 1.01, 100


def proportions(units: Matrix) -> Matrix:
    """θ_kj / θ_·j, equal parts if all are zero."""
    totals = units.sum(axis=-1, keepdims=True)
    return np.where(totals > 0, units / np.where(totals > 0, totals, 1.0), 1.0 / units.shape[-1])


@dataclass(frozen=True)
class Series:
    """A label-free quantity along the sweeps: ``values`` is (chains, len(sweeps)).

    R-hat and the effective sample size are those of ``values[:, settled:]``.
    """

    name: str
    sweeps: Matrix
    values: Matrix
    settled: int = 0

    @property
    def ess(self) -> float:
        """Bulk effective sample size of all chains together."""
        return bulk_ess(self.values[:, self.settled :])

    @property
    def rhat(self) -> float:
        """Rank-normalised split R-hat; with one chain it compares its two halves."""
        return split_rhat(self.values[:, self.settled :])

    @property
    def verdict(self) -> str:
        """ "mixed", "run longer" if R-hat is too large, or "too few draws" to decide."""
        if self.rhat > _GOOD_RHAT:
            return "run longer"
        enough = self.ess >= _LEAST_ESS * self.values.shape[0]  # not a number: not enough
        return "mixed" if enough else "too few draws"


@dataclass(frozen=True)
class Simplex:
    """The posterior mean of a node whose vectors sum to one: ``mean`` is (vectors, categories),
    with a name for each of both."""

    name: str
    over: str
    mean: Matrix
    rows: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class ReportData:
    """What `pgbn.report.report_data` gathers: each section of the page shows a part of it, and is
    omitted if its part is empty.

    Every network has ``nodes`` (name, law, dims, posterior), ``simplexes``, a ``picture`` (SVG), a
    ``derivation`` (the blocks of `pgbn.explain.derivation`), ``series``, ``settings`` and
    ``repeat``, the code that repeats the run. ``stages`` are (sweep, label) for each layer that
    training added.

    A network whose T layers are topics of documents also has the following.

    - ``phi[t-1]`` is (K_t, K_{t-1}), rows are topics and sum to one, K_0 = V. ``vocabulary`` names
      the V terms. ``weights[t-1]`` is the share of each topic in its layer.
    - ``active[t-1]`` marks the topics in use, as ``active_means`` explains. ``budget[t-1]`` is the
    maximum width of the layer, 0 if unknown. - ``theta[t-1]``, if not empty, is (documents, K_t)
    with rows that sum to one. ``texts``,
      ``titles``, ``dates`` (see `pgbn.evaluation.periods`) and ``classes`` are of the documents;
      ``columns`` says how the last two are called ({"date": "published"}), ``token_pattern`` what
      a term in a text looks like, ``seed`` is that of the map.
    - ``held_out`` has pairs of a depth and the perplexity of held-out documents.
    - ``labels`` are names of topics (layer, number) that a reader has given. ``length`` is the
      usual one of a document, ``tokens`` the number in all, 0 if unknown. ``folder`` is where the
      model is saved, if it is. ``relevance`` ranks words as in `pgbn.TrainedNetwork.topics`.
    """

    title: str = ""
    nodes: tuple[tuple[str, str, str, str], ...] = ()
    simplexes: tuple[Simplex, ...] = ()
    picture: str = ""
    series: tuple[Series, ...] = ()
    stages: tuple[tuple[float, str], ...] = ()
    derivation: Sequence[Block] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    repeat: str = ""
    phi: tuple[Matrix, ...] = ()
    weights: tuple[Matrix, ...] = ()
    active: tuple[NDArray[np.bool_], ...] = ()
    active_means: str = "topics that hold at least one count"
    budget: tuple[int, ...] = ()
    vocabulary: Sequence[str] = ()
    theta: tuple[Matrix, ...] = ()
    names: Sequence[str] | None = None
    texts: Sequence[str] | None = None
    dates: Sequence[Any] | None = None
    classes: Sequence[Any] | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    token_pattern: str = TOKEN
    held_out: tuple[tuple[int, float], ...] = ()
    seed: int = 0
    labels: Mapping[tuple[int, int], str] = field(default_factory=dict)
    length: float = 0.0
    tokens: float = 0.0
    relevance: float | None = None

    @property
    def depth(self) -> int:
        """The number of layers of topics T; 0 if the network has none."""
        return len(self.phi)

    @property
    def widths(self) -> tuple[int, ...]:
        """(K_1, …, K_T)."""
        return tuple(phi.shape[0] for phi in self.phi)

    @property
    def size(self) -> int:
        """The number of documents; 0 if they are unknown."""
        return self.theta[0].shape[0] if self.theta else 0

    def project(self, layer: int) -> Matrix:
        """Ψ = Φ^(layer) ⋯ Φ^(1), (K, V): the topics of a layer as distributions over terms."""
        if not is_integral(layer) or not 1 <= layer <= self.depth:
            raise layer_error("layer", layer, self.depth)
        return reduce(np.matmul, self.phi[int(layer) - 1 :: -1])

    @property
    def common(self) -> Matrix:
        """The share of every term in the corpus, by the first layer."""
        return np.asarray(self.weights[0] @ self.phi[0]) if self.phi else np.zeros(0)

    def tokens_of(self, layer: int) -> Matrix | None:
        """The tokens of each topic of a layer, if their number is known."""
        return self.tokens * self.weights[layer - 1] if self.tokens else None

    def ranked(self, layer: int, top: int) -> NDArray[np.int64]:
        """(K, top): the columns of the terms that represent each topic of a layer, by relevance."""
        tokens = self.tokens_of(layer)
        psi, lam = self.project(layer), relevance_of(layer, self.relevance)
        return rank_words(psi, self.common, lam, top, self.length, tokens)

    def words(self, layer: int, topic: int, top: int = 10) -> list[str]:
        """The terms that represent a topic; equal ones in the order of the vocabulary."""
        return [self.vocabulary[v] for v in self.ranked(layer, top)[topic]]

    def leading(self, layer: int, top: int = 6) -> NDArray[np.int64]:
        """(K, top): the documents in which each topic of a layer has its largest shares."""
        return np.argsort(-self.theta[layer - 1], axis=0, kind="stable")[:top].T

    def name_of(self, document: int) -> str:
        """The name of a document, or the start of its text, or its number."""
        if self.names is not None:
            return str(self.names[document])
        if self.texts is not None:
            return " ".join(str(self.texts[document])[:200].split())[:60] or f"document {document}"
        return f"document {document}"
