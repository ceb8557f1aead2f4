"""The topic graph: topics of every layer, and the links between layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from pgbn.report.compact import short_number
from pgbn.report.data import ReportData

__all__ = ["graph_html", "graph_payload"]

_LINKS = 40_000  # links of the topic graph
_LEAST_LINK = 0.002


def graph_html(data: ReportData) -> str:
    """The place of the graph, and its switches."""
    more = (
        '<label><input type="checkbox" id="all-links"> all links</label>'
        if data.depth > 1
        else '<input type="checkbox" id="all-links" hidden>'
    )
    made = (
        " Every topic of a layer is a mixture of topics of the layer below: the thicker the link, "
        "the larger the part."
        if data.depth > 1
        else ""
    )
    return (
        '<p class="note">A box is a topic, named by its leading words; its bar is its share in the '
        f"layer.{made} Choose one for its words and documents. Keys: arrows, Enter, Escape.</p>"
        '<div class="tools"><label><input type="checkbox" id="all-topics"> all topics</label>'
        f"{more}"
        '<label><input type="checkbox" id="distinct"> names by distinctive words</label>'
        '</div><div class="scroll" id="graph-place"></div>'
    )


def graph_payload(data: ReportData) -> dict[str, Any]:
    """For each layer above the first and each topic: child, weight in thousandths, child, …"""
    rows = sum(data.widths[1:])
    most = max(_LINKS // rows, 8) if rows else 0
    out = []
    for phi in data.phi[1:]:
        layer = []
        for row in phi:
            order = np.argsort(-row, kind="stable")[:most]
            order = order[row[order] >= min(_LEAST_LINK, float(row.max()))]
            layer.append([x for k in order.tolist() for x in (k, short_number(1000 * row[k], 3))])
        out.append(layer)
    return {"links": out}
