"""Topics over time and by class: the mean share of every topic in the documents of a group."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.evaluation.periods import periods_of
from pgbn.report.compact import short_number
from pgbn.report.data import ReportData
from pgbn.report.parts.overview import theme_layer
from pgbn.report.parts.topics import layer_options
from pgbn.report.text import clean_text, grouped, html_text

__all__ = ["groups_html", "groups_payload", "has_groups"]

_CLASSES = 12  # the most frequent ones; the others are one


def has_groups(data: ReportData) -> bool:
    """Whether the documents, and their dates or classes, are known."""
    return bool(data.theta) and (data.dates is not None or data.classes is not None)


def groups_html(data: ReportData) -> str:
    """The places of both charts, and the layer that they show."""
    parts = [
        f"""<div class="tools"><label>Layer
<select id="group-layer">{layer_options(data, theme_layer(data))}</select></label></div>"""
    ]
    if data.dates is not None:
        missing = int((periods_of(data.dates).of < 0).sum())
        parts.append(
            f"<h3>Over time{_called(data, 'date')}</h3>"
            '<p class="note">The mean share of a topic in the documents of each period; a gap is a '
            f"period without documents.{_without(missing)}</p>"
            '<div class="small" id="time-place"></div>'
            '<p><button type="button" class="button" id="time-more" hidden></button></p>'
        )
    if data.classes is not None:
        missing = sum(not _class(each) for each in data.classes)
        parts.append(
            f"<h3>By class{_called(data, 'class')}</h3>"
            '<p class="note">The mean share of a topic in the documents of each class; the more '
            f"colour, the larger.{_without(missing)}</p>"
            '<div class="scroll" id="class-place" tabindex="0" role="region" '
            'aria-label="Topics by class"></div>'
        )
    return "".join(parts)


def groups_payload(data: ReportData) -> dict[str, Any]:
    """For both kinds of groups: their labels, sizes, and shares in thousandths by layer."""
    if not has_groups(data):
        return {}
    out = {}
    if data.dates is not None:
        periods = periods_of(data.dates)
        out["time"] = _shares(data, periods.of, list(periods.labels))
    if data.classes is not None:
        out["class"] = _shares(data, *_classes(data))
    return {"groups": out}


def _shares(data: ReportData, of: NDArray[np.int64], labels: list[str]) -> dict[str, Any]:
    there = of >= 0
    sizes = np.bincount(of[there], minlength=len(labels))
    layers = []
    for theta in data.theta:
        sums = np.zeros((len(labels), theta.shape[1]))
        np.add.at(sums, of[there], theta[there])
        means = sums / np.maximum(sizes, 1)[:, None]
        layers.append([[short_number(1000 * x, 3) for x in row] for row in means])
    return {"labels": labels, "sizes": sizes.tolist(), "layers": layers}


def _classes(data: ReportData) -> tuple[NDArray[np.int64], list[str]]:
    """The number of the class of each document, and the names, the most frequent first."""
    names = [_class(each) for each in data.classes or ()]
    counted = Counter(name for name in names if name)
    order = sorted(counted, key=lambda name: (-counted[name], name))
    labels = order if len(order) <= _CLASSES + 1 else [*order[:_CLASSES], "all others"]
    place = {name: min(at, len(labels) - 1) for at, name in enumerate(order)}
    return np.array([place.get(name, -1) for name in names], np.int64), labels


def _class(value: Any) -> str:
    return "" if value is None or value != value else clean_text(value)[:60].strip()


def _called(data: ReportData, kind: str) -> str:
    name = data.columns.get(kind)
    return f": {html_text(name)}" if name else ""


def _without(missing: int) -> str:
    return f" {grouped(missing)} documents have none and are left out." if missing else ""
