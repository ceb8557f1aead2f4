"""The report: one HTML page with its data, style and script, which requests nothing else."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from pgbn.checks import check_path
from pgbn.evaluation.layer_quality import effective_width
from pgbn.evaluation.topic_words import (
    UPPER_RELEVANCE,
    draw_of,
    rank_words,
    relevance_of,
    topic_name,
    with_floor,
)
from pgbn.report.convert import report_data
from pgbn.report.data import ReportData
from pgbn.report.sections import SECTIONS, documents_payload, topic_words
from pgbn.report.text import clean_text, html_text, script_json, several, short_number
from pgbn.storage.atomic_files import save_text

_MOST = 730_000  # bytes of the data of a page, if the topics leave space
_LEAST_RECORDS, _MOST_RECORDS = 100_000, 480_000  # bytes of these for records of documents
_WORDS = 15  # words shown for a topic
_CELL = "text-align:start;vertical-align:top;padding:2px 12px 2px 0"  # of a summary
_RELEVANCE = (1.0, UPPER_RELEVANCE, 0.0)  # candidates for the slider of the page


def payload(data: ReportData) -> dict[str, Any]:
    """The data of the page as compact JSON: the topics, and the data of the sections.

    Words are numbered in the order of their first use, and stored once; numbers have as many digits
    as the page shows; positions on the map are 16-bit integers in base64, records of documents
    compressed.
    """
    words: dict[int, int] = {}
    floor = with_floor(data.common, data.length)  # the page divides by it, as `rank_words` does
    layers = [_layer(data, t, words) for t in range(1, data.depth + 1)]
    out: dict[str, Any] = {
        "title": clean_text(data.title),
        "terms": len(data.vocabulary),
        "size": data.size,
        "shown": _WORDS,
        "layers": layers,
        "words": [clean_text(data.vocabulary[v]) for v in words],
        "common": [short_number(floor[v]) for v in words],
    }
    for section in SECTIONS:
        if section.applies(data):
            out |= section.payload(data)
    if not data.theta:
        return out
    # Documents take the bytes that remain, so that the page stays small.
    space = _MOST - len(script_json(out).encode())
    return out | documents_payload(data, min(max(space, _LEAST_RECORDS), _MOST_RECORDS))


def _layer(data: ReportData, t: int, words: dict[int, int]) -> dict[str, Any]:
    psi, tokens = data.project(t), data.tokens_of(t)
    # The words that are in the first places for some relevance of the slider.
    each = {*_RELEVANCE, relevance_of(t, data.relevance)}
    ranked = [rank_words(psi, data.common, lam, _WORDS, data.length, tokens) for lam in each]
    topics = []
    for row, found in zip(psi, np.concatenate(ranked, axis=1), strict=True):
        unique = np.unique(found)
        chosen = unique[np.argsort(-row[unique], kind="stable")].tolist()
        numbers = [words.setdefault(v, len(words)) for v in chosen]
        topics.append([numbers, [short_number(row[v], 5) for v in chosen]])
    out: dict[str, Any] = {
        "weights": [short_number(weight) for weight in data.weights[t - 1]],
        "active": [int(flag) for flag in data.active[t - 1]],
        "budget": data.budget[t - 1],
        "relevance": relevance_of(t, data.relevance),
        "draw": [short_number(draw) for draw in np.broadcast_to(draw_of(tokens), len(topics))],
        "topics": topics,
        "documents": [],
    }
    labels = {k: clean_text(text) for (layer, k), text in data.labels.items() if layer == t}
    if labels:
        out["labels"] = labels
    if data.theta:
        theta = data.theta[t - 1]
        order = data.leading(t)
        out["documents"] = order.tolist()
        out["shares"] = [
            [short_number(theta[j, k], 3) for j in row] for k, row in enumerate(order.tolist())
        ]
        out["leads"] = np.bincount(theta.argmax(axis=1), minlength=theta.shape[1]).tolist()
    return out


def write_report(model: Any, path: str | Path, X: Any = None, **options: Any) -> Path:
    """Write the report of ``model`` to a file; models and draws have it as a method, ``report``.

    Parameters
    ----------
    model, X, **options
        As in `report_data`, or what it returned.
    path
        The HTML file. It is replaced only when the page is complete.

    Returns
    -------
    pathlib.Path
        The path of the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import pgbn
    >>> from pgbn.report import write_report
    >>> phi = np.array([[0.7, 0.3, 0.0], [0.0, 0.4, 0.6]])
    >>> model = pgbn.TrainedNetwork.of_topics((phi,), r=np.ones(2), c=np.ones(1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(model, Path(folder, "page.html")).name
    'page.html'
    """
    check_path("path", path)  # before the page is made
    return save_text(path, report_html(model, X, **options), "report")


def report_html(model: Any, X: Any = None, **options: Any) -> str:
    """The report of ``model`` as one self-contained page; the options are those of
    `report_data`. A section is missing if there is nothing to show in it."""
    data = report_data(model, X, **options)
    shown = [section for section in SECTIONS if section.applies(data)]
    links = "".join(f'<a href="#{each.name}">{each.title}</a>' for each in shown)
    body = "\n".join(
        f'<section id="{each.name}" aria-labelledby="{each.name}-title">\n'
        f'<h2 id="{each.name}-title">{each.title}</h2>\n{each.html(data)}\n</section>'
        for each in shown
    )
    assets = files("pgbn.report") / "assets"
    every = sorted(item.name for item in assets.iterdir())
    scripts = [(assets / name).read_text("utf-8") for name in every if name.endswith(".js")]
    script = '"use strict";\n(async () => {\n' + "\n".join(scripts) + "})();\n"
    style, title = (assets / "report.css").read_text("utf-8"), html_text(data.title)
    skip = '<a class="skip" href="#topics">Skip to the table of topics</a>\n'
    chosen = '<aside id="detail" aria-label="The chosen topic or document" tabindex="-1"></aside>'
    # Only these two texts may run or style the page, and nothing may be fetched.
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="pgbn">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{skip if data.phi else ""}<header><h1 dir="auto">{title}</h1>
<p class="lead">{_lead(data)}</p></header>
<nav aria-label="Sections"><div>{links}</div></nav>
<div class="layout{"" if data.phi else " plain"}">
<main>
<noscript><p class="warn">This page draws itself with a script; scripts are off.</p></noscript>
{body}
</main>
{chosen if data.phi else ""}
</div>
<div id="live" class="hidden" aria-live="polite"></div>
<script type="application/json" id="data">{script_json(payload(data))}</script>
<script>{script}</script>
</body>
</html>
"""


def _lead(data: ReportData) -> str:
    """The size of the network in a line; for topics, the widths of the layers and their effective
    widths."""
    if not data.phi:
        return f"{several(len(data.nodes), 'node')} · {several(len(data.series), 'trace')}"
    widths = " – ".join(map(str, data.widths))
    effective = " – ".join(f"{effective_width(weight):.0f}" for weight in data.weights)
    parts = [f"{several(data.depth, 'layer')} of {widths} topics, effectively {effective}"]
    parts.append(several(len(data.vocabulary), "term"))
    if data.size:
        parts.append(several(data.size, "document"))
    return " · ".join(parts)


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


def summary_html(model: Any, **options: Any) -> str:
    """The size of a network and the heaviest topics of every layer, the top layer first: a static
    summary for notebooks, without scripts. ``model`` and the options are those of `report_data`."""
    data = report_data(model, **options)
    layers = "".join(_summary_of_layer(data, t) for t in range(data.depth, 0, -1))
    return f"<div><strong>{html_text(data.title)}</strong>: {_lead(data)}{layers}</div>"


def _summary_of_layer(data: ReportData, t: int) -> str:
    weight = data.weights[t - 1]
    rows = "".join(
        f'<tr><td style="{_CELL}">{topic_name(t, k)}</td><td style="{_CELL}">{weight[k]:.1%}</td>'
        f'<td style="{_CELL}">{topic_words(data, t, k, 8)}</td></tr>'
        for k in np.argsort(-weight, kind="stable")[:5].tolist()
    )
    used, width = int(data.active[t - 1].sum()), data.widths[t - 1]
    opened = " open" if t == data.depth else ""
    return (
        f"<details{opened}><summary>Layer {t}: {used} of {width} topics active</summary>"
        f"<table>{rows}</table></details>"
    )
