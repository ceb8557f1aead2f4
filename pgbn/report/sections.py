"""The sections of the report, as HTML that the script of the page fills."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from pgbn.report.data import ReportData, Series
from pgbn.report.derivation import derivation_html
from pgbn.report.embedding import explained
from pgbn.report.payload import clean_text

__all__ = ["Section", "html_text", "lead", "sections"]

Section = tuple[str, str, str]  # its id, its title, its content
_GOOD_RHAT = 1.01


def sections(data: ReportData) -> list[Section]:
    """All sections that ``data`` has something for, in the order of the page."""
    return [
        _graph(data),
        _topics(data),
        _widths(data),
        *([_traces(data)] if data.series else []),
        *([_map(data)] if data.theta else []),
        _derivation(data),
        _settings(data),
    ]


def html_text(value: object) -> str:
    """Any value as text that HTML shows as it is."""
    return escape(clean_text(value))


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", "\u2009").replace("-", "\u2212")


def _several(number: int, thing: str) -> str:
    return f"{_grouped(number)} {thing}{'' if number == 1 else 's'}"


def _number(value: float, digits: int) -> str:
    return _grouped(round(value)) if 1e3 <= abs(value) < 1e12 else f"{value:.{digits}g}"


def lead(data: ReportData) -> str:
    """The size of the model in a line."""
    widths = " – ".join(map(str, data.widths))
    parts = [f"{_several(data.depth, 'layer')} of {widths} topics"]
    parts.append(_several(len(data.vocabulary), "term"))
    if data.size:
        parts.append(_several(data.size, "document"))
    return " · ".join(parts)


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
        '<p class="note">A box is a topic, named by its leading words; its bar is its share in the '
        f"layer.{made} Choose one for its words and documents. Keys: arrows, Enter, Escape.</p>"
        '<div class="tools"><label><input type="checkbox" id="all-topics"> all topics</label>'
        f"{more}"
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
<label class="grow">Search
<input type="search" id="search" placeholder="words, or layer/topic" autocomplete="off"></label>
<label>Layer <select id="layer"><option value="0">all</option>{_layers(data, 0)}</select></label>
<span id="found" role="status"></span></div>
<div class="scroll"><table id="table"><caption class="hidden">All topics</caption>
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
        f"Active: {html_text(data.active_means)}. Given: the width that training started with. "
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
        html_text(series.name),
        _number(float(values.mean()), 5) if values.size else "–",
        _number(float(values.std()), 3) if values.size else "–",
        f"{ess:.0f}" if np.isfinite(ess) else "–",
        f"{rhat:.3f}" if np.isfinite(rhat) else "–",
        verdict,
    ]


def _map(data: ReportData) -> Section:
    kept = explained(data.theta[0])
    return (
        "map",
        "Document map",
        f"""<p class="note">Each point is a document, placed by the first two principal components
of the square roots of its topic shares in layer 1 ({kept:.0%} of their variance), with the crowded
middle spread out. Its colour is the topic that leads in it; the list below says the same in words
and numbers.</p>
<div class="tools"><label>Colour by layer
<select id="map-layer">{_layers(data, data.depth)}</select></label></div>
<div class="map">
<canvas id="map-canvas" role="img" aria-label="Map of {data.size} documents"></canvas>
<div id="map-tip" class="tip" hidden></div></div>
<ul class="legend" id="map-legend" aria-label="Topics that lead in most documents"></ul>
<p class="note" id="map-rest"></p>""",
    )


def _derivation(data: ReportData) -> Section:
    body = derivation_html(clean_text(data.derivation)) if data.derivation else "<p>Not given.</p>"
    return (
        "derivation",
        "The model and its sampler",
        '<p class="note">Made from the network itself: the equations are written by the rules that '
        "the sampler runs.</p>"
        "<details><summary>Show the derivation</summary>"
        f'<div class="derivation">{body}</div></details>',
    )


def _settings(data: ReportData) -> Section:
    rows = [[html_text(name), html_text(value)] for name, value in data.settings.items()]
    code = ""
    if data.repeat:
        code = f'<h3>To repeat this run</h3><pre tabindex="0">{html_text(data.repeat)}</pre>'
    table = _table([("Setting", ""), ("Value", "")], rows, "Settings of this run")
    return "settings", "Settings", f'<div class="settings">{table}{code}</div>'
