"""The map of the documents."""

from __future__ import annotations

from typing import Any

import numpy as np

from pgbn.report.compact import base64_array
from pgbn.report.data import ReportData
from pgbn.report.embedding import by_neighbours, document_positions, even_choice, explained
from pgbn.report.parts.overview import theme_layer
from pgbn.report.parts.topics import layer_options
from pgbn.report.text import clean_text

__all__ = ["map_html", "map_payload"]

_POINTS = 12_000  # documents on the map
_TITLES = 120_000  # bytes that the titles of all points on the map may take


def map_html(data: ReportData) -> str:
    """The place of the map and of its legend."""
    if by_neighbours(data.theta[0]):
        how = (
            "Documents with similar topics in layer 1 are near each other (t-SNE); that two groups "
            "lie far apart, or on which side, means little."
        )
    else:
        how = (
            "Documents are placed by the first two principal components of the square roots of "
            f"their topic shares in layer 1 ({explained(data.theta[0]):.0%} of their variance), "
            "with the crowded middle spread out; with scikit-learn installed, neighbours by topics "
            "would be neighbours here."
        )
    return f"""\
<p class="note">Each point is a document. {how} Its colour is the topic that leads in it. Choose a
point to read the document. By keyboard, arrows go from point to point, and Enter opens one.</p>
<div class="tools"><label>Colour by layer
<select id="map-layer">{layer_options(data, theme_layer(data))}</select></label></div>
<div class="map">
<canvas id="map-canvas" tabindex="0" role="application" aria-label="Map of {data.size} documents:
arrow keys go from one to the next, Enter opens one"></canvas>
<div id="map-tip" class="tip" hidden></div></div>
<ul class="legend" id="map-legend" aria-label="Topics that lead in most documents"></ul>
<p class="note" id="map-rest"></p>"""


def map_payload(data: ReportData) -> dict[str, Any]:
    """Places of the documents as 16-bit numbers, the topics that lead in them, their titles."""
    if not data.theta:
        return {}
    chosen = even_choice(data.size, _POINTS)
    position = document_positions(data.theta[0][chosen], data.seed)
    low, high = position.min(axis=0), position.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    grid = np.round((position - low) / spread * 65535.0).astype("<u2")
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
    return {"map": out}
