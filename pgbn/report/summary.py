"""A short, static summary for notebooks: no script, no styles of its own outside its elements."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from pgbn.checks import check_integer
from pgbn.report.convert import report_data
from pgbn.report.data import ReportData
from pgbn.report.text import clean_text

__all__ = ["summary_html"]

_CELL = "text-align:start;vertical-align:top;padding:2px 12px 2px 0"


def summary_html(model: Any, topics: int = 5, words: int = 8, **options: Any) -> str:
    """The heaviest topics of every layer, the top layer first, for `_repr_html_`.

    ``model`` and the options are those of `report_data`.
    """
    topics, words = check_integer("topics", topics, 1), check_integer("words", words, 1)
    data = report_data(model, **options)
    widths = " – ".join(map(str, data.widths))
    terms = f"{len(data.vocabulary)} terms" + (f", {data.size} documents" if data.size else "")
    layers = "".join(_layer(data, t, topics, words) for t in range(data.depth, 0, -1))
    return (
        f"<div><strong>{escape(clean_text(data.title))}</strong>: {widths} topics, {terms}"
        f"{layers}</div>"
    )


def _layer(data: ReportData, t: int, topics: int, words: int) -> str:
    weight, ranked = data.weights[t - 1], data.ranked(t, words)
    rows = []
    for k in np.argsort(-weight, kind="stable")[:topics]:
        named = " ".join(
            f"<bdi>{escape(clean_text(data.vocabulary[v]))}</bdi>" for v in ranked[k].tolist()
        )
        label = data.labels.get((t, int(k)))
        if label:
            named = f"<strong><bdi>{escape(clean_text(label))}</bdi></strong> {named}"
        rows.append(
            f'<tr><td style="{_CELL}">{t}/{k}</td><td style="{_CELL}">{weight[k]:.1%}</td>'
            f'<td style="{_CELL}">{named}</td></tr>'
        )
    used, width = int(data.active[t - 1].sum()), data.widths[t - 1]
    opened = " open" if t == data.depth else ""
    return (
        f"<details{opened}><summary>Layer {t}: {used} of {width} topics active</summary>"
        f"<table>{''.join(rows)}</table></details>"
    )
