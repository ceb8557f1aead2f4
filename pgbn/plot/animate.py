"""A sweep as a page: one file, no request, for a browser, a projector or a notebook.

The graph, a slider over the steps of one sweep, the equation of each step with its numbers, and
the freshness table. With a second order, which is not checked, both run side by side.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.plan import posterior_of
from pgbn.engine.run.bound_steps import TraceEvent
from pgbn.engine.run.chain import Chain
from pgbn.errors import DataError
from pgbn.explain.document import join
from pgbn.explain.formulas import aligned_mathml
from pgbn.explain.notation import Notation
from pgbn.explain.sampler import sampler_of_chain
from pgbn.explain.sweep import step_lines
from pgbn.network.schedule import reorder
from pgbn.nodes.beta import BetaOdds
from pgbn.plot.picture import find_plate, make_boxes, plot
from pgbn.plot.schedule import HATCH, freshness_table
from pgbn.storage.atomic_files import save_text

if TYPE_CHECKING:
    from pgbn.network.network import Network


_WIDTH, _HEIGHT = 640.0, 220.0
_COLOURS = ("#1d2733", "#b3261e")
_MOST = 12  # numbers of an array that are shown


def running_means(chains: Sequence[Chain], sweeps: int) -> dict[str, NDArray[np.float64]]:
    """For every node that all sweeps draw, the running mean of ln(1 + |value|), averaged over its
    entries: (chain, sweep)."""
    names = [name for name in chains[0].network.latent
             if chains[0].network.nodes[name].simplex is None]  # fmt: skip
    kept: dict[str, list[list[float]]] = {name: [[] for _ in chains] for name in names}
    for number, chain in enumerate(chains):
        for _ in range(sweeps):
            values = chain.sweep()._select(names)
            for name in names:
                kept[name][number].append(float(np.log1p(np.abs(values[name])).mean()))
    steps = np.arange(1, sweeps + 1)
    return {name: np.cumsum(np.array(series), axis=1) / steps for name, series in kept.items()}


def drift_chart(chains: Sequence[Chain], titles: Sequence[str], sweeps: int) -> str:
    """The running means of chains as SVG, for the node whose means differ most at the end, in
    standard deviations of its mean."""
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


@dataclass(frozen=True)
class Animation:
    """A page with one sweep, step by step, as `Network.animate` returns it; Jupyter shows it.

    Parameters
    ----------
    html
        The text of the page; ``str(animation)`` returns it too.

    Examples
    --------
    >>> import numpy as np
    >>> import pgbn
    >>> pgbn.zoo.pfa(2).animate({"x": np.array([[3, 1], [0, 4]])})
    Animation(…); .save("sweep.html") writes it, Jupyter shows it
    """

    html: str

    def __repr__(self) -> str:
        return 'Animation(…); .save("sweep.html") writes it, Jupyter shows it'

    def __str__(self) -> str:
        return self.html

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self.html, quote=True)}" title="One sweep, step by step" '
            'style="width: 100%; height: 900px; border: 0"></iframe>'
        )

    def save(self, path: Any) -> None:
        """Write the page to a file, complete or not at all.

        Parameters
        ----------
        path
            An ``.html`` file.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import numpy as np
        >>> import pgbn
        >>> page = pgbn.zoo.pfa(2).animate({"x": np.array([[3, 1], [0, 4]])})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page.save(Path(folder, "sweep.html"))
        """
        save_text(path, self.html, "page")


def animate(
    network: Network,
    data: Mapping[str, Any],
    order: Iterable[str] | None = None,
    seed: int = 0,
    sweeps: int = 300,
    sampler: str = "composed",
) -> Animation:
    """One sweep of a tiny network on ``data``; with ``order``, another order next to it, and the
    running means of both chains over ``sweeps`` sweeps. The order is not checked."""
    chains = [network.chain(data, seed, sampler=sampler)]
    titles = ["The order of the network"]
    if order is not None:
        if isinstance(order, str):
            raise DataError(f"animate: order={order!r}: give a list of the names of steps")
        other = network.chain(data, seed, sampler=sampler)
        steps = {step.name: step for step in other.schedule}
        other._follow(reorder(steps, order, check=False))
        chains.append(other)
        titles.append(
            "The order that was given" + (", which is wrong" * bool(other.schedule.faults))
        )
    graph = _graph(network)
    runs, panels = [], []
    for chain, title in zip(chains, titles, strict=True):
        chain.sweep()  # values are as stale at first as after a sweep
        runs.append({"events": list(_events(chain))})
        panels.append(
            f'<section class="run" aria-label={quoteattr(title)}><h2>{escape(title)}</h2>'
            f'<div class="graph">{graph}</div><div class="told" aria-live="polite"></div>'
            f'<div class="scroll">{_table(chain)}</div></section>'
        )
    drift = drift_chart(chains, titles, sweeps) if order is not None else ""
    return Animation(_page(runs, panels, drift))


def _events(chain: Chain) -> Iterable[dict[str, Any]]:
    notation, sampler = Notation(chain.network), sampler_of_chain(chain)
    for event in chain.trace():
        step = event.step
        yield {
            "number": event.number,
            "name": step.name,
            "node": step.node,
            "upward": step.upward,
            "reads": sorted(read.name for read in step.reads),
            "told": sorted(event.counts),
            "stale": sorted(event.stale),
            "faults": sorted(event.faults),
            "equation": aligned_mathml(step_lines(notation, sampler, step)),
            "numbers": _numbers(chain, event),
            "words": _words(event),
            "why": _why(chain, event),
        }


def _numbers(chain: Chain, event: TraceEvent) -> list[str]:
    """The parameters of the draw, and its result. A draw does not change the values that its
    parameters depend on, except in time, where a row reads the new row before it. A kernel has no
    parameters."""
    lines = [f"{name} ← {_short(counts)}" for name, counts in event.counts.items()]
    if event.value is None:
        return lines
    program, node = chain._program, chain.network.nodes[event.step.node]
    plain = not program.wiring.draws[node.name].kernel and not program.is_in_time(node.name)
    if plain and node.name not in program.wiring.completed:
        updated = posterior_of(program, node)()
        lines += [f"{slot} = {_short(np.squeeze(np.asarray(value)))}"
                  for slot, value in updated.items()]  # fmt: skip
    value, shown = event.value, node.name
    if isinstance(node, BetaOdds):  # the value is (1 − p) / p
        lines.append(f"{node.name} = {_short(1.0 / (1.0 + np.asarray(value)))}")
        shown = f"(1 − {node.name}) / {node.name}"
    return [*lines, f"{shown} = {_short(value)}"]


def _short(array: Any) -> str:
    values = np.asarray(array)
    flat = [f"{value:.3g}" for value in values.reshape(-1)[:_MOST]]
    more = " …" if values.size > _MOST else ""
    size = f" ({' × '.join(map(str, values.shape))})" if values.ndim > 1 else ""
    return f"{' '.join(flat)}{more}{size}"


def _words(event: TraceEvent) -> list[str]:
    way = "Counts go up." if event.step.upward else "A value comes down."
    stale = sorted(name for name in event.stale if not name.startswith("counts("))
    left = f"Stale after it: {join(stale)}." if stale else "After it all values are current."
    return [f"{way} {left}"]


def _why(chain: Chain, event: TraceEvent) -> str:
    """The error of a step that reads a stale value."""
    faults = [fault for fault in chain.schedule.faults if fault[0] == event.step.name]
    if not event.faults or not faults:
        return ""
    return " ".join(
        f"Wrong: {name} reads {read}, which belongs to the old state: {culprit} was drawn with "
        f"{read} integrated out, and {read} has not been redrawn since."
        for name, read, culprit in faults
    )


def _graph(network: Network) -> str:
    """The picture of the network, its nodes and edges named for the script."""
    names = iter(make_boxes(network, find_plate(network)))
    edges = iter(network.graph.edges)
    svg = re.sub(
        r'<g role="img"', lambda _: f"<g data-node={quoteattr(next(names))}", str(plot(network))
    )

    def named(tag: re.Match[str]) -> str:
        pair = next(edges, None)
        if pair is None:
            return tag[0]  # the loop of a chain
        return f"{tag[0]} data-parent={quoteattr(pair[0])} data-child={quoteattr(pair[1])}"

    return re.sub(r'<path class="edge"', named, svg)


def _table(chain: Chain) -> str:
    """The freshness table, whose cells the script opens."""
    steps = [step for step in chain.schedule if not step.on_demand]
    head = "".join(f'<th scope="col">{number}</th>' for number in range(1, len(steps) + 1))
    rows = []
    for name, cells in freshness_table(steps).items():
        tags = []
        for number, cell in enumerate(cells, 1):
            kind = "wrong" if cell.mark == "stale!" else "stale" if cell.stale else ""
            tags.append(f'<td class="{kind}" data-at="{number}" data-mark="{cell.mark}"></td>')
        rows.append(f'<tr><th scope="row">{escape(name)}</th>{"".join(tags)}</tr>')
    caption = "<caption>Which values are current, after each step</caption>"
    return f"<table>{caption}<tr><th></th>{head}</tr>{''.join(rows)}</table>"


def _page(runs: list[Any], panels: list[str], drift: str) -> str:
    assets = files("pgbn.plot") / "assets"
    style = (assets / "animate.css").read_text("utf-8")
    script = (assets / "animate.js").read_text("utf-8")
    data = json.dumps(runs, ensure_ascii=False).replace("</", "<\\/")
    hatch = f'<svg class="patterns" width="0" height="0" aria-hidden="true">{HATCH}</svg>'
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>One sweep, step by step</title>\n<style>{style}</style>\n</head>\n<body>\n{hatch}"
        '<div class="top"><h1>One sweep, step by step</h1>\n'
        '<p><span class="up">Blue: counts go up.</span> <span class="down">Brown: values come down.'
        "</span> Hatched: stale. Thick frame: read. Arrow keys move.</p></div>\n"
        '<div class="controls"><button id="back" type="button">Back</button>'
        '<input id="step" type="range" min="0" max="1" value="0" aria-label="step of the sweep">'
        '<button id="on" type="button">On</button><output id="count" for="step"></output></div>\n'
        f'<div class="runs">{"".join(panels)}</div>\n{drift}\n'
        f'<script id="runs" type="application/json">{data}</script>\n<script>{script}</script>\n'
        "</body>\n</html>\n"
    )
