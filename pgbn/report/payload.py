"""ReportData as the compact JSON that the page reads.

Words, documents and points are numbered and stored once; numbers have as many digits as the page
shows; positions on the map are 16-bit integers in base64.
"""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.report.data import Matrix, ReportData, Series
from pgbn.report.embedding import document_positions, even_choice

__all__ = ["clean_text", "payload", "script_json"]

WORDS = 15  # words shown for a topic
LEADING = 6  # documents shown for a topic
POINTS = 12_000  # documents on the map
TEXTS = 220_000  # bytes that the beginnings of the leading documents may take
LINKS = 40_000  # links of the topic graph
TRACE = 500  # points of a trace
TITLES = 150_000  # bytes that the titles of all points on the map may take
LEAST_LINK = 0.002
RELEVANCE = (0.6, 0.3)  # candidates for the slider of the page


def payload(data: ReportData) -> dict[str, Any]:
    """Everything that the page draws, as JSON values."""
    words = _Numbering()
    common = data.weights[0] @ data.phi[0]
    layers = [_layer(data, t, words, common) for t in range(1, data.depth + 1)]
    out: dict[str, Any] = {
        "title": clean_text(data.title),
        "terms": len(data.vocabulary),
        "size": data.size,
        "shown": WORDS,
        "layers": layers,
        "words": [clean_text(data.vocabulary[v]) for v in words.numbers],
        "common": [_short(common[v]) for v in words.numbers],
        "links": _links(data),
        "series": [_series(series) for series in data.series],
        "stages": [[sweep, clean_text(label)] for sweep, label in data.stages],
    }
    if data.theta:
        rows = [row for layer in layers for row in layer["documents"]]
        leading = sorted({number for row in rows for number in row})
        length = max(40, min(170, TEXTS // max(len(leading), 1)))
        out["documents"] = {number: _document(data, number, length) for number in leading}
        out["map"] = _map(data)
    return out


def script_json(value: Any) -> str:
    """JSON that may stand inside <script>: no character in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def clean_text(text: object) -> str:
    """Text that UTF-8 can hold; half characters become question marks."""
    return str(text).encode("utf-8", "replace").decode("utf-8")


class _Numbering:
    """Numbers things in the order of their first use."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}

    def __call__(self, thing: int) -> int:
        return self.numbers.setdefault(thing, len(self.numbers))


def _short(value: float, digits: int = 4) -> float | None:
    number = float(f"{value:.{digits}g}")
    if not math.isfinite(number):
        return None
    return int(number) if number == int(number) else number


def _layer(data: ReportData, t: int, words: _Numbering, common: Matrix) -> dict[str, Any]:
    psi = data.project(t)
    topics = []
    for row in psi:
        chosen = _candidates(row, common)
        topics.append([[words(int(v)) for v in chosen], [_short(row[v], 5) for v in chosen]])
    out: dict[str, Any] = {
        "weights": [_short(weight) for weight in data.weights[t - 1]],
        "active": [int(flag) for flag in data.active[t - 1]],
        "budget": data.budget[t - 1],
        "topics": topics,
        "documents": [],
    }
    labels = {k: clean_text(text) for (layer, k), text in data.labels.items() if layer == t}
    if labels:
        out["labels"] = labels
    if data.theta:
        theta = data.theta[t - 1]
        order = np.argsort(-theta, axis=0, kind="stable")[:LEADING].T
        out["documents"] = order.tolist()
        out["shares"] = [
            [_short(theta[j, k], 3) for j in row] for k, row in enumerate(order.tolist())
        ]
        out["leads"] = np.bincount(theta.argmax(axis=1), minlength=theta.shape[1]).tolist()
    return out


def _candidates(row: Matrix, common: Matrix) -> NDArray[np.int64]:
    """The words that are in the first places for some relevance λ ln p + (1 − λ) ln(p / common).

    Reference: Sievert & Shirley, LDAvis, 2014.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        lift = np.log(row) - np.log(common)
        scores = [lam * np.log(row) + (1.0 - lam) * lift for lam in RELEVANCE]
    scores = [row, *(np.nan_to_num(score, nan=-np.inf) for score in scores)]
    union = np.unique([np.argsort(-score, kind="stable")[:WORDS] for score in scores])
    return np.asarray(union[np.argsort(-row[union], kind="stable")])


def _links(data: ReportData) -> list[list[list[float | None]]]:
    """For each layer above the first and each topic: child, weight in thousandths, child, …"""
    rows = sum(data.widths[1:])
    most = max(LINKS // rows, 8) if rows else 0
    out = []
    for phi in data.phi[1:]:
        layer = []
        for row in phi:
            order = np.argsort(-row, kind="stable")[:most]
            order = order[row[order] >= min(LEAST_LINK, float(row.max()))]
            layer.append([x for k in order.tolist() for x in (k, _short(1000 * row[k], 3))])
        out.append(layer)
    return out


def _series(series: Series) -> dict[str, Any]:
    chosen = even_choice(series.sweeps.size, TRACE)
    return {
        "name": clean_text(series.name),
        "sweeps": [_short(value, 8) for value in series.sweeps[chosen]],
        "values": [[_short(value, 7) for value in row[chosen]] for row in series.values],
        "settled": _short(series.sweeps[min(series.settled, series.sweeps.size - 1)], 8),
    }


def _document(data: ReportData, number: int, length: int) -> list[str]:
    """Title and first words of the text."""
    text = "" if data.documents is None else " ".join(str(data.documents[number])[:600].split())
    if len(text) > length:
        text = text[:length].rsplit(" ", 1)[0] + " …"
    return [clean_text(data.name_of(number))[:90], clean_text(text)]


def _map(data: ReportData) -> dict[str, Any]:
    position = document_positions(data.theta[0])
    chosen = even_choice(data.size, POINTS)
    low, high = position.min(axis=0), position.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    grid = np.round((position[chosen] - low) / spread * 65535.0).astype("<u2")
    leading = [theta[chosen].argmax(axis=1).astype("<u2") for theta in data.theta]
    out: dict[str, Any] = {
        "count": int(chosen.size),
        "points": _base64(grid),
        "leading": [_base64(each) for each in leading],
    }
    if chosen.size < data.size:
        out["numbers"] = _base64(chosen.astype("<u4"))
    if data.titles is not None:
        titles = [clean_text(data.titles[j])[:60] for j in chosen.tolist()]
        if sum(len(title.encode()) for title in titles) <= TITLES:
            out["titles"] = titles
    return out


def _base64(array: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
