"""Notation: the symbols, slots, counts and exposures of a concrete network as formulas.

The objects that the sampler is compiled from (`pgbn.network.wiring`) are walked here, and exposures
are written by the rules' own code, so that the text cannot drift from what is computed.

An ``at`` maps each dim to the index that is written for it; a dot stands for a sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

from pgbn.explain.algebra import Formula, call, numeral, ratio
from pgbn.explain.names import Symbol, escape_math, indices_of, sizes_of, symbols_of
from pgbn.network.connections import Source
from pgbn.network.sumproduct import (
    ConstantArray,
    FirstRow,
    LaterRows,
    LookedUp,
    NodeValue,
    Operand,
    OperationPart,
    OperationValue,
    PairMask,
    PreviousRow,
    ReceivedCount,
    RuleCount,
    RuleExposure,
    SparseConstant,
    SumProduct,
    TimeExposure,
    operand_of,
    reduce_product,
)
from pgbn.network.terms import ALWAYS, FIRST, LATER, Factor, Lagged, Operation, Polynomial, Term
from pgbn.nodes.base import Latent, Node, Observed
from pgbn.nodes.beta import BetaOdds
from pgbn.nodes.rules import find_link

if TYPE_CHECKING:
    from pgbn.network.network import Network


At = Mapping[str, str]
DOT = r"\cdot"
Phase = int | None  # the first of the rows of a chain in which the same terms count; None: no chain


def in_phase(term: Term, phase: Phase) -> bool:
    """Whether a term counts in the rows of a phase."""
    return term.phase == ALWAYS or (phase is not None and term.counts_at(phase))


def shift(index: str, by: int) -> str:
    """t → t-1 or t+1."""
    if index == DOT:
        return index
    if index.isdigit():
        return str(int(index) + by)
    undo = f"{-by:+d}"
    return index.removesuffix(undo) if index.endswith(undo) else f"{index}{by:+d}"


def where(condition: str) -> str:
    """The end of a line that is for some rows of a chain only."""
    return rf",\quad {condition}" if condition else ""


def added(parts: Iterable[Formula]) -> Formula:
    """The sum of formulas; 0 of none."""
    return sum(parts, numeral(0.0))


class Notation:
    """The symbols of values and counts, and what is built from them."""

    def __init__(self, network: Network) -> None:
        self.network, self.wiring = network, network.wiring
        self.symbols = symbols_of(network.nodes)
        renamed: dict[str, str] = {}
        used: dict[str, None] = dict.fromkeys(network.dims)
        self.constants: list[tuple[object, Symbol, str]] = []
        for (name, slot), polynomial in self.wiring.polynomials.items():
            for factor in (factor for term in polynomial.terms for factor in term.factors):
                pairs = zip(factor.dims, factor.own_dims, strict=False)
                renamed |= {dim: own for dim, own in pairs if dim != own}
                used |= dict.fromkeys(factor.dims)
                if factor.constant is not None:
                    mark = f"({len(self.constants) + 1})" if self.constants else ""
                    symbol = Symbol(r"\mathrm{const}", mark)
                    self.constants.append((factor.constant, symbol, f"{slot} of `{name}`"))
        bases = [symbol.base for symbol in self.symbols.values()]
        self.index = indices_of(used, renamed, bases)
        self.size = sizes_of(self.index)
        self.same_as = {dim: own for dim, own in renamed.items() if own in self.size}
        self.size |= {dim: self.size[own] for dim, own in self.same_as.items()}
        self.passing = [node.name for node in network if self._passes_on(node)]
        self.marks = self._marks()

    def _passes_on(self, node: Node) -> bool:
        """Whether the evidence of a node is used further, so that it deserves the names m and q."""
        rules = [self.wiring.rules.get((node.name, slot)) for slot in node.slots()]
        return isinstance(node, Latent) and any(
            rule is not None and {"count", "exposure"} & {*rule.count_reads, *rule.exposure_reads}
            for rule in rules
        )

    def _marks(self) -> dict[str, str]:
        """What stands above the counts of a node: its layer if that tells it apart."""
        short = {name: symbol.above or f"({symbol.at()})" for name, symbol in self.symbols.items()}
        used = [short[name] for name in self.passing]
        return {
            name: mark if used.count(mark) <= 1 else f"({self.symbols[name].at()})"
            for name, mark in short.items()
        }

    def letter(self, letter: str) -> str:
        """A letter for counts or exposures; with a tilde if a node already uses it."""
        taken = {symbol.base for symbol in self.symbols.values()}
        return rf"\tilde{{{letter}}}" if letter in taken else letter

    # ---- values -----------------------------------------------------------------------

    def is_odds(self, node: Node) -> bool:
        """Whether a node is drawn as p and its value is (1−p)/p."""
        return isinstance(node, BetaOdds)

    def odds(self, name: str) -> Symbol | None:
        """For a BetaOdds named p…: the letter c of its value (1−p)/p, if it is free."""
        symbol = self.symbols[name]
        value = Symbol("c", symbol.above, symbol.below)
        return value if symbol.base == "p" and value not in self.symbols.values() else None

    def value(self, name: str, at: At | None = None, own: Iterable[str] | None = None) -> Formula:
        """A node's value; ``own`` renames its axes, in their order, to the dims of ``at``."""
        node = self.network.nodes[name]
        dims = dict(zip(node.axes, own or node.axes, strict=True))
        at = self.index if at is None else at
        indices = [at[dims[dim]] for dim in reversed(node.axes)]
        if self.is_odds(node):
            short = self.odds(name)
            p = Formula(self.symbols[name].at(indices))
            return Formula(short.at(indices)) if short else (1 - p) / p
        return Formula(self.symbols[name].at(indices))

    def own_symbol(self, node: Node, at: At | None = None) -> str:
        """The symbol of the node itself, a vector over its simplex; of a BetaOdds, that is p."""
        at = self.index if at is None else at
        symbol = self.symbols[node.name].at([at[dim] for dim in reversed(node.axes)])
        return self.vector(node, symbol)

    def vector(self, node: Node, latex: str) -> str:
        """(…)_v for what is a vector over the node's simplex."""
        over = ", ".join(self.index[dim] for dim in node.sums_over)
        return rf"({latex})_{{{over}}}" if over else latex

    def bare(self, name: str) -> str:
        """A node's symbol without indices."""
        return self.symbols[name].at()

    def constant(self, array: object, dims: Iterable[str], at: At) -> Formula:
        """A known array."""
        symbol = next(symbol for known, symbol, _ in self.constants if known is array)
        return Formula(symbol.at([at[dim] for dim in reversed(tuple(dims))]))

    def category(self, name: str, indices: Iterable[str]) -> str:
        """The number of the category of a row, such as author(j)."""
        return f"{escape_math(name)}({', '.join(indices)})"

    # ---- chains -----------------------------------------------------------------------

    def along(self, node: Node) -> str | None:
        """The dim along which a node is a Markov chain."""
        return self.wiring.connections.time_dim(node.name)

    def has_lag(self, node: Node, slot: str) -> bool:
        """Whether a slot reads the node's own previous row."""
        return self.wiring.polynomials[node.name, slot].along is not None

    def has_first_rows(self, node: Node) -> bool:
        """Whether every slot that reads earlier rows has terms for the first rows."""
        return all(
            any(term.phase == FIRST for term in self.wiring.polynomials[node.name, slot].terms)
            for slot in self.lagged_slots(node)
        )

    def lagged_slots(self, node: Node) -> list[str]:
        """The slots that read the node's own previous row."""
        return [slot for slot in node.slots() if self.has_lag(node, slot)]

    def lags(self, node: Node) -> tuple[int, ...]:
        """How many rows back a chain reads itself, the least first."""
        every = (self.wiring.polynomials[node.name, slot].lags for slot in node.slots())
        return next((lags for lags in every if lags), ())

    def rows(self, node: Node) -> list[tuple[At, Phase, str]]:
        """(indices, phase, condition): one for a plain node; the first and the later rows of
        a chain, and what is between them if it has several lags. `where` writes the condition."""
        dim = self.along(node)
        if dim is None:
            return [(self.index, None, "")]
        found: list[tuple[At, Phase, str]] = []
        begins, index = (0, *self.lags(node)), self.index[dim]
        for begin, end in pairwise(begins):
            above = f"{begin} < " if begin else ""
            found.append(({**self.index, dim: str(end)}, begin, "") if end == begin + 1 else
                         (self.index, begin, rf"{above}{index} \le {end}"))  # fmt: skip
        return [*found, (self.index, begins[-1], f"{index} > {begins[-1]}")]

    # ---- counts -----------------------------------------------------------------------

    def cells(
        self, node: Node, at: At | None = None, extra: tuple[str, ...] = (), tag: str = ""
    ) -> Formula:
        """The counts at a node's cells: data, the latent counts behind data, or its tables."""
        at = self.index if at is None else at
        indices = [at[dim] for dim in (*reversed(node.axes), *extra)]
        link = find_link(node)
        if link is not None and link.counts is None:
            symbol = self.symbols[node.name]
        elif link is not None:
            several = len(self.network.observed) > 1
            symbol = Symbol(self.letter("n"), self.marks[node.name] if several else "")
        else:
            symbol = Symbol(r"\ell", self.marks[node.name])
        return Formula(Symbol(symbol.base, symbol.above + tag, symbol.below).at(indices))

    def known_total(self, node: Node) -> Formula:
        """N_j, the total of data whose sum over their simplex is known."""
        several = sum(other.simplex is not None for other in self.network
                      if isinstance(other, Observed)) > 1  # fmt: skip
        mark = self.marks[node.name] if several else ""
        indices = [self.index[dim] for dim in reversed(node.axes) if dim != node.simplex]
        return Formula(Symbol(self.letter("N"), mark).at(indices))

    def drawn(self, node: Node, slot: str, at: At | None = None) -> Formula:
        """The counts at a node's cells that speak to a slot, before they are shared out."""
        return self.cells(node, at, tag=self.slot_mark(node, slot))

    def split(
        self, node: Node, slot: str, term: Term, at: At | None = None, mark: str = ""
    ) -> Formula:
        """The share of a term in the counts at a node's cells, with the summed dims as indices."""
        tag = self._tag(node, slot, self.wiring.polynomials[node.name, slot], term)
        return self.cells(node, at, term.contracted, tag + mark)

    def _tag(self, node: Node, slot: str, polynomial: Polynomial, term: Term) -> str:
        """[2] for the second of several terms; the slot's name too if other slots have counts."""
        rivals = [t for t in polynomial.terms if any(t.counts_at(row) and term.counts_at(row)
                                                     for row in (0, *polynomial.lags))]  # fmt: skip
        tag = f"[{polynomial.terms.index(term) + 1}]" if len(rivals) > 1 else ""
        mark, link = self.slot_mark(node, slot), find_link(node)
        if not mark and link is not None and slot != link.slot and (tag or term.contracted):
            mark = f"[{escape_math(slot)}]"
        return mark + tag

    def slot_mark(self, node: Node, slot: str) -> str:
        """[slot] for what is drawn for it, if a node draws for several slots or has a link too."""
        own = [s for s, rule in self.wiring.connections.rules_of(node).items() if rule.is_random]
        several = len(own) > 1 or find_link(node) is not None
        return f"[{escape_math(slot)}]" if several and slot in own else ""

    def terms(self, node: Node, slot: str, phase: Phase) -> list[Term]:
        """The terms of a slot that count in the rows of a phase."""
        every = self.wiring.polynomials[node.name, slot].terms
        return [term for term in every if in_phase(term, phase)]

    def is_split(self, node: Node, slot: str, phase: Phase = None) -> bool:
        """Whether counts in this slot are shared between several terms or summed indices."""
        rule = self.wiring.rules.get((node.name, slot))
        if rule is not None and rule.is_quadratic:
            return False
        terms = self.terms(node, slot, phase)
        through = any(factor.through for term in terms for factor in term.factors)
        return through or len(terms) > 1 or any(term.contracted for term in terms)

    def is_bare(self, node: Node) -> bool:
        """Whether a node is given and what stands in its slots is left out."""
        return node.name in self.network.given and not self.network.above

    # ---- slots ------------------------------------------------------------------------

    def slot(self, node: Node, slot: str, at: At | None = None, phase: Phase = None) -> Formula:
        """The value of a slot; in a chain, that of the first or the later rows."""
        terms = self.wiring.polynomials[node.name, slot].terms
        return added(
            self.term(node, term, at) for term in terms if phase is None or in_phase(term, phase)
        )

    def term(
        self,
        node: Node,
        term: Term,
        at: At | None = None,
        *,
        unsummed: bool = False,
        avoid: Iterable[str] = (),
    ) -> Formula:
        """One term of a slot, with or without its sum signs; these avoid the given indices."""
        operands = tuple(operand_of(factor, node) for factor in term.factors)
        summed = () if unsummed else term.contracted
        at = self.index if at is None else at
        inner = {dim: at[dim] for dim in term.dims if dim in at and dim not in summed}
        return self.product(SumProduct(term.coefficient, operands, (), summed, ()), inner, avoid)

    def total(self, node: Node, slot: str, dims: Iterable[str]) -> Formula:
        """A slot summed over some of the node's dims."""
        products = self.wiring.exposures.named_sum(slot, node, dims)
        return added(self.product(product, self.index) for product in products)

    # ---- sums of products -------------------------------------------------------------

    def product(self, product: SumProduct, at: At, avoid: Iterable[str] = ()) -> Formula:
        """A sum of products; a dim that only one plain operand has is summed by a dot."""
        at, signs = dict(at), []
        for dim in product.summed:
            holders = [operand for operand in product.operands if dim in operand.dims]
            taken = [at[d] for o in product.operands for d in o.dims if d != dim and d in at]
            index = self.free(dim, [*taken, *avoid])
            first = max(in_first_rows(self, operand, dim) for operand in holders)
            later = max(in_later_rows(self, operand, dim) for operand in holders)
            if first == 1:
                at[dim] = "1"
            elif first or later:
                at[dim] = index
                signs.append(rf"{index} \le {first}" if first else f"{index} > {later}")
            elif len(holders) == 1 and type(holders[0]) not in _WITHOUT_DOT:
                at[dim] = DOT
            else:
                at[dim] = index
                signs.append(index)
        kept, signs = pairs_in_signs(product, at, signs)
        coefficient, parts = product.coefficient, []
        for dim in product.repeated:
            if dim in self.network.sizes:
                coefficient *= self.network.sizes[dim]
            else:
                parts.append(Formula(self.size[dim]))
        parts += [operand_formula(self, operand, at) for operand in kept]
        body = prod(parts, start=numeral(1.0))
        body = numeral(coefficient) if body.latex == "1" else ratio(coefficient, body)
        for sign in reversed(signs):
            body = Formula.sum_over(sign, body)
        return body

    def free(self, dim: str, taken: Iterable[str]) -> str:
        """The index of a summed dim, with a prime if that index already stands in the formula."""
        index, used = self.index[dim], set(taken)
        while index in used:
            index += "'"
        return index

    # ---- counts -----------------------------------------------------------------------

    def count(self, name: str, at: At | None = None) -> Formula:
        """The count that a node receives: its symbol m, or written out if it goes no further."""
        at = self.index if at is None else at
        node = self.network.nodes[name]
        if isinstance(node, Observed):
            return self.cells(node, at)
        if name not in self.passing:
            return self.received_count(name, at)
        indices = [at[dim] for dim in reversed(node.axes)]
        return Formula(Symbol(self.letter("m"), self.marks[name]).at(indices))

    def received_count(self, name: str, at: At | None = None) -> Formula:
        """The count that a node receives, added up over its sources."""
        at = self.index if at is None else at
        return added(self._source_count(source, at) for source in self.wiring.sources[name])

    def _source_count(self, source: Source, at: At) -> Formula:
        inner, readers = readers_beside(self, source, at)
        if not source.is_delivered:
            products = self.wiring.exposures.source_count(source)
            return added(over(readers, self.product(product, inner)) for product in products)
        dims = (*source.child.axes, *source.term.contracted)
        dotted = {dim: inner.get(dim, DOT) for dim in dims}
        row = source.polynomial.along
        if row is not None and source.term.phase == FIRST and dotted[row] == DOT:
            several, index = source.term.lag > 1, self.free(row, dotted.values())
            dotted[row] = index if several else "1"
            readers = rf"{index} \le {source.term.lag}" if several else readers
        mark = ""
        if source.factor.through is not None:  # [a_e]: what an operation gave to an entry
            mark = f"[{self.value(source.factor.name, at).latex}]"
        return over(readers, self.split(source.child, source.slot, source.term, dotted, mark))

    def computed_count(self, node: Node, slot: str, at: At | None = None) -> Formula:
        """A count that a rule computes without drawing."""
        found = self.counted(node, slot, at)
        if found is not None:
            return found
        indices = [(self.index if at is None else at)[dim] for dim in reversed(node.axes)]
        return Formula(Symbol(f"{self.letter('m')}'", self.marks[node.name]).at(indices))

    def counted(self, node: Node, slot: str, at: At | None = None) -> Formula | None:
        """What the code of a rule makes of the symbols for a count; None if it cannot be read."""
        rule = self.wiring.rules[node.name, slot]
        arguments = {name: self.quantity(node, name, at) for name in rule.count_reads}
        found = call(rule.count, **arguments)
        return found if isinstance(found, Formula) else None

    def passed_back_count(self, node: Node, slot: str, at: At) -> Formula:
        """What row t + lag of a chain passes back to row t."""
        polynomial = self.wiring.polynomials[node.name, slot]
        dotted = dict.fromkeys(self.index, DOT)
        return added(
            self.split(node, slot, term, dotted | _next_row(node, polynomial, own, at))
            for term, own in _lagged(polynomial)
        )

    def is_law(self, name: str) -> bool:
        """Whether the count that a node receives is Poisson given its value. For tables
        of a Dirichlet and for multinomial data that is so as a function of the value only."""
        return all(
            source.rule.drawn is None
            and not source.rule.normalised
            and (isinstance(source.child, Observed) or self.is_law(source.child.name))
            for source in self.wiring.sources[name]
        )

    # ---- exposures --------------------------------------------------------------------

    def exposure_dims(self, name: str) -> tuple[str, ...]:
        """The dims of the exposure that a node receives."""
        node = self.network.nodes[name]
        found = self.wiring.exposures.received_dims(name)
        for slot in self.lagged_slots(node):
            found |= set(self.wiring.exposures.rule_dims(node, slot))
        return tuple(dim for dim in node.axes if dim in found)

    def exposure(self, name: str, at: At | None = None) -> Formula:
        """The exposure that a node receives: its symbol q, or written out if it goes no further."""
        if name in self.passing:
            return self.exposure_symbol(name, at)
        return self.received_exposure(name, at)

    def exposure_symbol(self, name: str, at: At | None = None) -> Formula:
        """q, with the mark of the node that receives it."""
        at = self.index if at is None else at
        indices = [at[dim] for dim in reversed(self.exposure_dims(name))]
        mark = self.marks[name] if name in self.passing else f"({self.symbols[name].at()})"
        return Formula(Symbol(self.letter("q"), mark).at(indices))

    def received_exposure(self, name: str, at: At | None = None) -> Formula:
        """The exposure that a node receives, added up over its sources."""
        at = self.index if at is None else at
        return added(
            self._source_exposure(source, product, at)
            for source in self.wiring.sources[name]
            for product in self.wiring.exposures.source_exposure(source)
        )

    def _source_exposure(self, source: Source, product: SumProduct, at: At) -> Formula:
        inner, readers = readers_beside(self, source, at)
        return over(readers, weight_of(self, source, at, inner) * self.product(product, inner))

    def passed_back_exposure(self, node: Node, slot: str, at: At) -> Formula:
        """The exposure that row t + lag of a chain passes back to row t."""
        polynomial, total = self.wiring.polynomials[node.name, slot], numeral(0.0)
        rest = self.wiring.exposures.rule_operand(node, slot)
        for term, own in _lagged(polynomial):
            others = [operand_of(factor, node) for factor in term.factors if factor is not own]
            over = [d for d in (*node.axes, *term.contracted) if d not in own.dims]
            product = reduce_product(term.coefficient, [rest, *others], dict.fromkeys(over))
            total = total + self.product(product, _next_row(node, polynomial, own, at))
        return total

    def passed(self, node: Node, slot: str, at: At | None = None) -> Formula:
        """The exposure that a node passes to a slot; a symbol if it is drawn or part of a scan."""
        at = self.index if at is None else at
        rule = self.wiring.rules[node.name, slot]
        dims = self.wiring.exposures.rule_dims(node, slot)
        indices = [at[dim] for dim in reversed(dims)]
        mark = self.marks[node.name] + self.slot_mark(node, slot)
        if rule.drawn is not None:
            return Formula(Symbol(r"\hat{q}", mark).at(indices))
        if self.has_lag(node, slot):
            return Formula(Symbol(r"\zeta", mark).at(indices))
        found = self.traced(node, slot, at)
        return Formula(Symbol(r"\hat{q}", mark).at(indices)) if found is None else found

    def traced(self, node: Node, slot: str, at: At | None = None) -> Formula | None:
        """What the rule's own code makes of the symbols; None if it cannot be read."""
        rule = self.wiring.rules[node.name, slot]
        if rule.drawn is not None or rule.exposure is None:
            return None
        if isinstance(rule.exposure, (int, float)):
            return numeral(float(rule.exposure))
        if isinstance(rule.exposure, str):
            return self.quantity(node, rule.exposure, at)
        arguments = {name: self.quantity(node, name, at) for name in rule.exposure_reads}
        found = call(rule.exposure, **arguments)
        return found if isinstance(found, Formula) else None

    # ---- what a rule may name ---------------------------------------------------------

    def quantity(self, node: Node, name: str, at: At | None = None, phase: Phase = None) -> Formula:
        """value, count, exposure or a slot."""
        if name == "value":
            return self.value(node.name, at)
        if name == "count":
            return self.count(node.name, at)
        if name == "exposure":
            return self.exposure(node.name, at)
        return self.slot(node, name, at, phase)


