"""The equations of single steps: the draw of counts, and the draw of a node's value."""

from __future__ import annotations

import inspect

from pgbn.explain.algebra import Formula, call
from pgbn.explain.formulas import to_unicode
from pgbn.explain.lemmas import LINK_LEMMAS
from pgbn.explain.model import distribution, odds_line
from pgbn.explain.names import clean_math, escape_math
from pgbn.explain.notation import Notation
from pgbn.explain.symbols import At
from pgbn.network.terms import ALWAYS
from pgbn.nodes.base import Node, Observed
from pgbn.nodes.bernoulli_poisson import BernoulliPoisson
from pgbn.nodes.beta import BetaOdds
from pgbn.nodes.dirichlet import Dirichlet
from pgbn.nodes.gamma import Gamma
from pgbn.nodes.poisson_gamma import PoissonGamma
from pgbn.nodes.rules.registry import find_link
from pgbn.nodes.rules.types import LinkRule

__all__ = [
    "beta_line",
    "count_lines",
    "draw_lines",
    "generic_lines",
    "link_lemma",
    "link_lines",
    "random_slots",
    "split_lines",
    "tables_lines",
    "where_lines",
]

# on a line with more characters than this, long parameters get lines of their own
_LONG = 100


def random_slots(notation: Notation, node: Node) -> list[str]:
    """The slots for which a node draws counts."""
    return [slot for slot, rule in notation.wiring.rules_of(node).items() if rule.is_random]


def count_lines(notation: Notation, node: Node) -> list[str]:
    """Everything that the step ``counts(node)`` draws."""
    lines: list[str] = []
    link = find_link(node)
    if link is not None:
        lines += link_lines(notation, node, link)
        slots = [slot for slot in node.slots() if (node.name, slot) in notation.wiring.rules
                 and notation.wiring.rules[node.name, slot].count == "count"]  # fmt: skip
        for slot in slots:
            lines += split_lines(notation, node, slot, notation.index, ALWAYS)
    for slot in random_slots(notation, node):
        for at, phase, condition in reversed(notation.rows(node)):
            rows = tables_lines(notation, node, slot, at, phase)
            rows += split_lines(notation, node, slot, at, phase)
            lines += [row + (rf",\quad {condition}" if condition else "") for row in rows]
    if not lines and isinstance(node, Observed):
        lines.append(rf"{notation.cells(node).latex} &\text{{: the data themselves}}")
    return lines


def link_lines(notation: Notation, node: Node, link: LinkRule) -> list[str]:
    """The latent counts behind data."""
    if link.counts is None:
        return []
    count, value = notation.cells(node).latex, notation.value(node.name)
    rate = notation.slot(node, link.slot)
    if link.node is BernoulliPoisson:
        return [rf"({count} \mid {value.latex} = 1) &\sim \mathrm{{Pois}}_{{+}}({rate.latex})"]
    if link.node is PoissonGamma:
        inside = notation.slot(node, "noise") * value * rate
        return [rf"({count} \mid {value.latex} > 0) &\sim \mathrm{{Bessel}}_{{-1}}"
                rf"\bigl(2 \sqrt{{{inside.latex}}}\bigr)"]  # fmt: skip
    names = [n for n in inspect.signature(link.counts).parameters if n != "stream"]
    return generic_lines(notation, node, link.equation, count, names)


def split_lines(notation: Notation, node: Node, slot: str, at: At, phase: str) -> list[str]:
    """The multinomial draw that shares counts between the terms of a slot."""
    if not notation.is_split(node, slot, phase):
        return []
    polynomial = notation.wiring.polynomials[node.name, slot]
    terms = [term for term in polynomial.terms if term.phase in (ALWAYS, phase)]
    whole = notation.drawn(node, slot, at).latex
    if len(terms) == 1:
        term = terms[0]
        part = notation.split(node, slot, term, {**notation.index, **at}).latex
        indices = ", ".join(notation.index[dim] for dim in term.contracted)
        weight = notation.term(node, term, at, unsummed=True).latex
        own = [notation.index[dim] for dim in term.contracted]
        total = notation.term(node, term, at, avoid=own).latex
        return [rf"\bigl({part}\bigr)_{{{indices}}} &\sim \mathrm{{Mult}}\left({whole};\ "
                rf"\frac{{{weight}}}{{{total}}}\right)"]  # fmt: skip
    parts, weights = [], []
    for term in terms:
        indices = ", ".join(notation.index[dim] for dim in term.contracted)
        part = notation.split(node, slot, term, {**notation.index, **at}).latex
        weight = notation.term(node, term, at, unsummed=True).latex
        parts.append(f"({part})_{{{indices}}}" if indices else part)
        weights.append(f"({weight})_{{{indices}}}" if indices else weight)
    shares, odds = rf"\bigl({', '.join(parts)}\bigr)", ", ".join(weights)
    line = rf"{shares} &\sim \mathrm{{Mult}}\bigl({whole};\ \propto {odds}\bigr)"
    if len(to_unicode(line)) <= _LONG:
        return [line]
    return [rf"{shares} &\sim \mathrm{{Mult}}\bigl({whole};\ w\bigr)", rf"w &\propto ({odds})"]


