"""The running means of chains, as SVG: two orders that drift apart, or do not."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.run.chain import Chain

__all__ = ["drift_chart", "running_means"]

_WIDTH, _HEIGHT = 640.0, 220.0
_COLOURS = ("#1d2733", "#b3261e")


def running_means(chains: Sequence[Chain], sweeps: int) -> dict[str, NDArray[np.float64]]:
    """For every node that all sweeps draw, the running mean of ln(1 + |value|), averaged over its
    entries: (chain, sweep)."""
    names = [name for name in chains[0].network.latent
             if chains[0].network.nodes[name].simplex is None]  # fmt: skip
    kept: dict[str, list[list[float]]] = {name: [[] for _ in chains] for name in names}
    for number, chain in enumerate(chains):
        for _ in range(sweeps):
            values = chain.sweep().select(names)
            for name in names:
                kept[name][number].append(float(np.log1p(np.abs(values[name])).mean()))
    steps = np.arange(1, sweeps + 1)
    return {name: np.cumsum(np.array(series), axis=1) / steps for name, series in kept.items()}


def drift_chart(chains: Sequence[Chain], titles: Sequence[str], sweeps: int) -> str:
    """The node whose running means end furthest apart, in standard deviations of its mean."""
    means = running_means(chains, sweeps)
    name = max(means, key=lambda each: _apart(means[each]))
    lines, low, high = means[name], float(means[name].min()), float(means[name].max())
    scale = (_HEIGHT - 50) / max(high - low, 1e-12)
    paths = []
    for line, colour in zip(lines, _COLOURS, strict=False):
        points = " ".join(
            f"{40 + (_WIDTH - 60) * step / (sweeps - 1):.1f},{_HEIGHT - 30 - (y - low) * scale:.1f}"
            for step, y in enumerate(line)
        )
        paths.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2.5"/>'
        )
    legend = "; ".join(
        f'<span style="color: {colour}">{escape(title)}: {line[-1]:.3f}</span>'
        for title, colour, line in zip(titles, _COLOURS, lines, strict=False)
    )
    spoken = f"Running mean of ln(1 + {name}) over {sweeps} sweeps"
    return (
        f"<h2>{escape(spoken)}</h2><p>{legend}</p>"
        f'<svg width="{_WIDTH:.0f}" height="{_HEIGHT:.0f}" role="img" '
        f'viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" aria-label="{escape(spoken, quote=True)}">'
        f"{''.join(paths)}</svg>"
    )


def _apart(means: NDArray[np.float64]) -> float:
    half = means[:, means.shape[1] // 2 :]
    return float(abs(means[0, -1] - means[-1, -1]) / (half.std(axis=1).sum() + 1e-12))
