"""The table of all rules, as a prompt and a notebook show it."""

from __future__ import annotations

from pgbn.nodes.base import Latent, Observed, node_types
from pgbn.nodes.rules.registry import registered
from pgbn.nodes.rules.types import DrawRule
from pgbn.nodes.verbs import plain_formula

__all__ = ["rules"]


class _Table(str):
    """Text that a prompt shows as it is, and a notebook as a table with formulas."""

    markdown: str

    def __repr__(self) -> str:
        return str(self)

    def _repr_markdown_(self) -> str:
        return self.markdown


def _how(draw: DrawRule) -> tuple[str, str]:
    """The name under which a kernel is asked for, and the evidence that a draw hears."""
    return f"{draw.name!r}" if draw.name else "", draw.kind if draw.hears else "densities"


def rules() -> str:
    """The table of all rules; it shows itself at a prompt and, with formulas, in a notebook."""
    evidence, links, draws = registered()
    parts = {
        "Evidence: what a node tells a slot": [
            (f"{rule.child.__name__}.{rule.slot}", rule.relation, rule.kind, rule.equation)
            for rule in evidence
        ],
        "Links: the counts behind data": [
            (f"{link.node.__name__}.{link.slot}", "", "", link.equation) for link in links
        ],
        "Draws: a node given the evidence it hears": [
            (draw.node.__name__, *_how(draw), draw.equation) for draw in draws
        ],
    }
    lines, tables = [], []
    for title, rows in parts.items():
        lines.append(title)
        tables.append(f"**{title}**\n\n| | relation | kind | equation |\n|---|---|---|---|")
        for place, relation, kind, equation in rows:
            plain = plain_formula(equation) if equation else "the data are the counts"
            lines.append(f"  {place:<26}{relation:<11}{kind:<13}{plain}")
            formula = f"${equation}$".replace("|", r"\vert ") if equation else plain
            tables[-1] += f"\n| `{place}` | {relation} | {kind} | {formula} |"
    types = ", ".join(
        sorted(cls.__name__ for cls in node_types().values() if issubclass(cls, Latent | Observed))
    )
    lines.append(f"Node types: {types}")
    table = _Table("\n".join(lines))
    table.markdown = "\n\n".join([*tables, f"Node types: {types}"]) + "\n"
    return table
