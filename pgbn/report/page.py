"""The report: one HTML page that holds its data, style and script, and asks for nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from pgbn.report.convert import report_data
from pgbn.report.data import ReportData, Series
from pgbn.report.derivation import derivation_html
from pgbn.report.embedding import explained
from pgbn.report.payload import clean_text, payload, script_json

__all__ = ["report_html", "write_report"]

_GOOD_RHAT = 1.01


def write_report(model: Any, path: str | Path, X: Any = None, **options: Any) -> Path:
    """Write the report of ``model`` to ``path``; the options are those of `report_data`.

    The file is written whole or not at all.
    """
    target = Path(path)
    partial = target.with_name(target.name + ".part")
    text = report_html(model, X, **options)
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target


def report_html(model: Any, X: Any = None, **options: Any) -> str:
    """The report of ``model`` (see `report_data`) as one self-contained page."""
    data = report_data(model, X, **options)
    assets = files("pgbn.report") / "assets"
    style = (assets / "report.css").read_text(encoding="utf-8")
    names = sorted(item.name for item in assets.iterdir() if item.name.endswith(".js"))
    parts = [(assets / name).read_text(encoding="utf-8") for name in names]
    script = '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"
    # Nothing but these two texts may run or style the page, and nothing may be fetched.
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    title = _text(data.title)
    sections = [
        _graph(data),
        _topics(data),
        _widths(data),
        *([_traces(data)] if data.series else []),
        *([_map(data)] if data.theta else []),
        _derivation(data),
        _settings(data),
    ]
    links = "".join(f'<a href="#{name}">{label}</a>' for name, label, _ in sections)
    body = "\n".join(
        f'<section id="{name}" aria-labelledby="{name}-title">\n'
        f'<h2 id="{name}-title">{label}</h2>\n{content}\n</section>'
        for name, label, content in sections
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
<a class="skip" href="#topics">Skip to the table of topics</a>
<header><h1 dir="auto">{title}</h1><p class="lead">{_lead(data)}</p></header>
<nav aria-label="Sections"><div>{links}</div></nav>
<div class="layout">
<main>
<noscript><p class="warn">This page draws itself with a script, which is switched off.</p></noscript>
{body}
</main>
<aside id="detail" aria-label="The chosen topic" tabindex="-1"></aside>
</div>
<div id="live" class="hidden" aria-live="polite"></div>
<script type="application/json" id="data">{script_json(payload(data))}</script>
<script>{script}</script>
</body>
</html>
"""


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


def _text(value: object) -> str:
    return escape(clean_text(value))


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", "\u2009").replace("-", "\u2212")


def _number(value: float, digits: int) -> str:
    return _grouped(round(value)) if 1e3 <= abs(value) < 1e12 else f"{value:.{digits}g}"


def _lead(data: ReportData) -> str:
    widths = " – ".join(map(str, data.widths))
    layers = "1 layer" if data.depth == 1 else f"{data.depth} layers"
    parts = [f"{layers} of {widths} topics", f"{_grouped(len(data.vocabulary))} terms"]
    if data.size:
        parts.append(f"{_grouped(data.size)} documents")
    return " · ".join(parts)


Section = tuple[str, str, str]


def _graph(data: ReportData) -> Section:
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
        "graph",
        "Topic graph",
        f'<p class="note">A box is a topic, named by its leading words; its bar is the share in its '
        f"layer.{made} Choose one for its words and documents. Keys: arrows, Enter, Escape.</p>"
        f'<div class="tools"><label><input type="checkbox" id="all-topics"> all topics</label>{more}'
        '<label><input type="checkbox" id="distinct"> names by distinctive words</label>'
        '</div><div class="scroll" id="graph-place"></div>',
    )


def _topics(data: ReportData) -> Section:
    heads = [("topic", "Topic", ""), ("words", "Words", ""), ("weight", "Share", "figure")]
    if data.theta:
        heads.append(("leads", "Leads in", "figure"))
    cells = "".join(
        f'<th scope="col" data-by="{by}" class="{kind}"><button type="button">{label}</button></th>'
        for by, label, kind in heads
    )
    return (
        "topics",
        "Table of topics",
        f"""<div class="tools" role="search">
<label class="grow">Search <input type="search" id="search" placeholder="words, or layer/topic" autocomplete="off"></label>
<label>Layer <select id="layer"><option value="0">all</option>{_layers(data, 0)}</select></label>
<span id="found" role="status"></span></div>
<div class="scroll"><table id="table"><caption class="hidden">All topics, by layer and number</caption>
<thead><tr>{cells}</tr></thead><tbody id="table-body"></tbody></table></div>
<p><button type="button" class="button" id="more" hidden></button></p>""",
    )


