"""Part two: the augmentation, from the data up. Which lemma, which counts, which exposure."""

from __future__ import annotations

from pgbn.explain.algebra import Formula, numeral
from pgbn.explain.document import Block, Equations, Heading, Paragraph, code
from pgbn.explain.lemmas import Lemmas, chain_lemma, lemmas_of_rule, passage
from pgbn.explain.names import clean_math
from pgbn.explain.notation import At, Notation, Phase, added, where
from pgbn.explain.steps import (
    generic_lines,
    has_tables,
    imputed_line,
    link_lemma,
    link_lines,
    random_slots,
    tables_lines,
    where_lines,
)
from pgbn.nodes.base import Node, Observed
from pgbn.nodes.rules import EvidenceRule, find_link

# ---- what nodes receive: a line for each count and exposure, and all exposures in one place ----


def exposures(notation: Notation) -> list[Block]:
    """The exposures that all nodes receive, in one place."""
    lines: list[str] = []
    labels: list[str] = []
    for node in reversed(notation.network.nodes.values()):
        draw = notation.wiring.draws.get(node.name)
        if draw is None or draw.kind != "poisson" or not draw.receives:
            continue
        if draw.constant_over_simplex and node.name not in notation.wiring.completed:
            continue
        lines.append(exposure_line(notation, node))
        for slot in notation.lagged_slots(node):
            traced = notation.traced(node, slot)
            if traced is not None:
                lines.append(rf"{notation.passed(node, slot).latex} &= {traced.latex}")
                lines += beyond_lines(notation, node)
        labels += [f"exposure {node.name}"] * (len(lines) - len(labels))
    if not lines:
        return []
    return [Heading(3, "All exposures, from the data up"), Equations(tuple(lines), tuple(labels))]


def count_line(notation: Notation, node: Node) -> str:
    """m = …, the sum of all counts that a node receives."""
    total = notation.received_count(node.name)
    for slot in notation.lagged_slots(node):
        total = total + notation.passed_back_count(node, slot, notation.index)
    return rf"{notation.count(node.name).latex} &= {total.latex}"


def exposure_line(notation: Notation, node: Node) -> str:
    """q = …, the sum of all exposures that a node receives."""
    total = notation.received_exposure(node.name)
    for slot in notation.lagged_slots(node):
        total = total + notation.passed_back_exposure(node, slot, notation.index)
    return rf"{notation.exposure_symbol(node.name).latex} &= {total.latex}"


def beyond_lines(notation: Notation, node: Node) -> list[str]:
    """The counts and exposures that rows after the last would pass back: 0."""
    row, lines = notation.along(node) or "", []
    size, several = notation.size[row], notation.lags(node)[-1] > 1
    at = {**notation.index, row: notation.index[row] if several else f"{size}+1"}
    tail = rf",\quad {notation.index[row]} > {size}" if several else ""
    for slot in notation.lagged_slots(node):
        lines.append(rf"{notation.drawn(node, slot, at).latex} &= 0{tail}")
        lines.append(rf"{notation.passed(node, slot, at).latex} &= 0{tail}")
    return lines


def augmentation(notation: Notation, lemmas: Lemmas) -> list[Block]:
    """Every node that passes counts on, data first."""
    blocks: list[Block] = [
        Heading(2, "The augmentation, from the data up"),
        Paragraph(passage("evidence")),
    ]
    layers = any(  # gammas that pass their tables to a node that passes on its own tables
        "crt" in lemmas_of_rule(rule)
        and set(notation.passing) & set(notation.wiring.polynomials[name, slot].names)
        for (name, slot), rule in notation.wiring.rules.items()
        if name in notation.passing
    )
    if layers:
        blocks.append(Paragraph(
            f"{lemmas.cite('layers')} says that this holds at every layer."
        ))  # fmt: skip
    if any(rule.is_quadratic for rule in notation.wiring.rules.values()):
        blocks.append(Paragraph(passage("predictors", form=lemmas.cite("form"))))
    for node in reversed(notation.network.nodes.values()):
        if isinstance(node, Observed):
            blocks += _data(notation, lemmas, node)
        elif node.name in notation.passing:
            blocks += _hidden(notation, lemmas, node)
    return blocks + exposures(notation)


# ---- data -------------------------------------------------------------------------------


