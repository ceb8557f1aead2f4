"""Convergence: traces of quantities that do not depend on the numbering of topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pgbn.report.data import ReportData, Series
from pgbn.report.embedding import even_choice
from pgbn.report.text import clean_text, grouped, html_table, html_text, several, short_number

_POINTS = 500  # points of a trace
_FALLS = (
    "The log likelihood is that of the documents that the model was trained on. It may fall where "
    "a layer is put on top: the new layer ties the topics of a document to those of similar "
    "documents, so that they follow the very words of that document less closely. For the same "
    "reason other documents are often predicted better, which held-out perplexity tells."
)
_MEANS = {
    "run longer": (
        "“Run longer”: the chain was still on its way, and other sweeps would give other figures. "
        "A first look at what is in the data is possible all the same; for figures to rely on, "
        "give it more sweeps, and compare several seeds."
    ),
    "too few draws": (
        "“Too few draws”: an effective sample size below 100 for each chain cannot tell whether "
        "the chain has settled, whatever R-hat is; give it more sweeps."
    ),
}


def traces_html(data: ReportData) -> str:
    """The table, the place of the traces, and what they do not tell."""
    explained = f'<p class="note">{_FALLS}</p>' if data.depth > 1 else ""
    place = '<div id="trace-place"></div>'
    return diagnosis_html(data.series) + explained + _held_out(data) + place


def _held_out(data: ReportData) -> str:
    """The perplexity of documents that were held out, for each number of layers."""
    if not data.held_out:
        return (
            '<p class="note">Held-out perplexity is not known here; <code>pgbn report model '
            "--held-out FILE</code>, or <code>held_out=</code> in Python, shows it for other "
            "documents.</p>"
        )
    shown = ", ".join(
        f"{perplexity:.4g} with {several(depth, 'layer')}" for depth, perplexity in data.held_out
    )
    return (
        f'<p id="held-out"><strong>Held-out perplexity</strong> (lower is better): {shown}. One '
        "half of the words of other documents was predicted from the other half.</p>"
    )


def diagnosis_html(traces: Sequence[Series], sweeps: str = "shaded sweeps") -> str:
    """A table of mean, spread, ESS and R-hat of the ``sweeps`` that a reader is told of."""
    chains = traces[0].values.shape[0]
    many = chains > 1
    heads = [("Quantity", ""), ("Mean", "figure"), ("Spread", "figure"), ("ESS", "figure"),
             ("R-hat", "figure"), ("", "")]  # fmt: skip
    note = (
        f"{chains} chains with seeds of their own. "
        if many
        else "One chain: R-hat compares its halves; several chains with different seeds tell more. "
    ) + (
        "Only quantities that do not depend on the numbering of topics are shown. ESS (bulk "
        f"effective sample size) and R-hat (rank-normalised, split) are of the {sweeps}."
    )
    table = html_table(heads, map(_diagnosis, traces), "Convergence of label-free quantities")
    found = {series.verdict for series in traces}
    meant = "".join(f'<p class="note">{_MEANS[each]}</p>' for each in _MEANS if each in found)
    return f'<p class="note">{note}</p>{table}{meant}'


def _diagnosis(series: Series) -> list[str]:
    values = series.values[:, series.settled :]
    ess, rhat, verdict = series.ess, series.rhat, series.verdict
    if verdict == "run longer":
        verdict = f'<span class="warn">{verdict}</span>'
    return [
        html_text(series.name),
        _number(float(values.mean()), 5) if values.size else "–",
        _number(float(values.std()), 3) if values.size else "–",
        f"{ess:.0f}" if np.isfinite(ess) else "–",
        f"{rhat:.3f}".replace("inf", "∞") if not np.isnan(rhat) else "–",
        verdict,
    ]


def _number(value: float, digits: int) -> str:
    return grouped(round(value)) if 1e3 <= abs(value) < 1e12 else f"{value:.{digits}g}"


def traces_payload(data: ReportData) -> dict[str, Any]:
    """The traces, and where layers were put on top."""
    return {
        "series": [_trace(series) for series in data.series],
        "stages": [[sweep, clean_text(label)] for sweep, label in data.stages],
    }


def _trace(series: Series) -> dict[str, Any]:
    chosen = even_choice(series.sweeps.size, _POINTS)
    return {
        "name": clean_text(series.name),
        "sweeps": [short_number(value, 8) for value in series.sweeps[chosen]],
        "values": [[short_number(value, 7) for value in row[chosen]] for row in series.values],
        "settled": short_number(series.sweeps[min(series.settled, series.sweeps.size - 1)], 8),
    }
