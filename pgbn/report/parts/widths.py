"""The width of every layer: used, given and effective."""

from __future__ import annotations

import numpy as np

from pgbn.report.data import ReportData
from pgbn.report.text import html_table, html_text

__all__ = ["widths_html"]


def widths_html(data: ReportData) -> str:
    """A table, and a warning where the first layer has no room left."""
    rows = []
    warnings = []
    for t in range(data.depth, 0, -1):
        weight = data.weights[t - 1]
        used, budget = int(data.active[t - 1].sum()), data.budget[t - 1]
        positive = weight[weight > 0]
        effective = float(np.exp(-(positive * np.log(positive)).sum()))
        rows.append(
            [str(t), f'<td class="wide" data-width="{t}"></td>', str(used), str(budget or "–"),
             f"{effective:.1f}"]
        )  # fmt: skip
        if budget and used >= budget and t == 1:
            warnings.append("All topics that layer 1 was given are in use: a larger width may fit.")
    heads = [("Layer", ""), ("", ""), ("Active", "figure"), ("Given", "figure"),
             ("Effective", "figure")]  # fmt: skip
    note = (
        f"Active: {html_text(data.active_means)}. Given: the width that training started with. "
        "Effective: exp of the entropy of the topics’ shares."
    )
    warned = "".join(f'<p class="warn">{text}</p>' for text in warnings)
    return f'<p class="note">{note}</p>{warned}{html_table(heads, rows, "Width of each layer")}'