def _data(notation: Notation, lemmas: Lemmas, node: Node) -> list[Block]:
    lines: list[str] = []
    words: list[str] = []
    link = find_link(node)
    if link is not None and link.counts is None:
        words.append("The data are the counts.")
    elif link is not None:
        key = link_lemma(node)
        reason = f"by {lemmas.cite(key)}" if key else f"({link.reference or 'a registered link'})"
        zeros = "also where the data are 0" if link.all_cells else "which are 0 if the data are 0"
        words.append(f"There are latent counts behind the data, {reason}, {zeros}.")
        lines += link_lines(notation, node, link)
    if imputed_line(notation, node) is not None:
        words.append(
            "A missing (masked) cell is drawn in every sweep given the values and then used "
            "as data, so that exposures are the same in all cells."
        )
    for slot in node.slots():
        rule = notation.wiring.rules.get((node.name, slot))
        if rule is None:
            continue
        exposure = rule.exposure
        if link is not None and slot == link.slot and isinstance(exposure, (int, float)):
            lines += _split(notation, node, slot, numeral(float(exposure)), notation.index, None)
            if rule.normalised:
                words.append(f"They have no exposure and are shared out by "
                             f"{lemmas.cite('multinomial')}.")  # fmt: skip
            elif notation.is_split(node, slot):
                words.append(f"They are shared out by {lemmas.cite('split')}.")
        elif rule.is_random:
            tables = notation.drawn(node, slot).latex
            lines += generic_lines(notation, node, rule.equation, tables, rule.count_reads)
            words.append(f"The count for {slot} is drawn by the rule of {type(node).__name__} "
                         f"({rule.reference or rule.relation}).")  # fmt: skip
            passed = notation.passed(node, slot)
            lines.append(rf"\text{{exposure}} &= {passed.latex}")
            lines += _split(notation, node, slot, passed, notation.index, None)
        elif rule.equation and not lemmas_of_rule(rule):
            lines.append(rf"\text{{evidence for {slot}: }} &\ {clean_math(rule.equation)}")
            names = tuple(dict.fromkeys((*rule.count_reads, *rule.exposure_reads)))
            lines += where_lines(notation, node, names)
    body = [Equations(tuple(dict.fromkeys(lines)))] if lines else []
    return [Heading(3, f"The data {code(node.name)}"), Paragraph(" ".join(words)), *body]


def _split(
    notation: Notation, node: Node, slot: str, exposure: Formula, at: At, phase: Phase
) -> list[str]:
    """``ℓ = Σ ℓ_k, ℓ_k ~ Pois(q λ_k)`` for every term of a slot."""
    if not notation.is_split(node, slot, phase):
        return []
    terms = notation.terms(node, slot, phase)
    if len(terms) == 1 and not terms[0].contracted:  # an operation itself shares its counts out
        return []
    wholes, lines = [], []
    for term in terms:
        part = whole = notation.split(node, slot, term, {**notation.index, **at})
        for dim in reversed(term.contracted):
            whole = Formula.sum_over(notation.index[dim], whole)
        wholes.append(whole)
        mean = notation.term(node, term, at, unsummed=True)
        if exposure.latex != "0":
            lines.append(_poisson(part, exposure * mean, mean, _is_law(notation, node, slot)))
    return [rf"{notation.drawn(node, slot, at).latex} &= {added(wholes).latex}", *lines]


def _is_law(notation: Notation, node: Node, slot: str) -> bool:
    """Whether the counts for a slot are Poisson, and not only proportional to such a likelihood."""
    told = notation.wiring.rules[node.name, slot].drawn is None
    return told and (isinstance(node, Observed) or notation.is_law(node.name))


def _poisson(count: Formula, rate: Formula, mean: Formula, law: bool) -> str:
    """``count ~ Pois(rate)`` if that is the law; otherwise a density as a function of the mean."""
    if law:
        return rf"{count.latex} &\sim \mathrm{{Pois}}\bigl({rate.latex}\bigr)"
    return (
        rf"p(- \mid {mean.latex}) &\propto \mathrm{{Pois}}\bigl({count.latex};\ {rate.latex}\bigr)"
    )


# ---- hidden nodes -----------------------------------------------------------------------


def _hidden(notation: Notation, lemmas: Lemmas, node: Node) -> list[Block]:
    name = node.name
    received = [count_line(notation, node)]
    constant = notation.wiring.draws[name].constant_over_simplex
    if not constant or name in notation.wiring.completed:
        received.append(exposure_line(notation, node))
    value = notation.value(name)
    if _is_poisson(notation, node):
        rate, count = notation.exposure(name) * value, notation.count(name)
        received.append(
            rf"({count.latex} \mid {value.latex}) &\sim \mathrm{{Pois}}({rate.latex})"
            if notation.is_law(name) else _poisson(count, rate, value, law=False))  # fmt: skip
    blocks: list[Block] = [
        Heading(3, f"What {code(name)} receives"),
        Equations(tuple(received)),
    ]
    chain = notation.along(node) is not None
    if chain:
        blocks += [
            Paragraph(f"By {lemmas.cite(chain_lemma(node))} the rows are treated from the last to "
                      "the first; nothing is passed back to the last:"),
            Equations(tuple(beyond_lines(notation, node))),
        ]  # fmt: skip
    for slot in random_slots(notation, node):
        blocks += _tables(notation, lemmas, node, slot)
    for slot in node.slots():
        rule = notation.wiring.rules.get((name, slot))
        if rule is not None and rule.count == "count":
            keys = lemmas_of_rule(rule)
            reason = f"by {lemmas.cite(*keys)}" if keys else f"by its rule ({rule.reference})"
            parent = notation.wiring.polynomials[name, slot].names[0]
            blocks.append(Paragraph(
                f"With ${notation.bare(name)}$ integrated out, {reason}, {code(parent)} in its "
                f"{slot} receives ${_likelihood(notation, rule, parent)}$."))  # fmt: skip
    return blocks


