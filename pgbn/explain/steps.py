"""The equations of single steps: the draw of counts, and the draw of a node's value."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence

from pgbn.explain.algebra import Formula, call
from pgbn.explain.formulas import to_unicode
from pgbn.explain.lemmas import lemmas_of_rule
from pgbn.explain.model import distribution, odds_lines
from pgbn.explain.names import Symbol, clean_math, escape_math
from pgbn.explain.notation import At, Notation, Phase, added, operation_value, where
from pgbn.network.connections import Source, joint_dims
from pgbn.network.sumproduct import operand_of, reduce_product
from pgbn.network.terms import Term
from pgbn.nodes.base import Node
from pgbn.nodes.bernoulli_poisson import BernoulliPoisson
from pgbn.nodes.poisson_gamma import PoissonGamma
from pgbn.nodes.rules import EvidenceRule, LinkRule, find_link

# ---- registered ---------------------------------------------------------------------------------
#
# Rules that others have registered: their own equation, and what stands behind its letters.


def generic_lines(
    notation: Notation,
    node: Node,
    equation: str,
    drawn: str,
    names: Sequence[str],
    at: At | None = None,
    phase: Phase = None,
) -> list[str]:
    """``drawn: equation``, and a line for each of the ``names`` that it reads."""
    stated = clean_math(equation) or rf"\text{{as the rule of {type(node).__name__} computes it}}"
    return [rf"{drawn} &:\ {stated}", *where_lines(notation, node, names, at, phase)]


def where_lines(
    notation: Notation,
    node: Node,
    names: Sequence[str],
    at: At | None = None,
    phase: Phase = None,
) -> list[str]:
    """``count = …, shape = …``: what a rule reads, in symbols."""
    return [rf"{escape_math(n)} &= {_read(notation, node, n, at, phase).latex}" for n in names]


def _read(notation: Notation, node: Node, name: str, at: At | None, phase: Phase) -> Formula:
    """A quantity; a chain with given values also receives what later rows pass back."""
    found = notation.quantity(node, name, at, phase)
    slot = next(iter(notation.lagged_slots(node)), None)
    if slot is None or node.name in notation.passing or name not in ("count", "exposure"):
        return found
    back = notation.passed_back_count if name == "count" else notation.passed_back_exposure
    return found + back(node, slot, notation.index if at is None else at)


# ---- linear predictors --------------------------------------------------------------------------
#
# Linear predictors: what is told about them, and the joint draws of what stands in them.


def told_lines(notation: Notation, node: Node, slot: str) -> list[str]:
    """The evidence that a node draws about its predictor."""
    rule = notation.wiring.rules[node.name, slot]
    count, exposure = _told(notation, node, slot, notation.index)
    letter, value = notation.symbols[node.name].base, notation.value(node.name).latex
    return [
        rf"({exposure.latex},\ {count.latex}) &:\ {clean_math(rule.equation)}",
        rf"\psi &= {notation.slot(node, slot).latex},\quad {letter} = {value}",
    ]


def _told(notation: Notation, node: Node, slot: str, at: At) -> tuple[Formula, Formula]:
    """κ and ω, of a cell of a node: what the rule's own code makes of its symbols, or letters."""
    rule = notation.wiring.rules[node.name, slot]
    found = None
    if not rule.is_random:
        arguments = {name: notation.quantity(node, name, at) for name in rule.count_reads}
        found = call(rule.count, **arguments) if callable(rule.count) else arguments[rule.count]
    exposure = notation.traced(node, slot, at)
    indices = [at[dim] for dim in reversed(node.axes)]
    kappa, omega = (Formula(Symbol(letter, notation.marks[node.name]).at(indices))
                    for letter in (r"\kappa", r"\omega"))  # fmt: skip
    return (found if isinstance(found, Formula) else kappa), omega if exposure is None else exposure


