"""ReportData as the compact JSON that the page reads.

Words, documents and points are numbered and stored once; numbers have as many digits as the page
shows; positions on the map are 16-bit integers in base64, records of documents compressed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.evaluation.relevance import UPPER_RELEVANCE, draw_of, rank_words, relevance_of, with_floor
from pgbn.report.compact import script_json, short_number
from pgbn.report.data import Matrix, ReportData
from pgbn.report.parts.papers import papers_payload
from pgbn.report.sections import SECTIONS
from pgbn.report.text import clean_text

__all__ = ["payload"]

_MOST = 730_000  # bytes of the data of a page, where the topics leave room for it
_LEAST_PAPERS, _MOST_PAPERS = 100_000, 480_000  # bytes of these for records of documents
_WORDS = 15  # words shown for a topic
_RELEVANCE = (1.0, UPPER_RELEVANCE, 0.0)  # candidates for the slider of the page


def payload(data: ReportData) -> dict[str, Any]:
    """Everything that the page draws, as JSON values: the topics, and what the sections add."""
    words = _Numbering()
    common = data.common
    floor = with_floor(
        common, data.length
    )  # what the page divides by, to rank words as `rank_words` does
    layers = [_layer(data, t, words, common) for t in range(1, data.depth + 1)]
    out: dict[str, Any] = {
        "title": clean_text(data.title),
        "terms": len(data.vocabulary),
        "size": data.size,
        "shown": _WORDS,
        "layers": layers,
        "words": [clean_text(data.vocabulary[v]) for v in words.numbers],
        "common": [short_number(floor[v]) for v in words.numbers],
    }
    for section in SECTIONS:
        out |= section.payload(data)
    # Documents take what is left, so that the page stays small.
    room = _MOST - len(script_json(out).encode())
    return out | papers_payload(data, min(max(room, _LEAST_PAPERS), _MOST_PAPERS))


class _Numbering:
    """Numbers things in the order of their first use."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}

    def __call__(self, thing: int) -> int:
        return self.numbers.setdefault(thing, len(self.numbers))


def _layer(data: ReportData, t: int, words: _Numbering, common: Matrix) -> dict[str, Any]:
    found = _candidates(data, t, common)
    topics = []
    for row, chosen in zip(data.project(t), found, strict=True):
        topics.append([[words(int(v)) for v in chosen], [short_number(row[v], 5) for v in chosen]])
    out: dict[str, Any] = {
        "weights": [short_number(weight) for weight in data.weights[t - 1]],
        "active": [int(flag) for flag in data.active[t - 1]],
        "budget": data.budget[t - 1],
        "relevance": relevance_of(t, data.relevance),
        "draw": [short_number(draw) for draw in np.broadcast_to(draw_of(data.held(t)), len(found))],
        "topics": topics,
        "documents": [],
    }
    labels = {k: clean_text(text) for (layer, k), text in data.labels.items() if layer == t}
    if labels:
        out["labels"] = labels
    if data.theta:
        theta = data.theta[t - 1]
        order = data.leading(t)
        out["documents"] = order.tolist()
        out["shares"] = [
            [short_number(theta[j, k], 3) for j in row] for k, row in enumerate(order.tolist())
        ]
        out["leads"] = np.bincount(theta.argmax(axis=1), minlength=theta.shape[1]).tolist()
    return out


def _candidates(data: ReportData, t: int, common: Matrix) -> list[NDArray[np.int64]]:
    """Of each topic, the words that are in the first places for some relevance that the page can
    show."""
    psi, held = data.project(t), data.held(t)
    each = {*_RELEVANCE, relevance_of(t, data.relevance)}
    ranked = [rank_words(psi, common, lam, _WORDS, data.length, held) for lam in each]
    every = [np.unique(row) for row in np.concatenate(ranked, axis=1)]
    return [
        words[np.argsort(-row[words], kind="stable")] for row, words in zip(psi, every, strict=True)
    ]
