"""The equations of single steps: the draw of counts, and the draw of a node's value."""

from __future__ import annotations

import inspect

from pgbn.explain.algebra import Formula, call, numeral
from pgbn.explain.formulas import to_unicode
from pgbn.explain.kernels import kernel_lines
from pgbn.explain.lemmas import lemmas_of_rule
from pgbn.explain.linear import hears_forms, predictor_lines, told_lines
from pgbn.explain.links import link_lines
from pgbn.explain.model import distribution, odds_lines
from pgbn.explain.names import Symbol, clean_math, escape_math
from pgbn.explain.notation import Notation
from pgbn.explain.readers import operation_value
from pgbn.explain.registered import generic_lines, where_lines
from pgbn.explain.symbols import At, Phase, in_phase
from pgbn.network.sumproduct import operand_of, reduce_product
from pgbn.network.terms import Term
from pgbn.nodes.base import Node, Observed
from pgbn.nodes.rules.registry import find_link
from pgbn.nodes.rules.types import EvidenceRule

__all__ = ["count_lines", "draw_lines", "has_tables", "random_slots", "split_lines", "tables_lines"]

# on a line with more characters than this, long parameters get lines of their own
_LONG = 100


def random_slots(notation: Notation, node: Node) -> list[str]:
    """The slots for which a node draws counts."""
    return [
        slot for slot, rule in notation.wiring.connections.rules_of(node).items() if rule.is_random
    ]


def count_lines(notation: Notation, node: Node, missing: bool = False) -> list[str]:
    """Everything that the step ``counts(node)`` draws, with ``missing`` cells too."""
    lines: list[str] = []
    link = find_link(node)
    if link is not None:
        lines += link_lines(notation, node, link)
        imputed = imputed_line(notation, node) if missing else None
        lines += [imputed] if imputed is not None else []
        slots = [slot for slot in node.slots() if (node.name, slot) in notation.wiring.rules
                 and notation.wiring.rules[node.name, slot].count == "count"]  # fmt: skip
        for slot in slots:
            lines += split_lines(notation, node, slot, notation.index, None)
    for slot in random_slots(notation, node):
        if notation.wiring.rules[node.name, slot].is_quadratic:
            lines += told_lines(notation, node, slot)
            continue
        for at, phase, condition in reversed(notation.rows(node)):
            rows = tables_lines(notation, node, slot, at, phase)
            rows += split_lines(notation, node, slot, at, phase)
            lines += [row + (rf",\quad {condition}" if condition else "") for row in rows]
    if not lines and isinstance(node, Observed):
        lines.append(rf"{notation.cells(node).latex} &\text{{: the data themselves}}")
    return lines


def imputed_line(notation: Notation, node: Node) -> str | None:
    """How a missing cell is drawn; None where cells cannot be missing, or nobody hears of them."""
    link = find_link(node)
    rule = notation.wiring.rules.get((node.name, link.slot)) if link is not None else None
    if link is None or rule is None or rule.normalised:
        return None
    exposure = notation.traced(node, link.slot)
    if exposure is None:
        return None
    rate = exposure * notation.slot(node, link.slot)
    count = notation.cells(node).latex
    return (
        rf"({count} \mid -) &\sim \mathrm{{Pois}}({rate.latex})"
        r"\quad \text{where the cell is missing}"
    )


def split_lines(notation: Notation, node: Node, slot: str, at: At, phase: Phase) -> list[str]:
    """The multinomial draw that shares counts between the terms of a slot."""
    if not notation.is_split(node, slot, phase):
        return []
    polynomial = notation.wiring.polynomials[node.name, slot]
    terms = [term for term in polynomial.terms if in_phase(term, phase)]
    whole = notation.drawn(node, slot, at).latex
    lines = _operation_lines(notation, node, slot, at, terms)
    if len(terms) == 1 and not terms[0].contracted:
        return lines
    if len(terms) == 1:
        term = terms[0]
        part = notation.split(node, slot, term, {**notation.index, **at}).latex
        indices = ", ".join(notation.index[dim] for dim in term.contracted)
        weight = notation.term(node, term, at, unsummed=True).latex
        own = [notation.index[dim] for dim in term.contracted]
        total = notation.term(node, term, at, avoid=own).latex
        return [rf"\bigl({part}\bigr)_{{{indices}}} &\sim \mathrm{{Mult}}\left({whole};\ "
                rf"\frac{{{weight}}}{{{total}}}\right)", *lines]  # fmt: skip
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
        return [line, *lines]
    return [rf"{shares} &\sim \mathrm{{Mult}}\bigl({whole};\ w\bigr)", rf"w &\propto ({odds})",
            *lines]  # fmt: skip


def _operation_lines(
    notation: Notation, node: Node, slot: str, at: At, terms: list[Term]
) -> list[str]:
    """How the counts of an operation are shared out among its summands."""
    lines, index = [], {**notation.index, **at}
    for term in terms:
        for factor in term.factors:
            if factor.through is None or factor.through.slot != factor.through.operation.leads:
                continue
            part = notation.split(node, slot, term, index).latex
            share = notation.split(node, slot, term, index, "[s]").latex
            indices = [index[dim] for dim in reversed(factor.dims)]
            value = operation_value(notation, factor.through.operation, indices).latex
            lines.append(rf"\bigl({share}\bigr)_{{s}} &\sim \mathrm{{Mult}}\bigl({part};\ "
                         rf"\propto \text{{summands }} s \text{{ of }} {value}\bigr)")  # fmt: skip
    return lines


