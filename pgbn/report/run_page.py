"""The report of any run: the network, its simplex nodes, its traces, its derivation, its settings.

One HTML page without a script that asks for nothing else. The page of a deep topic model, with its
graph of topics, is `pgbn.report.page`.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from importlib.resources import files
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pgbn.report.data import Series
from pgbn.report.embedding import even_choice
from pgbn.report.run_data import RunData, Simplex
from pgbn.report.sections import derivation_html, settings_html
from pgbn.report.text import html_table, html_text, several
from pgbn.report.traces import diagnosis_html

# ---- html page ----------------------------------------------------------------------------------
#
# The frame of every page: its style, script and data are in it, and it asks for nothing else.


def html_page(
    title: str,
    lead: str,
    sections: Iterable[tuple[str, str, str]],
    *,
    before: str = "",
    aside: str = "",
    payload: str = "",
    script: str = "",
) -> str:
    """A page that holds all that it needs. Of every section: its id, title and HTML. If the page
    has a ``script``, this is its text, and the JSON ``payload`` is what it reads."""
    parts = list(sections)
    links = "".join(f'<a href="#{name}">{heading}</a>' for name, heading, _ in parts)
    body = "\n".join(
        f'<section id="{name}" aria-labelledby="{name}-title">\n'
        f'<h2 id="{name}-title">{heading}</h2>\n{content}\n</section>'
        for name, heading, content in parts
    )
    style = (files("pgbn.report") / "assets" / "report.css").read_text(encoding="utf-8")
    # Nothing but these two texts may run or style the page, and nothing may be fetched.
    runs = f"script-src '{_hash(script)}'; " if script else ""
    policy = (
        f"default-src 'none'; {runs}style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    title = html_text(title)
    off = "This page draws itself with a script; scripts are off."
    warning = f'<noscript><p class="warn">{off}</p></noscript>\n' if script else ""
    scripts = (
        '<div id="live" class="hidden" aria-live="polite"></div>\n'
        f'<script type="application/json" id="data">{payload}</script>\n<script>{script}</script>\n'
        if script
        else ""
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
{before}<header><h1 dir="auto">{title}</h1><p class="lead">{lead}</p></header>
<nav aria-label="Sections"><div>{links}</div></nav>
<div class="layout{"" if aside else " plain"}">
<main>
{warning}{body}
</main>
{aside}
</div>
{scripts}</body>
</html>
"""


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


# ---- run page -----------------------------------------------------------------------------------


_WORDS, _ROWS, _POINTS = 10, 200, 400
_WIDE, _HIGH = 640, 110  # of a trace, in pixels


def run_html(data: RunData) -> str:
    """The page."""
    parts = [("network", "The network", _network(data))]
    parts += [(f"simplex-{i}", html_text(each.name), _simplex(each))
              for i, each in enumerate(data.simplexes)]  # fmt: skip
    if data.series:
        charts = "".join(_chart(series) for series in data.series)
        parts.append(("traces", "Convergence", diagnosis_html(data.series, "draws") + charts))
    parts.append(("derivation", "The model and its sampler", derivation_html(data.derivation)))
    parts.append(("settings", "Settings", settings_html(data.settings, data.repeat)))
    lead = f"{several(len(data.nodes), 'node')} · {several(len(data.series), 'trace')}"
    return html_page(data.title, lead, parts)


def _network(data: RunData) -> str:
    """The graph, and every node with its law and what was found."""
    image = ""
    if data.picture:
        text = base64.b64encode(data.picture.encode()).decode("ascii")
        alt = "The graph of the network; its nodes are in the table below."
        source = f"data:image/svg+xml;base64,{text}"
        image = f'<div class="scroll"><img alt="{alt}" src="{source}"></div>'
    heads = [("Node", ""), ("Law", ""), ("Dims", ""), ("Posterior", "")]
    rows = [[html_text(cell) for cell in row] for row in data.nodes]
    return image + html_table(heads, rows, "The nodes of the network")


def _simplex(simplex: Simplex) -> str:
    """The leading categories of every vector."""
    top = np.argsort(-simplex.mean, axis=1, kind="stable")[:, :_WORDS]
    rows = [
        [
            html_text(name),
            " ".join(f"<bdi>{html_text(simplex.columns[v])}</bdi>" for v in top[i].tolist()),
            f"{simplex.mean[i, top[i, 0]]:.3f}",
        ]
        for i, name in enumerate(simplex.rows[:_ROWS])
    ]
    note = (
        f"Posterior means of the first chain, the largest {html_text(simplex.over)} entries first."
    )
    if len(simplex.rows) > _ROWS:
        note += f" The first {_ROWS} of {len(simplex.rows)} vectors are shown."
    heads = [("Vector", ""), (html_text(simplex.over), ""), ("Largest", "figure")]
    table = html_table(heads, rows, f"Vectors of {html_text(simplex.name)}")
    return f'<p class="note">{note}</p>{table}'


def _chart(series: Series) -> str:
    """The traces of all chains as one picture."""
    chosen = even_choice(series.sweeps.size, _POINTS)
    sweeps, values = series.sweeps[chosen], series.values[:, chosen]
    finite = values[np.isfinite(values)]
    if sweeps.size < 2 or not finite.size:
        return ""
    low, high = float(finite.min()), float(finite.max())
    x = (sweeps - sweeps[0]) / (sweeps[-1] - sweeps[0]) * (_WIDE - 2) + 1
    y = _HIGH - 1 - (values - low) / ((high - low) or 1.0) * (_HIGH - 2)
    lines = "".join(
        f'<path class="trace c{i % 8}" d="{_path(x, row)}"/>' for i, row in enumerate(y)
    )
    name = html_text(series.name)
    caption = f"{name}: {low:.5g} to {high:.5g}, sweeps {sweeps[0]:.0f} to {sweeps[-1]:.0f}"
    return (
        f"<figure><figcaption>{caption}</figcaption>"
        f'<svg viewBox="0 0 {_WIDE} {_HIGH}" role="img" aria-label="Trace of {name}">'
        f"{lines}</svg></figure>"
    )


def _path(x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    """Straight lines through the points; a point that is not finite is a gap."""
    good = np.isfinite(y)
    return "".join(
        f"{'L' if before and now else 'M'}{a:.1f} {b:.1f}"
        for (before, now), a, b in zip(pairwise([False, *good.tolist()]), x, y, strict=True)
        if now
    )
