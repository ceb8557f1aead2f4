"""Draws by kernels: what is left invariant, and why that is enough."""

from __future__ import annotations

from pgbn.explain.model import distribution
from pgbn.explain.names import clean_math
from pgbn.explain.notation import Notation
from pgbn.explain.registered import where_lines
from pgbn.explain.symbols import At, Phase
from pgbn.nodes.base import Node

__all__ = ["kernel_lines", "kernel_reason"]


def kernel_lines(notation: Notation, node: Node) -> list[str]:
    """The conditional that a kernel leaves invariant, or draws from."""
    rule = notation.wiring.draws[node.name]
    stated = clean_math(rule.equation) or r"\text{the registered kernel}"
    if rule.hears:
        lines = []
        for at, phase, condition in notation.rows(node):
            tail = rf",\quad {condition}" if condition else ""
            lines.append(rf"({notation.own_symbol(node, at)} \mid -) &\sim {stated}{tail}")
            lines += [line + tail for line in where_lines(notation, node, rule.reads, at, phase)]
        return lines
    symbol, along = notation.own_symbol(node), notation.along(node)
    if along is not None:  # all rows at once
        symbol = rf"({symbol})_{{{notation.index[along]}}}"
    factors = [_density(notation, node, rf"\prod_{{{condition}}} " if condition else "", at, phase)
               for at, phase, condition in notation.rows(node)]  # fmt: skip
    factors += [_density(notation, child, r"\prod ")
                for child in notation.wiring.connections.children[node.name].values()]  # fmt: skip
    law = rf"p({symbol} \mid -) &\propto " + r"\ ".join(factors)
    return [rf"({symbol} \mid -) &\sim {stated}", law]


def _density(
    notation: Notation, node: Node, sign: str, at: At | None = None, phase: Phase = None
) -> str:
    """The density of a node given its slots: Gam(θ; a, c)."""
    slots = {slot: notation.slot(node, slot, at, phase) for slot in node.slots()}
    family = distribution(notation, node, slots).removeprefix(r"&\sim ").removeprefix("&= ")
    return rf"{sign}p\bigl({notation.own_symbol(node, at)} : {family}\bigr)"


def kernel_reason(notation: Notation, node: Node) -> str:
    """Why such a step may stand in for a draw."""
    rule = notation.wiring.draws[node.name]
    source = f" ({rule.reference[0].upper()}{rule.reference[1:]}.)" if rule.reference else ""
    held = "" if rule.hears else " All that depends on it is held."
    if not rule.reads_value:
        return f"Drawn from its conditional.{held}{source}"
    return (
        "A kernel that leaves the conditional invariant: it begins from the current value, which "
        f"no step since its last draw has integrated out.{held}{source}"
    )