def predictor_lines(notation: Notation, node: Node) -> list[str]:
    """The joint draw of a node, and the quadratic form b̂ᵀx − ½xᵀÂx that it receives."""
    rule, sources = notation.wiring.draws[node.name], notation.wiring.sources[node.name]
    joint = joint_dims(node, sources)
    symbol = notation.own_symbol(node)
    if joint:
        symbol = rf"({symbol})_{{{', '.join(notation.index[dim] for dim in joint)}}}"
    again = {dim: notation.index[dim] + "'" for dim in joint}
    by_predictor: dict[tuple[str, str], list[Source]] = {}
    for source in sources:
        by_predictor.setdefault((source.child.name, source.slot), []).append(source)
    forms = [_form(notation, notation.network.nodes[child], slot, own, again)
             for (child, slot), own in by_predictor.items()]  # fmt: skip
    matrix, vector = added(a for a, _ in forms), added(b for _, b in forms)
    here = " ".join(notation.index[dim] for dim in joint)
    there = " ".join(again.values())
    below = rf"_{{{here}\, {there}}}" if joint else ""
    known = [name for name in rule.reads if name in node.slots()]
    return [
        rf"({symbol} \mid -) &\sim {clean_math(rule.equation)}",
        *where_lines(notation, node, known),
        rf"\hat{{A}}{below} &= {matrix.latex}",
        rf"\hat{{b}}{rf'_{{{here}}}' if joint else ''} &= {vector.latex}",
    ]


def _form(
    notation: Notation, child: Node, slot: str, sources: list[Source], again: At
) -> tuple[Formula, Formula]:
    """Σ ω g gᵀ and Σ (κ − ω·rest) g, over the cells of one predictor."""
    own = sources[0].own
    first = {**notation.index, **{dim: notation.index[name] for dim, name in own.items()}}
    second = {**first, **{dim: again.get(name, first[dim]) for dim, name in own.items()}}
    count, exposure = _told(notation, child, slot, first)
    within = {id(source.term) for source in sources}
    terms = notation.wiring.polynomials[child.name, slot].terms
    taken = [*first.values(), *again.values()]
    rest = added(notation.term(child, term, first, avoid=taken)
                 for term in terms if id(term) not in within)  # fmt: skip
    g, h = (_weight(notation, sources, at) for at in (first, second))
    same = [f"{first[d]} = {again[n]}" for d, n in own.items() if n in again and d in child.axes]
    square = g * h if again or g.latex == "1" else g**2
    for each in same:
        square = Formula(f"1({each})") * square
    left = count if rest.latex == "0" else count - exposure * rest
    a, b = exposure * square, left * g
    summed = [dim for dim in child.axes if dim not in own]
    for dim in reversed(summed):
        a, b = (Formula.sum_over(first[dim], each) for each in (a, b))
    return a, b


def _weight(notation: Notation, sources: list[Source], at: At) -> Formula:
    """g: what a node is multiplied by in a predictor."""
    products = []
    for source in sources:
        others = [operand_of(f) for f in source.term.factors if f is not source.factor]
        over = [dim for dim in source.term.contracted if dim not in source.factor.dims]
        products.append(reduce_product(source.term.coefficient, others, over))
    return added(notation.product(product, at, at.values()) for product in products)


# ---- Draws by kernels: what is left invariant, and why that is enough ----


def kernel_lines(notation: Notation, node: Node) -> list[str]:
    """The conditional that a kernel leaves invariant, or draws from."""
    rule = notation.wiring.draws[node.name]
    stated = clean_math(rule.equation) or r"\text{the registered kernel}"
    if rule.receives:
        lines = []
        for at, phase, condition in notation.rows(node):
            tail = where(condition)
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
    held = "" if rule.receives else " All nodes that depend on it are fixed."
    if not rule.reads_value:
        return f"Drawn from its conditional.{held}{source}"
    return (
        "A kernel that leaves the conditional invariant: it begins from the current value, which "
        f"no step since its last draw has integrated out.{held}{source}"
    )


# ---- Links: the latent counts behind data, and the lemma of each link that we know ----


def link_lemma(node: Node) -> str | None:
    """The lemma behind the link of an observed node."""
    link = find_link(node)
    if link is None or link.counts is None or link.node not in _KNOWN:
        return None
    return _KNOWN[link.node][0]


def link_lines(notation: Notation, node: Node, link: LinkRule) -> list[str]:
    """The draw of the latent counts behind data; nothing where the data are the counts."""
    if link.counts is None:
        return []
    if link.node in _KNOWN:
        return [_KNOWN[link.node][1](notation, node, link)]
    names = [n for n in inspect.signature(link.counts).parameters if n != "stream"]
    return generic_lines(notation, node, link.equation, notation.cells(node).latex, names)


def _thresholded(notation: Notation, node: Node, link: LinkRule) -> str:
    count, value = notation.cells(node).latex, notation.value(node.name).latex
    rate = notation.slot(node, link.slot).latex
    return rf"({count} \mid {value} = 1) &\sim \mathrm{{Pois}}_{{+}}({rate})"


