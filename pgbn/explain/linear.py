"""Linear predictors: what is told about them, and the joint draws of what stands in them."""

from __future__ import annotations

from pgbn.explain.algebra import Formula, call, numeral
from pgbn.explain.names import Symbol, clean_math
from pgbn.explain.notation import Notation
from pgbn.explain.registered import where_lines
from pgbn.explain.symbols import At
from pgbn.network.connections import Source
from pgbn.network.linear import joint_dims
from pgbn.network.sumproduct import operand_of, reduce_product
from pgbn.nodes.base import Node

__all__ = ["hears_forms", "predictor_lines", "told_lines"]


def hears_forms(notation: Notation, node: Node) -> bool:
    """Whether a node is drawn from quadratic forms."""
    sources = notation.wiring.sources.get(node.name, ())
    return bool(sources) and all(source.rule.is_quadratic for source in sources)


def told_lines(notation: Notation, node: Node, slot: str) -> list[str]:
    """The evidence that a node draws about its predictor."""
    rule = notation.wiring.rules[node.name, slot]
    count, exposure = _told(notation, node, slot, notation.index)
    predictor = notation.slot(node, slot).latex
    stated = clean_math(rule.equation)
    return [
        rf"({exposure.latex},\ {count.latex}) &:\ {stated}",
        rf"\psi &= {predictor},\quad {_letter(notation, node)} = {notation.value(node.name).latex}",
    ]


def _letter(notation: Notation, node: Node) -> str:
    return notation.symbols[node.name].base


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
    """The joint draw of a node, and the quadratic form b̂ᵀx − ½xᵀÂx that it hears."""
    rule, sources = notation.wiring.draws[node.name], notation.wiring.sources[node.name]
    joint = joint_dims(node, sources)
    symbol = notation.own_symbol(node)
    if joint:
        symbol = rf"({symbol})_{{{', '.join(notation.index[dim] for dim in joint)}}}"
    again = {dim: notation.index[dim] + "'" for dim in joint}
    matrix, vector = numeral(0.0), numeral(0.0)
    for (child, slot), own in _by_predictor(sources).items():
        a, b = _form(notation, notation.network.nodes[child], slot, own, again)
        matrix, vector = matrix + a, vector + b
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


def _by_predictor(sources: list[Source]) -> dict[tuple[str, str], list[Source]]:
    found: dict[tuple[str, str], list[Source]] = {}
    for source in sources:
        found.setdefault((source.child.name, source.slot), []).append(source)
    return found


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
    rest = numeral(0.0)
    for term in terms:
        if id(term) not in within:
            rest = rest + notation.term(child, term, first, avoid=taken)
    g, h = (_weight(notation, sources, at) for at in (first, second))
    same = [f"{first[d]} = {again[n]}" for d, n in own.items() if n in again and d in child.axes]
    square = g * h if again else _square(g)
    for each in same:
        square = Formula(f"1({each})") * square
    left = count if rest.latex == "0" else count - exposure * rest
    a, b = exposure * square, left * g
    summed = [dim for dim in child.axes if dim not in own]
    for dim in reversed(summed):
        a, b = (Formula.sum_over(first[dim], each) for each in (a, b))
    return a, b


def _square(g: Formula) -> Formula:
    return g if g.latex == "1" else g**2


def _weight(notation: Notation, sources: list[Source], at: At) -> Formula:
    """g: what a node is multiplied by in a predictor."""
    total = numeral(0.0)
    for source in sources:
        others = [operand_of(f) for f in source.term.factors if f is not source.factor]
        over = [dim for dim in source.term.contracted if dim not in source.factor.dims]
        total = total + notation.product(
            reduce_product(source.term.coefficient, others, over), at, at.values()
        )
    return total