def _lagged(polynomial: Polynomial) -> Sequence[tuple[Term, Factor]]:
    """The terms of a chain that hold its own previous row."""
    later = (term for term in polynomial.terms if term.phase == LATER)
    return [(term, next(f for f in term.factors if f.previous)) for term in later]


def _next_row(node: Node, polynomial: Polynomial, own: Factor, at: At) -> dict[str, str]:
    """Indices of row t + lag, seen from the entries of row t."""
    inner = {dim: at[axis] for dim, axis in zip(own.dims, node.axes, strict=True)}
    row = polynomial.along
    assert row is not None
    inner[row] = shift(at[row], own.lag)
    return inner


# ---- readers ------------------------------------------------------------------------------------
#
# Which rows of a child read an entry of its parent, where that is not written by equal indices:
# through categories, or through an operation of a user's own.
#
# An operation is linear in each operand: y_v = Σ_e (∂y_v/∂a_e) a_e. Entry e receives the exposure
# Σ_v (∂y_v/∂a_e) q_v, and of the counts of cell v those that went to it, with its name in
# brackets.


def over(readers: str, body: Formula) -> Formula:
    """A sum over the rows that read an entry, if they read it through something."""
    return Formula.sum_over(readers, body) if readers else body


def readers_beside(notation: Notation, source: Source, at: At) -> tuple[dict[str, str], str]:
    """Indices, in the child's names, of the dims that parent and child share, and which rows
    of the child read an entry of the parent: "j : author(j) = a" where they read it through
    categories, else nothing."""
    lookups = source.factor.lookups
    through = {dim for lookup in lookups for dim in lookup.dims}
    here = {own: dim for dim, own in source.own.items()}
    inner = {dim: at[own] for dim, own in source.own.items() if own not in through}
    fresh = at is not notation.index or source.factor.through is not None
    rows = {own: notation.free(here[own], at.values()) if fresh else notation.index[here[own]]
            for own in here if own in through}  # fmt: skip
    lags = {lookup.dims[0]: lookup for lookup in lookups if isinstance(lookup, Lagged)}
    rows |= {own: shift(at[lookup.dim], lookup.lag) for own, lookup in lags.items()}
    inner |= {here[own]: row for own, row in rows.items()}
    rows = {own: row for own, row in rows.items() if own not in lags}
    if source.factor.through is not None:
        return inner, ", ".join(rows.values())
    named = [
        f"{notation.category(lookup.name, [rows[dim] for dim in lookup.dims])} = {at[lookup.dim]}"
        for lookup in lookups
        if not isinstance(lookup, Lagged) and at[lookup.dim] != DOT
    ]
    which = f" : {', '.join(named)}" if named else ""
    return inner, f"{', '.join(rows.values())}{which}"