def _likelihood(notation: Notation, rule: EvidenceRule, parent: str) -> str:
    """The likelihood that a parent receives, as a function of its value."""
    node = notation.network.nodes[parent]
    count, exposure = (
        notation.received_count(parent).latex,
        notation.received_exposure(parent).latex,
    )
    symbol = notation.own_symbol(node)
    if rule.kind == "odds":
        return rf"({symbol})^{{{count}}}\, (1 - {symbol})^{{{exposure}}}"
    return clean_math(rule.equation) or rf"\text{{(}}{count},\ {exposure}\text{{)}}"


def _is_poisson(notation: Notation, node: Node) -> bool:
    """Whether the count that a node receives is that of a Poisson likelihood."""
    wiring = notation.wiring
    own = wiring.draws[node.name]
    return (
        wiring.counts_are_integer(node.name)
        and own.kind == "poisson"
        and not node.sums_over
        and bool(wiring.exposures.received(node.name))
    )


def _tables(notation: Notation, lemmas: Lemmas, node: Node, slot: str) -> list[Block]:
    """The node is integrated out; its tables are evidence for its slot."""
    rule = notation.wiring.rules[node.name, slot]
    lines: list[str] = []
    split = False
    for at, phase, condition in reversed(notation.rows(node)):
        tail = where(condition)
        lines += _table_rows(notation, node, slot, at, phase, tail)
        if phase is None or phase > 0 or notation.is_split(node, slot, 0):
            passed = notation.passed(node, slot, at)
            lines += [line + tail for line in _split(notation, node, slot, passed, at, phase)]
        split = split or notation.is_split(node, slot, phase)
    if notation.has_lag(node, slot):
        traced = notation.traced(node, slot)
        if traced is not None:
            lines.insert(0, rf"{notation.passed(node, slot).latex} &= {traced.latex}")
    keys = lemmas_of_rule(rule)
    how = f"By {lemmas.cite(*keys)}" if keys else f"By the rule of {type(node).__name__}"
    if not keys and rule.reference:
        how += f" ({rule.reference})"
    q = notation.exposure(node.name).latex if "gamma" in keys else ""
    words = (
        f"{how}, with ${notation.bare(node.name)}$ integrated out, the count $"
        f"{notation.count(node.name).latex}$ becomes tables, which are evidence for the {slot}"
        + (f" with an exposure made from ${q}$" if q else "")
        + (f"; they are shared out by {lemmas.cite('split')}." if split else ".")
        + ("" if _is_law(notation, node, slot) else f" The sign ∝ means: as a function of the "
           f"{slot}. It is the density of all that was drawn, given the {slot}.")
    )  # fmt: skip
    return [Paragraph(words), Equations(tuple(lines))]


def _table_rows(
    notation: Notation, node: Node, slot: str, at: At, phase: Phase, tail: str
) -> list[str]:
    """The tables given the count, and as a Poisson count.

    For a gamma, also the negative binomial from which they come."""
    rule = notation.wiring.rules[node.name, slot]
    drawn = tables_lines(notation, node, slot, at, phase)
    passed = notation.passed(node, slot, at)
    if not has_tables(rule):
        return [*drawn, rf"\text{{exposure}} &= {passed.latex}"]
    shape = notation.slot(node, slot, at, phase)
    law = _is_law(notation, node, slot)
    lines = [*drawn, _poisson(notation.drawn(node, slot, at), passed * shape, shape, law)]
    if law and "gamma" in lemmas_of_rule(rule):
        count, exposure = notation.count(node.name, at), notation.exposure(node.name, at)
        p = exposure / (notation.slot(node, "rate", at, phase) + exposure)
        lines.insert(0, rf"{count.latex} &\sim \mathrm{{NB}}\bigl({shape.latex},\ "
                     rf"{p.latex}\bigr)")  # fmt: skip
    return [line + tail for line in lines]
