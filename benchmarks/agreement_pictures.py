"""The pictures of docs/agreement.md, from the results that are kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.networks import error_of_mean

__all__ = ["PICTURES", "draw_pictures"]


def draw_pictures(results: Path, images: Path, most: float) -> None:
    """Write a PNG for each comparison; ``most`` standard errors are agreed on."""
    from matplotlib.figure import Figure

    for name, draw in PICTURES.items():
        found = json.loads((results / f"agreement-{name}.json").read_text("utf-8"))
        figure = Figure(figsize=(6.4, 3.2), layout="constrained")
        draw(figure.subplots(), found, most)
        figure.savefig(images / f"agreement-{name}.png", dpi=110, metadata={"Software": None})


def _scores(axes: Any, found: dict[str, Any], most: float) -> None:
    """Every difference, in standard errors, between the bounds."""
    scores = found["scores"]
    places = np.arange(len(scores))[::-1]
    axes.axvspan(-most, most, color="#e8eef5")
    axes.axvline(0, color="#888888", linewidth=0.8)
    axes.plot(list(scores.values()), places, "o", color="#1f5f99")
    axes.set_yticks(places, list(scores), fontsize=7)
    axes.set_xlim(-most - 0.5, most + 0.5)
    axes.set_xlabel(f"difference in standard errors (shaded: at most {most:g})")


def _by_sweep(axes: Any, found: dict[str, Any], most: float) -> None:
    """log p(w, z) by sweep, with the standard errors over seeds, less the mean of all programs."""
    traces = found["found"]
    sweeps = list(next(iter(traces.values())))
    centre = [np.mean([traces[name][n] for name in traces]) for n in sweeps]
    for number, (name, trace) in enumerate(traces.items()):
        values = [np.mean(trace[n]) - middle for n, middle in zip(sweeps, centre, strict=True)]
        errors = [most * error_of_mean(trace[n]) for n in sweeps]
        places = np.arange(len(sweeps)) + 0.12 * (number - len(traces) / 2)
        axes.errorbar(places, values, errors, fmt="o", markersize=4, label=name, capsize=2)
    axes.axhline(0, color="#888888", linewidth=0.8)
    axes.set_xticks(np.arange(len(sweeps)), sweeps)
    axes.set_xlabel("sweeps")
    axes.set_ylabel(f"log p(w, z) per token,\nless the mean of all; ± {most:g} errors", fontsize=8)
    axes.legend(fontsize=7, ncols=2)


def _perplexities(axes: Any, found: dict[str, Any], most: float) -> None:
    """The perplexities of all seeds, ours and the authors'."""
    for place, (ours, theirs) in enumerate(found["found"].values()):
        axes.plot([place - 0.08] * len(ours), ours, "o", color="#1f5f99",
                  label=None if place else "pgbn, one seed each")  # fmt: skip
        axes.plot([place + 0.08] * len(theirs), theirs, "D", color="#c4551d",
                  label=None if place else "authors' program")  # fmt: skip
        spread = most * np.std(ours, ddof=1) * np.sqrt(1 / len(ours) + 1 / len(theirs))
        axes.errorbar(place + 0.2, np.mean(ours), spread, fmt="_", color="#1f5f99", capsize=3)
        axes.text(place + 0.23, np.mean(ours), f"mean ± {most:g} errors", fontsize=7, va="center")
    axes.set_xticks(range(len(found["found"])), list(found["found"]))
    axes.set_xlim(-0.4, len(found["found"]) - 0.3)
    axes.set_ylabel("perplexity of held-out words")
    axes.legend(fontsize=7)


PICTURES = {"exact": _scores, "peers": _by_sweep, "authors": _perplexities, "calibration": _scores}
