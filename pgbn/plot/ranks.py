"""Histograms of ranks as SVG, with the band in which bars of uniform ranks lie."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from pgbn.plot.picture import Picture, svg, white

_WIDE, _HIGH, _COLUMNS = 210.0, 128.0, 4


def rank_histograms(
    histograms: Mapping[str, NDArray[np.int64]], shares: Mapping[str, NDArray[np.float64]]
) -> Picture:
    """One small histogram for each statistic; bars outside the 99 % band are red."""
    rows = -(-len(histograms) // _COLUMNS)
    width, height = _WIDE * min(_COLUMNS, len(histograms)) + 20, _HIGH * rows + 20
    parts = []
    for number, (name, counts) in enumerate(histograms.items()):
        left, top = 10 + _WIDE * (number % _COLUMNS), 10 + _HIGH * (number // _COLUMNS)
        parts.append(_histogram(name, counts, shares[name], left, top))
    title = "Ranks of the true values among posterior draws"
    style = "text { font: 12px 'DejaVu Sans', Helvetica, sans-serif; fill: #1d2733; }"
    return Picture(svg(width, height, title, style, [white(width, height), *parts]))


def _histogram(
    name: str, counts: NDArray[np.int64], share: NDArray[np.float64], left: float, top: float
) -> str:
    total, height, wide = int(counts.sum()), _HIGH - 38, (_WIDE - 20) / counts.size
    low, high = binom.ppf(0.005, total, share), binom.ppf(0.995, total, share)
    scale = height / max(float(counts.max()), float(high.max()), 1.0)
    base = top + 22 + height
    band = (
        f'<rect x="{left:.1f}" y="{base - high.max() * scale:.1f}" width="{_WIDE - 20:.1f}" '
        f'height="{(high.max() - low.min()) * scale:.1f}" fill="#e3e8ee"/>'
    )
    bars = []
    for place, count in enumerate(counts):
        outside = not low[place] <= count <= high[place]
        colour = "#b3261e" if outside else "#1f5fa8"
        bars.append(
            f'<rect x="{left + place * wide:.1f}" y="{base - count * scale:.1f}" '
            f'width="{wide - 1:.1f}" height="{count * scale:.1f}" fill="{colour}" '
            f'fill-opacity="0.75"/>'
        )
    spoken = f"{name}: {', '.join(map(str, counts))}"
    label = f'<text x="{left:.1f}" y="{top + 14:.1f}">{escape(name)}</text>'
    return f'<g role="img" aria-label={quoteattr(spoken)}>{label}{band}{"".join(bars)}</g>'
