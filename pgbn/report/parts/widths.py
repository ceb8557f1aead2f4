"""The width of every layer: used, given and effective; and how many of its topics are twins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pgbn.evaluation.layer_quality import TOP, effective_width, twins_and_diversity
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
        effective = effective_width(weight)
        rows.append(
            [str(t), f'<td class="wide" data-width="{t}"></td>', str(used), str(budget or "–"),
             f"{effective:.1f}", *_reading(data.ranked(t, TOP))]
        )  # fmt: skip
        if budget and used >= budget and t == 1:
            warnings.append("All topics that layer 1 was given are in use: a larger width may fit.")
    heads = [("Layer", ""), ("", ""), ("Active", "figure"), ("Given", "figure"),
             ("Effective", "figure"), ("Twins", "figure"),
             ("Diversity", "figure")]  # fmt: skip
    note = (
        f"Active: {html_text(data.active_means)}. Given: the width that training started with. "
        "Effective: exp of the entropy of the topics’ shares. Twins: topics that share six of "
        "their ten words with another one of the layer. Diversity: distinct words among all of "
        "these; 1 if no two topics share any."
    )
    warned = "".join(f'<p class="warn">{text}</p>' for text in warnings)
    return f'<p class="note">{note}</p>{warned}{html_table(heads, rows, "Width of each layer")}'


def _reading(leading: NDArray[np.int64]) -> list[str]:
    twins, diversity = twins_and_diversity(leading)
    return [str(twins), f"{diversity:.2f}"]