def operation_value(notation: Notation, operation: Operation, indices: list[str]) -> Formula:
    """Edge(a, b) with the indices of one cell."""
    parts = [
        notation.bare(factor.name) if factor.own_dims else r"\mathrm{const}"
        for factor in operation.operands.values()
    ]
    name = escape_math(type(operation.edge).__name__)
    return Formula(f"{name}({', '.join(parts)})_{{{' '.join(indices)}}}")


def weight_of(notation: Notation, source: Source, at: At, inner: At) -> Formula:
    """How an entry enters a cell: ∂y_v/∂a_e through an operation, else 1."""
    through = source.factor.through
    if through is None:
        return numeral(1.0)
    indices = [inner[dim] for dim in reversed(source.factor.dims)]
    top = operation_value(notation, through.operation, indices).latex
    below = notation.value(source.factor.name, at).latex
    return Formula(rf"\frac{{\partial {top}}}{{\partial {below}}}")


# ---- Of what kind an operand is: explain asks here and nowhere else ----


def in_first_rows(notation: Notation, operand: Operand, dim: str) -> int:
    """If an operand counts in the first rows of a chain only, ``dim`` being its rows, how many
    these are; else 0."""
    if isinstance(operand, FirstRow):
        return operand.lag
    if not isinstance(operand, TimeExposure):
        return 0
    first = dim == notation.along(notation.network.nodes[operand.name]) and operand.phase == FIRST
    return operand.lag if first else 0