def _layers(data: ReportData, chosen: int) -> str:
    return "".join(
        f'<option value="{t}"{" selected" if t == chosen else ""}>{t}</option>'
        for t in range(1, data.depth + 1)
    )


def _table(heads: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]], caption: str) -> str:
    """A table; the cells are HTML already."""
    kinds = [kind for _, kind in heads]
    head = "".join(f'<th scope="col" class="{kind}">{label}</th>' for label, kind in heads)
    body = "".join(
        "<tr>"
        + "".join(
            cell if cell.startswith("<td") else f'<td class="{kind}">{cell}</td>'
            for cell, kind in zip(row, kinds, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll"><table><caption class="hidden">{caption}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _widths(data: ReportData) -> Section:
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
        f"Active: {_text(data.active_means)}. Given: the width that training started with. "
        "Effective: exp of the entropy of the topics’ shares."
    )
    warned = "".join(f'<p class="warn">{text}</p>' for text in warnings)
    return (
        "widths",
        "Layer widths",
        f'<p class="note">{note}</p>{warned}{_table(heads, rows, "Width of each layer")}',
    )


def _traces(data: ReportData) -> Section:
    chains = data.series[0].values.shape[0]
    many = chains > 1
    heads = [("Quantity", ""), ("Mean", "figure"), ("Spread", "figure"), ("ESS", "figure"),
             ("R-hat", "figure"), ("", "")]  # fmt: skip
    note = (
        f"{chains} chains with seeds of their own. "
        if many
        else "One chain: R-hat compares its halves; several chains with different seeds tell more. "
    ) + (
        "Only quantities that do not depend on the numbering of topics are shown. ESS (bulk "
        "effective sample size) and R-hat (rank-normalised, split) are of the shaded sweeps."
    )
    return (
        "traces",
        "Convergence",
        f'<p class="note">{note}</p>'
        f"{_table(heads, map(_diagnosis, data.series), 'Convergence of label-free quantities')}"
        '<div id="trace-place"></div>',
    )


def _diagnosis(series: Series) -> list[str]:
    values = series.values[:, series.settled :]
    ess, rhat = series.ess, series.rhat
    if not np.isfinite(rhat):
        verdict = "too few draws"
    elif rhat <= _GOOD_RHAT:
        verdict = "mixed"
    else:
        verdict = '<span class="warn">run longer</span>'
    return [
        _text(series.name),
        _number(float(values.mean()), 5),
        _number(float(values.std()), 3),
        f"{ess:.0f}" if np.isfinite(ess) else "–",
        f"{rhat:.3f}" if np.isfinite(rhat) else "–",
        verdict,
    ]


def _map(data: ReportData) -> Section:
    kept = explained(data.theta[0])
    return (
        "map",
        "Document map",
        f"""<p class="note">Each point is a document, placed by the first two principal components of
the square roots of its topic shares in layer 1 ({kept:.0%} of their variance), with the crowded
middle spread out. Its colour is the topic that leads in it; the list below says the same in words
and numbers.</p>
<div class="tools"><label>Colour by layer <select id="map-layer">{_layers(data, data.depth)}</select></label></div>
<div class="map"><canvas id="map-canvas" role="img" aria-label="Map of {data.size} documents"></canvas>
<div id="map-tip" class="tip" hidden></div></div>
<ul class="legend" id="map-legend" aria-label="Topics that lead in most documents"></ul>
<p class="note" id="map-rest"></p>""",
    )


def _derivation(data: ReportData) -> Section:
    text = derivation_html(clean_text(data.derivation)) if data.derivation else "<p>Not given.</p>"
    return (
        "derivation",
        "The model and its sampler",
        '<p class="note">Made from the network itself: the equations are written by the rules that '
        "the sampler runs.</p>"
        f'<details><summary>Show the derivation</summary><div class="derivation">{text}</div></details>',
    )


def _settings(data: ReportData) -> Section:
    rows = [[_text(name), _text(value)] for name, value in data.settings.items()]
    code = ""
    if data.repeat:
        code = f'<h3>To repeat this run</h3><pre tabindex="0">{_text(data.repeat)}</pre>'
    table = _table([("Setting", ""), ("Value", "")], rows, "Settings of this run")
    return "settings", "Settings", f'<div class="settings">{table}{code}</div>'
