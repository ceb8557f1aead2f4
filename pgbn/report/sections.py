"""The sections of the page: a new one is a file in `pgbn.report.parts` and a line in `SECTIONS`.

A script that draws in it, if any, is another file in the folder ``assets``: all of them run, in
the order of their names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pgbn.report.data import ReportData
from pgbn.report.parts.derivation import derivation_html
from pgbn.report.parts.graph import graph_html, graph_payload
from pgbn.report.parts.groups import groups_html, groups_payload, has_groups
from pgbn.report.parts.map import map_html, map_payload
from pgbn.report.parts.overview import overview_html, theme_layer
from pgbn.report.parts.papers import papers_html
from pgbn.report.parts.settings import settings_html
from pgbn.report.parts.topics import topics_html
from pgbn.report.parts.traces import traces_html, traces_payload
from pgbn.report.parts.tree import tree_html
from pgbn.report.parts.widths import widths_html
from pgbn.report.text import clean_text

__all__ = ["SECTIONS", "Section"]


@dataclass(frozen=True)
class Section:
    """A section: its id, its title, its HTML, what its script reads, and when it is shown."""

    name: str
    title: str
    html: Callable[[ReportData], str]
    payload: Callable[[ReportData], dict[str, Any]] = lambda data: {}
    shown: Callable[[ReportData], bool] = lambda data: True


SECTIONS = (
    Section("overview", "What is in this corpus", overview_html,
            lambda data: {"themes": theme_layer(data)}),
    Section("hierarchy", "Themes and topics", tree_html, shown=lambda data: data.depth > 1),
    Section("graph", "Topic graph", graph_html, graph_payload),
    Section("papers", "Documents", papers_html, shown=lambda data: bool(data.theta)),
    Section("map", "Map", map_html, map_payload, lambda data: bool(data.theta)),
    Section("groups", "Time and class", groups_html, groups_payload, has_groups),
    Section("topics", "Table of topics", topics_html,
            lambda data: {"folder": clean_text(data.folder)}),
    Section("widths", "Layer widths", widths_html),
    Section("traces", "Convergence", traces_html, traces_payload, lambda data: bool(data.series)),
    Section("derivation", "Derivation",
            lambda data: derivation_html(data.derivation)),
    Section("settings", "Settings",
            lambda data: settings_html(data.settings, data.repeat)),
)  # fmt: skip
