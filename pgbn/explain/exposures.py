"""What nodes hear: a line for each count and exposure, and all exposures in one place."""

from __future__ import annotations

from pgbn.explain.document import Block, Equations, Heading
from pgbn.explain.notation import Notation
from pgbn.nodes.base import Node

__all__ = ["beyond_lines", "count_line", "exposure_line", "exposures"]


def exposures(notation: Notation) -> list[Block]:
    """The exposures that all nodes hear, in one place."""
    lines: list[str] = []
    labels: list[str] = []
    for node in reversed(notation.network.nodes.values()):
        draw = notation.wiring.draws.get(node.name)
        if draw is None or draw.kind != "poisson":
            continue
        if draw.constant_over_simplex and node.name not in notation.wiring.completed:
            continue
        lines.append(exposure_line(notation, node))
        for slot in node.slots():
            traced = notation.traced(node, slot) if notation.has_lag(node, slot) else None
            if traced is not None:
                lines.append(rf"{notation.passed(node, slot).latex} &= {traced.latex}")
                lines += beyond_lines(notation, node)
        labels += [f"exposure {node.name}"] * (len(lines) - len(labels))
    if not lines:
        return []
    return [Heading(3, "All exposures, from the data up"), Equations(tuple(lines), tuple(labels))]


def count_line(notation: Notation, node: Node) -> str:
    """m = …, added up over all that a node hears."""
    total = notation.heard_count(node.name)
    for slot in node.slots():
        if notation.has_lag(node, slot):
            total = total + notation.passed_back_count(node, slot, notation.index)
    return rf"{notation.count(node.name).latex} &= {total.latex}"


def exposure_line(notation: Notation, node: Node) -> str:
    """q = …, added up over all that a node hears."""
    total = notation.heard_exposure(node.name)
    for slot in node.slots():
        if notation.has_lag(node, slot):
            total = total + notation.passed_back_exposure(node, slot, notation.index)
    return rf"{notation.exposure_symbol(node.name).latex} &= {total.latex}"


def beyond_lines(notation: Notation, node: Node) -> list[str]:
    """What the rows beyond the last would pass back: 0."""
    row, lines = notation.along(node) or "", []
    size, several = notation.size[row], notation.lags(node)[-1] > 1
    at = {**notation.index, row: notation.index[row] if several else f"{size}+1"}
    tail = rf",\quad {notation.index[row]} > {size}" if several else ""
    for slot in node.slots():
        if notation.has_lag(node, slot):
            lines.append(rf"{notation.drawn(node, slot, at).latex} &= 0{tail}")
            lines.append(rf"{notation.passed(node, slot, at).latex} &= 0{tail}")
    return lines
