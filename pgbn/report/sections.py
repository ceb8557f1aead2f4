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
from pgbn.report.parts.documents import documents_html, documents_payload
from pgbn.report.parts.graph import graph_html, graph_payload
from pgbn.report.parts.settings import settings_html
from pgbn.report.parts.topics import topics_html
from pgbn.report.parts.traces import traces_html, traces_payload
from pgbn.report.parts.widths import widths_html

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
    Section("graph", "Topic graph", graph_html, graph_payload),
    Section("topics", "Table of topics", topics_html),
    Section("widths", "Layer widths", widths_html),
    Section("traces", "Convergence", traces_html, traces_payload, lambda data: bool(data.series)),
    Section("map", "Document map", documents_html, documents_payload,
            lambda data: bool(data.theta)),
    Section("derivation", "The model and its sampler",
            lambda data: derivation_html(data.derivation)),
    Section("settings", "Settings",
            lambda data: settings_html(data.settings, data.repeat)),
)  # fmt: skip