def tables_lines(notation: Notation, node: Node, slot: str, at: At, phase: str) -> list[str]:
    """The draw that turns the count a node hears into a count for its slot."""
    rule = notation.wiring.rules[node.name, slot]
    tables = notation.drawn(node, slot, at).latex
    shape = notation.slot(node, slot, at, phase)
    if rule.child in (Gamma, Dirichlet):
        lines = [rf"{tables} &\sim \mathrm{{CRT}}\bigl({notation.count(node.name, at).latex},\ "
                 rf"{shape.latex}\bigr)"]  # fmt: skip
        if rule.child is Dirichlet:
            lines.append(beta_line(notation, node, slot))
        return lines
    return generic_lines(notation, node, rule.equation, tables, rule.count_reads, at, phase)


def beta_line(notation: Notation, node: Node, slot: str) -> str:
    """The random exposure that a Dirichlet passes to its concentration."""
    over = node.simplex
    assert over is not None
    total = notation.total(node, slot, over)
    heard = notation.count(node.name, {**notation.index, over: r"\cdot"}).latex
    return (
        rf"{notation.passed(node, slot).latex} &= -\ln s,\quad s \sim "
        rf"\mathrm{{Beta}}\bigl({total.latex},\ {heard}\bigr)"
    )


def generic_lines(
    notation: Notation,
    node: Node,
    equation: str,
    drawn: str,
    names: tuple[str, ...] | list[str],
    at: At | None = None,
    phase: str = ALWAYS,
) -> list[str]:
    """A rule of somebody else: its own equation, and what stands behind its letters."""
    stated = clean_math(equation) or rf"\text{{as the rule of {type(node).__name__} computes it}}"
    return [rf"{drawn} &:\ {stated}", *where_lines(notation, node, names, at, phase)]


def where_lines(
    notation: Notation,
    node: Node,
    names: tuple[str, ...] | list[str],
    at: At | None = None,
    phase: str = ALWAYS,
) -> list[str]:
    """``count = …, shape = …``: what a rule reads, in symbols."""
    return [
        rf"{escape_math(name)} &= {notation.quantity(node, name, at, phase).latex}"
        for name in names
    ]


def draw_lines(notation: Notation, node: Node) -> list[str]:
    """The conditional of a node's value."""
    rule = notation.wiring.draws[node.name]
    names = tuple(inspect.signature(rule.posterior).parameters)
    lines = []
    for at, phase, condition in notation.rows(node):
        arguments = {name: notation.quantity(node, name, at, phase) for name in names}
        updated = call(rule.posterior, **arguments)
        tail = rf",\quad {condition}" if condition else ""
        symbol = notation.own_symbol(node, at)
        if isinstance(updated, dict) and set(updated) <= set(node.slots()):
            slots: dict[str, Formula] = {
                slot: updated[slot] if slot in updated else notation.slot(node, slot, at, phase)
                for slot in node.slots()
            }
            family, apart = _shortened(notation, node, slots)
            lines.append(rf"({symbol} \mid -) {family}{tail}")
            lines += [line + tail for line in apart]
        else:
            stated = clean_math(rule.equation) or r"\text{the registered posterior}"
            lines.append(rf"({symbol} \mid -) &\sim {stated}{tail}")
            lines += where_lines(notation, node, names, at, phase)
    if isinstance(node, BetaOdds):
        lines.append(odds_line(notation, node))
    return lines


def _shortened(notation: Notation, node: Node, slots: dict[str, Formula]) -> tuple[str, list[str]]:
    """The family of a node; if that is long, with its parameters written apart."""
    family = distribution(notation, node, slots)
    if len(to_unicode(family)) <= _LONG:
        return family, []
    apart = {slot: value for slot, value in slots.items() if len(to_unicode(value.latex)) > 30}
    named = {slot: Formula(rf"{escape_math(slot)}'") for slot in apart}
    lines = [rf"{named[slot].latex} &= {value.latex}" for slot, value in apart.items()]
    return distribution(notation, node, {**slots, **named}), lines


def link_lemma(node: Node) -> str | None:
    """The lemma behind the link of an observed node."""
    link = find_link(node)
    return LINK_LEMMAS.get(link.node) if link is not None and link.counts is not None else None