def _randomised(notation: Notation, node: Node, link: LinkRule) -> str:
    count, value = notation.cells(node).latex, notation.value(node.name)
    inside = notation.slot(node, "noise") * value * notation.slot(node, link.slot)
    return (
        rf"({count} \mid {value.latex} > 0) &\sim \mathrm{{Bessel}}_{{-1}}"
        rf"\bigl(2 \sqrt{{{inside.latex}}}\bigr)"
    )


# node type → its lemma, and the equation of its counts
_KNOWN: dict[type[Node], tuple[str, Callable[[Notation, Node, LinkRule], str]]] = {
    BernoulliPoisson: ("bernoulli-poisson", _thresholded),
    PoissonGamma: ("poisson-gamma", _randomised),
}


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
            lines += [row + where(condition) for row in rows]
    return lines or [data_line(notation, node)]


def data_line(notation: Notation, node: Node) -> str:
    """The line of a step that draws nothing: its counts are the data."""
    return rf"{notation.cells(node).latex} &\text{{: the data themselves}}"


def imputed_line(notation: Notation, node: Node) -> str | None:
    """How a missing cell is drawn; None where cells cannot be missing, or no node receives them."""
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
    terms = notation.terms(node, slot, phase)
    whole = notation.drawn(node, slot, at).latex
    lines = _operation_lines(notation, node, slot, at, terms)
    if len(terms) == 1 and not terms[0].contracted:
        return lines
    parts, weights = [], []
    for term in terms:
        own = [notation.index[dim] for dim in term.contracted]
        indices = ", ".join(own)
        part = notation.split(node, slot, term, {**notation.index, **at}).latex
        weight = notation.term(node, term, at, unsummed=True).latex
        if len(terms) == 1:
            total = notation.term(node, term, at, avoid=own).latex
            return [rf"\bigl({part}\bigr)_{{{indices}}} &\sim \mathrm{{Mult}}\left({whole};\ "
                    rf"\frac{{{weight}}}{{{total}}}\right)", *lines]  # fmt: skip
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
    """The draw that turns the count a node receives into a count for its slot."""
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
    products = []
    for term in notation.terms(node, slot, phase):
        operands = [operand_of(factor, node) for factor in term.factors]
        summed = (*node.sums_over, *term.contracted)
        products.append(reduce_product(term.coefficient, operands, summed))
    return added(notation.product(product, at) for product in products)


def _beta_line(notation: Notation, node: Node, slot: str, at: At, phase: Phase) -> str:
    """The random exposure that a Dirichlet passes to its concentration."""
    total = _total(notation, node, slot, at, phase)
    received = notation.count(node.name, {**at, **dict.fromkeys(node.sums_over, r"\cdot")}).latex
    dims = notation.wiring.exposures.rule_dims(node, slot)
    mark = notation.marks[node.name] + notation.slot_mark(node, slot)
    share = Symbol(notation.letter("s"), mark).at([at[dim] for dim in reversed(dims)])
    return (
        rf"{notation.passed(node, slot, at).latex} &= -\ln {share},\quad {share} \sim "
        rf"\mathrm{{Beta}}\bigl({total.latex},\ {received}\bigr)"
    )


def draw_lines(notation: Notation, node: Node) -> list[str]:
    """The conditional of a node's value."""
    rule = notation.wiring.draws[node.name]
    sources = notation.wiring.sources.get(node.name, ())
    if sources and all(source.rule.is_quadratic for source in sources):
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
        tail = where(condition)
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
    return lines + _unread_lines(notation, sources) + odds_lines(notation, node)


def _unread_lines(notation: Notation, sources: Sequence[Source]) -> list[str]:
    """What a node receives from rules whose code cannot be written as a formula: their equation."""
    lines: list[str] = []
    for source in sources:
        rule, node, slot = source.rule, source.child, source.slot
        if rule.is_random or rule.is_quadratic or not callable(rule.count):
            continue
        count, exposure = notation.computed_count(node, slot), notation.passed(node, slot)
        if notation.counted(node, slot) is None or notation.traced(node, slot) is None:
            names = tuple(dict.fromkeys((*rule.count_reads, *rule.exposure_reads)))
            pair = f"({count.latex},\\ {exposure.latex})"
            lines += generic_lines(notation, node, rule.equation, pair, names)
    return list(dict.fromkeys(lines))


def _pseudo(notation: Notation, node: Node) -> Formula:
    """y: the pseudo-counts that complete what a node receives."""
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