def tables_lines(notation: Notation, node: Node, slot: str, at: At, phase: Phase) -> list[str]:
    """The draw that turns the count a node hears into a count for its slot."""
    rule = notation.wiring.rules[node.name, slot]
    tables = notation.drawn(node, slot, at).latex
    if rule.passed_on:
        return [rf"{tables} &= {notation.quantity(node, rule.passed_on, at, phase).latex}"]
    if not has_tables(rule):
        return generic_lines(notation, node, rule.equation, tables, rule.count_reads, at, phase)
    shape = notation.slot(node, slot, at, phase)
    lines = [rf"{tables} &\sim \mathrm{{CRT}}\bigl({notation.count(node.name, at).latex},\ "
             rf"{shape.latex}\bigr)"]  # fmt: skip
    return lines if rule.drawn is None else [*lines, _beta_line(notation, node, slot, at, phase)]


def has_tables(rule: EvidenceRule) -> bool:
    """Whether the count that a rule draws is the number of tables of a Chinese restaurant."""
    return bool({"crt", "dirichlet"} & set(lemmas_of_rule(rule)))


def _total(notation: Notation, node: Node, slot: str, at: At, phase: Phase) -> Formula:
    """A slot summed over the node's simplex, in the rows of a phase."""
    if notation.along(node) is None:
        return notation.total(node, slot, node.sums_over)
    found = numeral(0.0)
    for term in notation.wiring.polynomials[node.name, slot].terms:
        if in_phase(term, phase):
            operands = [operand_of(factor, node) for factor in term.factors]
            product = reduce_product(
                term.coefficient, operands, (*node.sums_over, *term.contracted)
            )
            found = found + notation.product(product, at)
    return found


def _beta_line(notation: Notation, node: Node, slot: str, at: At, phase: Phase) -> str:
    """The random exposure that a Dirichlet passes to its concentration."""
    total = _total(notation, node, slot, at, phase)
    heard = notation.count(node.name, {**at, **dict.fromkeys(node.sums_over, r"\cdot")}).latex
    dims = notation.wiring.exposures.rule_dims(node, slot)
    mark = notation.marks[node.name] + notation.slot_mark(node, slot)
    share = Symbol(notation.letter("s"), mark).at([at[dim] for dim in reversed(dims)])
    return (
        rf"{notation.passed(node, slot, at).latex} &= -\ln {share},\quad {share} \sim "
        rf"\mathrm{{Beta}}\bigl({total.latex},\ {heard}\bigr)"
    )


def draw_lines(notation: Notation, node: Node) -> list[str]:
    """The conditional of a node's value."""
    rule = notation.wiring.draws[node.name]
    if hears_forms(notation, node):
        return predictor_lines(notation, node)
    if rule.kernel:
        return kernel_lines(notation, node)
    names = tuple(inspect.signature(rule.posterior).parameters)
    completed = node.name in notation.wiring.completed
    lines = _pseudo_lines(notation, node) if completed else []
    for at, phase, condition in notation.rows(node):
        arguments = {name: notation.quantity(node, name, at, phase) for name in names}
        if completed:
            arguments["count"] = arguments["count"] + _pseudo(notation, node)
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
    return lines + odds_lines(notation, node)


def _pseudo(notation: Notation, node: Node) -> Formula:
    """y: the pseudo-counts that complete what a node hears."""
    indices = [notation.index[dim] for dim in reversed(node.axes)]
    mark = f"({notation.symbols[node.name].at()})"
    return Formula(Symbol(notation.letter("y"), mark).at(indices))


def _pseudo_lines(notation: Notation, node: Node) -> list[str]:
    """The draw of the pseudo-counts."""
    y, q = _pseudo(notation, node).latex, notation.exposure_symbol(node.name).latex
    value = notation.value(node.name).latex
    index = ", ".join(notation.index[dim] for dim in node.sums_over)
    return [
        rf"{y} &\sim \mathrm{{Pois}}\bigl((\bar{{q}} - {q})\, {value}\bigr)",
        rf"\bar{{q}} &= \max_{{{index}}} {q}",
    ]


def _shortened(notation: Notation, node: Node, slots: dict[str, Formula]) -> tuple[str, list[str]]:
    """The family of a node; if that is long, with its parameters written apart."""
    family = distribution(notation, node, slots)
    if len(to_unicode(family)) <= _LONG:
        return family, []
    apart = {slot: value for slot, value in slots.items() if len(to_unicode(value.latex)) > 30}
    named = {slot: Formula(rf"{escape_math(slot)}'") for slot in apart}
    lines = [rf"{named[slot].latex} &= {value.latex}" for slot, value in apart.items()]
    return distribution(notation, node, {**slots, **named}), lines
