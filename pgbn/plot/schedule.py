"""The freshness table of a schedule as SVG: a column for each step, a row for each value.

A value that a step integrates out is hatched until a later step draws it. The values that a step
reads are marked. A read of a stale value makes an order wrong and is marked in red.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from pgbn.explain.formulas import to_unicode
from pgbn.explain.names import symbols_of
from pgbn.network.schedule import Freshness
from pgbn.network.steps import Step
from pgbn.plot.picture import Picture, svg, white

if TYPE_CHECKING:
    from pgbn.network.schedule import Schedule


_WIDTH, _HEIGHT, _GAP = 62.0, 38.0, 6.0
_STYLE = """
text { font-family: 'DejaVu Sans', 'Segoe UI', Helvetica, Arial, sans-serif; fill: #1d2733; }
.number { font-size: 11px; fill: #56616f; text-anchor: middle; }
.step { font-size: 13px; text-anchor: middle; }
.up { fill: #1f5fa8; } .down { fill: #9a4f00; }
.row { font-size: 14px; text-anchor: end; }
.mark { font-size: 11.5px; text-anchor: middle; font-weight: 600; }
.current { fill: #dcebd9; stroke: #9fb0a0; }
.stale { fill: url(#hatch); stroke: #aab3c0; }
.read { fill: #1f5fa8; } .drawn { fill: #9a4f00; } .out { fill: #8d1f18; } .wrong { fill: #ffffff; }
.fault { fill: #b3261e; stroke: #7d1a14; }
"""
HATCH = (
    '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect width="6" height="6" fill="#fff"/><line x1="0" y1="0" '
    'x2="0" y2="6" stroke="#c9d1da" stroke-width="3"/></pattern></defs>'
)


@dataclass(frozen=True)
class Cell:
    """A value at a step: whether it is ``stale`` after it, and what the step does with it: "read",
    "Σ read", "drawn", "out" (integrated out), "stale!" (read although stale), or ""."""

    stale: bool
    mark: str


def freshness_table(steps: Sequence[Step]) -> dict[str, list[Cell]]:
    """For every value that some step integrates out, its cells through a sweep that follows
    another one."""
    names = [step.name for step in steps if not step.upward
             and any(step.name in other.marginalises for other in steps)]  # fmt: skip
    freshness = Freshness()
    for step in steps:
        freshness.run(step)
    table: dict[str, list[Cell]] = {name: [] for name in names}
    for step in steps:
        marks = {name: _mark(freshness, step, name) for name in names}
        freshness.run(step)
        for name in names:
            table[name].append(Cell(name in freshness.stale, marks[name]))
    return table


def _mark(freshness: Freshness, step: Step, name: str) -> str:
    if step.name == name:
        return "drawn"
    reads = [read for read in step.reads if read.name == name]
    if not all(map(freshness.is_current, reads)):
        return "stale!"
    if reads:
        return "Σ read" if all(read.summed for read in reads) else "read"
    return "out" if name in step.marginalises else ""


def plot_schedule(schedule: Schedule) -> Picture:
    """The table as a picture."""
    steps, table = schedule.steps, freshness_table(schedule.steps)
    nodes = dict.fromkeys(step.node for step in steps)
    symbols = {name: to_unicode(symbol.at()) for name, symbol in symbols_of(nodes).items()}
    labels = [symbols[step.node] if not step.upward else f"n({symbols[step.node]})"
              for step in steps]  # fmt: skip
    widths = [max(_WIDTH, 8.2 * len(label) + 10) for label in labels]
    left = 26 + max((9.0 * len(symbols[name]) for name in table), default=0.0) + 14
    width = left + sum(widths) + _GAP * len(widths) + 20
    height = 84 + (_HEIGHT + _GAP) * max(1, len(table)) + 34
    parts, x = [], left
    for number, (step, label, wide) in enumerate(zip(steps, labels, widths, strict=True), 1):
        kind = "up" if step.upward else "down"
        parts.append(f'<text class="number" x="{x + wide / 2:.1f}" y="44">{number}</text>')
        parts.append(
            f'<text class="step {kind}" x="{x + wide / 2:.1f}" y="64">{escape(label)}</text>'
        )
        for row, cells in enumerate(table.values()):
            parts.append(_cell(cells[number - 1], x, 76 + row * (_HEIGHT + _GAP), wide))
        x += wide + _GAP
    for row, name in enumerate(table):
        y = 76 + row * (_HEIGHT + _GAP) + _HEIGHT / 2 + 5
        parts.append(
            f'<text class="row" x="{left - 12:.1f}" y="{y:.1f}">{escape(symbols[name])}</text>'
        )
    legend = (
        "green: current · hatched: stale · out: integrated out · Σ: only a sum is read"
        if table
        else "No step integrates a value out: every order is valid."
    )
    parts.append(f'<text x="{left:.0f}" y="{height - 14:.0f}" font-size="12">{legend}</text>')
    title = "Which values are current, step by step"
    spoken = "; ".join(_spoken(name, cells, steps) for name, cells in table.items())
    head = [HATCH, white(width, height)]
    return Picture(svg(width, height, title, _STYLE, [*head, *parts],
                       f"{title}: {spoken}" if spoken else ""))  # fmt: skip


def _cell(cell: Cell, x: float, y: float, wide: float) -> str:
    kind = "fault" if cell.mark == "stale!" else "stale" if cell.stale else "current"
    mark = {"Σ read": "read", "stale!": "wrong"}.get(cell.mark, cell.mark)
    box = (f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" '
           f'height="{_HEIGHT:.0f}" rx="5"/>')  # fmt: skip
    if not cell.mark:
        return box
    text = f'<text class="mark {mark}" x="{x + wide / 2:.1f}" y="{y + _HEIGHT / 2 + 4:.1f}">'
    return f"{box}{text}{escape(cell.mark)}</text>"


def _spoken(name: str, cells: list[Cell], steps: Sequence[Step]) -> str:
    """scores is stale after loadings, rate."""
    stale = [step.name for cell, step in zip(cells, steps, strict=True) if cell.stale]
    wrong = [step.name for cell, step in zip(cells, steps, strict=True) if cell.mark == "stale!"]
    words = f"{name} is stale after {', '.join(stale)}"
    return words + (f", and read stale by {', '.join(wrong)}" if wrong else "")
