"""Part one: the notation and the generative model."""

from __future__ import annotations

import re
from collections.abc import Sequence

from scipy.sparse import issparse

from pgbn.explain.algebra import Formula
from pgbn.explain.document import Block, Equations, Heading, Items, Paragraph, code
from pgbn.explain.lemmas import passage
from pgbn.explain.names import clean_math
from pgbn.explain.notation import Notation, where
from pgbn.nodes.base import Node
from pgbn.nodes.multinomial import Multinomial
from pgbn.nodes.rules import find_link


def notation_section(notation: Notation) -> list[Block]:
    """The meaning of the letters."""
    network = notation.network
    dims = []
    for dim, index in notation.index.items():
        own = notation.same_as.get(dim, dim)
        size = network.sizes.get(dim, network.sizes.get(own))
        known = f" = {size}" if size is not None else ""
        like = f", as ${notation.index[own]}$ over {code(own)}" if own != dim else ""
        dims.append(f"${index}$ runs over {code(dim)}{like}, from 1 to "
                    f"${notation.size[dim]}{known}$")  # fmt: skip
    names = []
    for node in network:
        indices = [notation.index[dim] for dim in reversed(node.axes)]
        names.append(f"${notation.symbols[node.name].at(indices)}$ is {code(node.name)}, "
                     f"{network.role(node.name)} {type(node).__name__}")  # fmt: skip
        if isinstance(node, Multinomial):
            names.append(f"${notation.known_total(node).latex}$ is the total of {code(node.name)} "
                         f"over ${notation.index[node.over]}$, which is given")  # fmt: skip
    for name, each in network.categories.items():
        rows = [notation.index[dim] for dim in each.dims]
        names.append(
            f"${notation.category(name, rows)}$ is {code(name)}, the entry of {code(each.of)} that "
            f"row ${', '.join(rows)}$ reads, which is given"
        )
    for value, symbol, place in notation.constants:
        kind = "sparse matrix" if issparse(value) else "array"
        names.append(f"${symbol.at()}$ is a fixed {kind}, in the {place}")
    words = passage("notation")
    gates = any(not notation.wiring.is_positive(node, slot)
                for node in network for slot in node.zero_with)  # fmt: skip
    if gates:  # the shape of a gamma can be 0
        words += r" $\mathrm{Gam}(0, c)$ is 0 with certainty, and so is $\mathrm{NB}(0, p)$."
    blocks: list[Block] = [Heading(2, "Notation"), Paragraph(words)]
    return [*blocks, *([Items(tuple(dims))] if dims else []), Items(tuple(names))]


def generative(notation: Notation) -> list[Block]:
    """Every node given its parents, from the roots down."""
    lines: list[str] = []
    labels: list[str] = []
    for node in notation.network:
        if notation.is_bare(node):
            lines.append(rf"{notation.own_symbol(node)} &\ \text{{is given}}")
            continue
        for at, phase, condition in notation.rows(node):
            slots = {slot: notation.slot(node, slot, at, phase) for slot in node.slots()}
            line = rf"{notation.own_symbol(node, at)} {distribution(notation, node, slots)}"
            lines.append(line + where(condition))
        lines += odds_lines(notation, node)
        labels += [f"model {node.name}"] * (len(lines) - len(labels))
    chains = [node for node in notation.network if notation.along(node) is not None]
    begins = "" if all(map(notation.has_first_rows, chains)) else (
        "; its value before the first row is 0"
    )  # fmt: skip
    note: list[Block] = [] if not notation.network.given else [Paragraph(
        f"Given: {', '.join(map(code, notation.network.given))}. "
        "A given node has no step, is read as a constant and is never integrated out."
    )]  # fmt: skip
    if notation.network.left_out:
        note.append(Paragraph(
            f"Omitted, since only given nodes depend on them: "
            f"{', '.join(map(code, notation.network.left_out))}."
        ))  # fmt: skip
    note += [Paragraph(
        f"{' and '.join(code(node.name) for node in chains)}: a Markov chain in one node, each row "
        f"given {_before(notation, chains)}{begins}."
    )] if chains else []  # fmt: skip
    return [Heading(2, "The generative model"), Equations(tuple(lines), tuple(labels)), *note]


def _before(notation: Notation, chains: Sequence[Node]) -> str:
    """The rows that each row of chains is given."""
    lags = sorted({lag for node in chains for lag in notation.lags(node)})
    rows = ", t - ".join(map(str, lags))
    return "the row before" if lags == [1] else f"row{'s' * (len(lags) > 1)} t - {rows}"


def odds_lines(notation: Notation, node: Node) -> list[str]:
    """c := (1−p)/p, for a node whose value is odds."""
    if not notation.is_odds(node):
        return []
    p = notation.own_symbol(node)
    short = notation.odds(node.name)
    value = notation.value(node.name).latex if short else r"\text{rate}"
    return [rf"{value} &:= (1 - {p}) / {p}"]


def distribution(notation: Notation, node: Node, slots: dict[str, Formula]) -> str:
    r"""``&\sim \mathrm{Gam}(\ldots)``: the family of a node with given slots."""
    filled = {slot: _vector_slot(notation, node, slot, value) for slot, value in slots.items()}
    marks = {slot: f"@{number}@" for number, slot in enumerate(filled)}
    formula = node.formula(**marks)
    if notation.is_odds(node):  # the value, (1-p)/p, has a separate line
        formula = rf"\mathrm{{Beta}}({marks['a']},\ {marks['b']})"
    formula = clean_math(formula)
    link = find_link(node)
    if link is not None and link.counts is not None:
        formula = _substitute(formula, "n", notation.cells(node).latex)
    if isinstance(node, Multinomial):
        formula = _substitute(formula, "N", notation.known_total(node).latex)
    for slot, mark in marks.items():
        formula = formula.replace(mark, filled[slot])
    return rf"&= {formula}" if formula.startswith("1(") else rf"&\sim {formula}"


def _vector_slot(notation: Notation, node: Node, slot: str, value: Formula) -> str:
    """A slot of a vector node: (…)_v, or a, …, a if it is the same for all entries."""
    if not node.sums_over or not set(node.sums_over) <= set(node.slot_axes(slot)):
        return value.latex
    for index in (notation.index[dim] for dim in node.sums_over):
        if re.search(rf"(?<![A-Za-z\\]){re.escape(index)}(?![A-Za-z_'])", value.latex):
            return notation.vector(node, value.latex)
    return rf"{value.latex}, \ldots, {value.latex}"


def _substitute(formula: str, letter: str, latex: str) -> str:
    """Replace a letter that stands alone."""
    return re.sub(rf"(?<![A-Za-z\\]){letter}(?![A-Za-z])", lambda _: latex, formula)
