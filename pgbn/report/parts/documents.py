"""The documents: the map of all, and the beginnings of those that lead in a topic."""

from __future__ import annotations

from typing import Any

import numpy as np

from pgbn.report.compact import base64_array
from pgbn.report.data import ReportData
from pgbn.report.embedding import document_positions, even_choice, explained
from pgbn.report.parts.topics import layer_options
from pgbn.report.text import clean_text

__all__ = ["documents_html", "documents_payload"]

_POINTS = 12_000  # documents on the map
_TEXTS = 220_000  # bytes that the beginnings of the leading documents may take
_TITLES = 150_000  # bytes that the titles of all points on the map may take


def documents_html(data: ReportData) -> str:
    """The place of the map and of its legend."""
    kept = explained(data.theta[0])
    return f"""\
<p class="note">Each point is a document, placed by the first two principal components
of the square roots of its topic shares in layer 1 ({kept:.0%} of their variance), with the crowded
middle spread out. Its colour is the topic that leads in it; the list below says the same in words
and numbers.</p>
<div class="tools"><label>Colour by layer
<select id="map-layer">{layer_options(data, data.depth)}</select></label></div>
<div class="map">
<canvas id="map-canvas" role="img" aria-label="Map of {data.size} documents"></canvas>
<div id="map-tip" class="tip" hidden></div></div>
<ul class="legend" id="map-legend" aria-label="Topics that lead in most documents"></ul>
<p class="note" id="map-rest"></p>"""


def documents_payload(data: ReportData) -> dict[str, Any]:
    """The map, and title and first words of the documents that lead in a topic."""
    if not data.theta:
        return {}
    layers = range(1, data.depth + 1)
    leading = np.unique(np.concatenate([data.leading(t).ravel() for t in layers])).tolist()
    length = max(40, min(170, _TEXTS // max(len(leading), 1)))
    return {
        "documents": {number: _document(data, number, length) for number in leading},
        "map": _map(data),
    }


def _document(data: ReportData, number: int, length: int) -> list[str]:
    """Title and first words of the text."""
    text = "" if data.documents is None else " ".join(str(data.documents[number])[:600].split())
    if len(text) > length:
        text = text[:length].rsplit(" ", 1)[0] + " …"
    return [clean_text(data.name_of(number))[:90], clean_text(text)]


def _map(data: ReportData) -> dict[str, Any]:
    position = document_positions(data.theta[0])
    chosen = even_choice(data.size, _POINTS)
    low, high = position.min(axis=0), position.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    grid = np.round((position[chosen] - low) / spread * 65535.0).astype("<u2")
    leading = [theta[chosen].argmax(axis=1).astype("<u2") for theta in data.theta]
    out: dict[str, Any] = {
        "count": int(chosen.size),
        "points": base64_array(grid),
        "leading": [base64_array(each) for each in leading],
    }
    if chosen.size < data.size:
        out["numbers"] = base64_array(chosen.astype("<u4"))
    if data.titles is not None:
        titles = [clean_text(data.titles[j])[:60] for j in chosen.tolist()]
        if sum(len(title.encode()) for title in titles) <= _TITLES:
            out["titles"] = titles
    return out
