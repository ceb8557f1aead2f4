"""ReportData: everything that the report and the figures show, as plain arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_names, check_text, is_integral
from pgbn.diagnostics import bulk_ess, split_rhat
from pgbn.errors import DataError
from pgbn.evaluation.periods import check_dates
from pgbn.evaluation.projection import rank_words, relevance_of
from pgbn.explain.document import Block
from pgbn.report.text import several
from pgbn.storage.stop_words import TOKEN

Matrix = NDArray[np.float64]

# R-hat below this, with so many independent draws of each chain, 50 of each half, below which
# R-hat itself is noise (Vehtari et al. 2021, see `pgbn.diagnostics`).
_GOOD_RHAT, _LEAST_ESS = 1.01, 100


def proportions(units: Matrix) -> Matrix:
    """θ_kj / θ_·j, equal parts where all are zero."""
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

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1:] != self.sweeps.shape:
            raise DataError(
                f"Series {self.name!r}: values {self.values.shape} and sweeps {self.sweeps.shape}; "
                "give (chains, n) and (n,)"
            )

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
        """ "mixed", "run longer" if R-hat is too large, or "too few draws" to tell."""
        if self.rhat > _GOOD_RHAT:
            return "run longer"
        enough = self.ess >= _LEAST_ESS * self.values.shape[0]  # not a number: not enough
        return "mixed" if enough else "too few draws"


@dataclass(frozen=True)
class ReportData:
    """A network of T layers, its topics and documents, and how it came about.

    ``phi[t-1]`` is (K_t, K_{t-1}), rows are topics and sum to one, K_0 = V. ``weights[t-1]`` is the
    share of each topic in its layer; ``active[t-1]`` marks the topics that are in use, by the
    criterion told in ``active_means``; ``budget[t-1]`` is the width that the layer was given, 0 if
    unknown. ``theta[t-1]``, if not empty, is (documents, K_t) with rows that sum to one. Of the
    documents, ``texts``, ``titles``, ``dates`` (see `pgbn.evaluation.periods`) and ``classes`` may
    be known; ``columns`` says what the last two are called ({"date": "published"}), and
    ``token_pattern`` what a term in a text looks like. ``held_out`` has pairs of a depth and the
    perplexity of held-out documents with so many layers. ``seed`` is that of the map. ``stages``
    are (sweep, label) where another layer was put on top; ``derivation`` holds the blocks
    of `pgbn.explain.derivation`. ``labels`` are names that somebody gave to topics (layer, number);
    ``length`` is the usual one of a document, and ``tokens`` the number in all, 0 if not known;
    ``folder`` is where the model is saved, if it is. Words stand by ``relevance`` as in
    `pgbn.evaluation.topics`.
    """

    phi: tuple[Matrix, ...]
    weights: tuple[Matrix, ...]
    active: tuple[NDArray[np.bool_], ...]
    budget: tuple[int, ...]
    vocabulary: Sequence[str]
    theta: tuple[Matrix, ...] = ()
    titles: Sequence[str] | None = None
    texts: Sequence[str] | None = None
    dates: Sequence[Any] | None = None
    classes: Sequence[Any] | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    token_pattern: str = TOKEN
    held_out: tuple[tuple[int, float], ...] = ()
    series: tuple[Series, ...] = ()
    stages: tuple[tuple[float, str], ...] = ()
    derivation: Sequence[Block] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    repeat: str = ""
    title: str = ""
    seed: int = 0
    active_means: str = "topics that hold at least one count"
    labels: Mapping[tuple[int, int], str] = field(default_factory=dict)
    length: float = 0.0
    tokens: float = 0.0
    folder: str = ""
    relevance: float | None = None

    def __post_init__(self) -> None:
        if not self.phi:
            raise DataError("ReportData: phi is empty; give one matrix for each layer")
        below = self.phi[0].shape[-1]
        self._check_names("vocabulary", below)
        for t, phi in enumerate(self.phi, 1):
            if phi.ndim != 2 or phi.shape[1] != below:
                raise DataError(f"ReportData: phi[{t - 1}] has shape {phi.shape}, not (K, {below})")
            below = phi.shape[0]
            for name, value in (("weights", self.weights), ("active", self.active)):
                if len(value) != self.depth or value[t - 1].shape != (below,):
                    raise DataError(f"ReportData: {name}[{t - 1}] must have the shape ({below},)")
            if self.theta and (
                len(self.theta) != self.depth or self.theta[t - 1].shape != (self.size, below)
            ):
                raise DataError(
                    f"ReportData: theta[{t - 1}] must have the shape (documents, {below})"
                )
        if len(self.budget) != self.depth:
            raise DataError(f"ReportData: budget={self.budget!r}: give one width for each layer")
        for name in ("titles", "texts"):
            if getattr(self, name) is not None and self.theta:
                self._check_names(name, self.size)
        for name in ("title", "repeat", "token_pattern", "folder"):
            check_text(name, getattr(self, name))
        for name in ("dates", "classes"):
            entries = getattr(self, name)
            if entries is None:
                continue
            odd = isinstance(entries, (str, bytes, Mapping, Set, type))
            odd = odd or not hasattr(entries, "__len__") or getattr(entries, "ndim", 1) != 1
            if odd or any(isinstance(entry, (list, tuple)) for entry in entries):
                raise DataError(f"{name}={entries!r:.60}: give one entry for each document")
            if self.theta and len(entries) != self.size:
                raise DataError(f"{name}: {len(entries)} entries, but {self.size} documents")
        if self.dates is not None:
            check_dates(self.dates)
        relevance_of(1, self.relevance)
        if not self.title:
            size = several(self.size, "document") if self.theta else several(self.depth, "layer")
            object.__setattr__(self, "title", f"Topics of {size}")

    def _check_names(self, name: str, size: int) -> None:
        """Keep names as a list in the order of what they name, also where a dict was given."""
        object.__setattr__(self, name, check_names(name, getattr(self, name), size))

    @property
    def depth(self) -> int:
        """The number of layers T."""
        return len(self.phi)

    @property
    def widths(self) -> tuple[int, ...]:
        """(K_1, …, K_T)."""
        return tuple(phi.shape[0] for phi in self.phi)

    @property
    def size(self) -> int:
        """The number of documents; 0 if they are not known."""
        return self.theta[0].shape[0] if self.theta else 0

    def project(self, layer: int) -> Matrix:
        """Ψ = Φ^(layer) ⋯ Φ^(1), (K, V): the topics of a layer as distributions over terms."""
        if not is_integral(layer) or not 1 <= layer <= self.depth:
            raise DataError(f"layer={layer!r:.60}: layers are numbered from 1 to {self.depth}")
        layer = int(layer)
        psi = self.phi[layer - 1]
        for t in range(layer - 2, -1, -1):
            psi = psi @ self.phi[t]
        return psi

    @property
    def common(self) -> Matrix:
        """The share of every term in the corpus, as the first layer has it."""
        return np.asarray(self.weights[0] @ self.phi[0])

    def held(self, layer: int) -> Matrix | None:
        """The tokens that each topic of a layer holds, if their number is known."""
        return self.tokens * self.weights[layer - 1] if self.tokens else None

    def ranked(self, layer: int, top: int) -> NDArray[np.int64]:
        """(K, top): the columns of the terms that stand for each topic of a layer, by relevance."""
        held = self.held(layer)
        psi, lam = self.project(layer), relevance_of(layer, self.relevance)
        return rank_words(psi, self.common, lam, top, self.length, held)

    def words(self, layer: int, topic: int, top: int = 10) -> list[str]:
        """The terms that stand for a topic; equal ones in the order of the vocabulary."""
        return [self.vocabulary[v] for v in self.ranked(layer, top)[topic]]

    def leading(self, layer: int, top: int = 6) -> NDArray[np.int64]:
        """(K, top): the documents in which each topic of a layer has its largest shares."""
        return np.argsort(-self.theta[layer - 1], axis=0, kind="stable")[:top].T

    def name_of(self, document: int) -> str:
        """The title of a document, or the beginning of its text, or its number."""
        if self.titles is not None:
            return str(self.titles[document])
        if self.texts is not None:
            return " ".join(str(self.texts[document])[:200].split())[:60] or f"document {document}"
        return f"document {document}"