def in_later_rows(notation: Notation, operand: Operand, dim: str) -> int:
    """If an operand counts in all rows of a chain but the first ones, how many these are; else
    0."""
    if not isinstance(operand, PreviousRow | TimeExposure):
        return 0
    along = notation.along(notation.network.nodes[operand.name])
    if isinstance(operand, PreviousRow):
        own = dict(zip(operand.dims, operand.own_dims, strict=True))
        return operand.lag if own[dim] == along else 0
    return operand.lag if dim == along and operand.phase == LATER else 0


def _looked_up(notation: Notation, operand: LookedUp, at: At) -> dict[str, str]:
    """The indices of what is read through categories: author(j) for an author."""
    here = dict(zip(operand.own_dims, operand.dims, strict=True))
    inner = {own: at[dim] for own, dim in here.items() if own not in operand.through}
    for lookup in operand.lookups:
        rows = [at[here[dim]] for dim in lookup.dims]
        inner[lookup.dim] = (shift(rows[0], -lookup.lag) if isinstance(lookup, Lagged)
                             else notation.category(lookup.name, rows))  # fmt: skip
    return inner


def operand_formula(notation: Notation, operand: Operand, at: At) -> Formula:
    """An operand with its indices."""
    if isinstance(operand, ConstantArray | SparseConstant):
        return notation.constant(operand.value, operand.dims, at)
    if isinstance(operand, PairMask):
        first, second = (at[dim] for dim in operand.dims)
        return Formula(f"1({first} {_SIGNS[operand.relation]} {second})")
    if isinstance(operand, FirstRow):
        index = at[operand.dims[0]]
        known = index.isdigit() and int(index) <= operand.lag
        sign = "=" if operand.lag == 1 else r"\le"
        return numeral(1.0) if known else Formula(rf"1({index} {sign} {operand.lag})")
    if isinstance(operand, OperationPart):
        return numeral(1.0)
    if isinstance(operand, OperationValue):
        indices = [at[dim] for dim in reversed(operand.dims)]
        return operation_value(notation, operand.operation, indices)
    if isinstance(operand, LaterRows):
        index = at[operand.dims[0]]
        beyond = "+" in index and int(index.rpartition("+")[2] or 0) >= operand.lag
        size = notation.size[operand.dims[0]]
        return Formula(rf"1({index} \le {size})" if beyond else f"1({index} > {operand.lag})")
    if isinstance(operand, LookedUp):
        return operand_formula(notation, operand.whole, _looked_up(notation, operand, at))
    node = notation.network.nodes[operand.name]
    if isinstance(operand, ReceivedCount):
        return notation.count(operand.name, at)
    if isinstance(operand, RuleCount):
        return notation.computed_count(node, operand.slot, at)
    if isinstance(operand, RuleExposure):
        return notation.passed(node, operand.slot, at)
    assert isinstance(operand, NodeValue)
    names = dict(zip(operand.own_dims, operand.dims, strict=True))
    if isinstance(operand, PreviousRow):
        row = names[notation.along(node) or ""]
        at = {**at, row: shift(at[row], -operand.lag)}
    return notation.value(operand.name, at, [names[dim] for dim in node.axes])


# operands of which a sum over an index cannot be written by a dot in its place
_WITHOUT_DOT = (RuleExposure, RuleCount, LookedUp, OperationValue)
_SIGNS = {"upper": "<", "distinct": r"\ne", "same": "="}


def pairs_in_signs(
    product: SumProduct, at: At, signs: list[str]
) -> tuple[list[Operand], list[str]]:
    """The operands and what stands under the sum signs, with the relation of a pair of which a
    member is summed written there: a sum over i < j, or over the j > i."""
    kept, signs = list(product.operands), list(signs)
    for mask in [operand for operand in kept if isinstance(operand, PairMask)]:
        first, second = (at[dim] for dim in mask.dims)
        under = [index for index in (first, second) if index in signs]
        if not under:
            continue
        sign = _SIGNS[mask.relation]
        if under == [second]:
            first, second, sign = second, first, sign.replace("<", ">")
        signs[signs.index(under[0])] = f"{first} {sign} {second}"
        signs = [each for each in signs if each not in under[1:]]
        kept.remove(mask)
    return kept, signs
