"""Notation: every value, count and exposure of a concrete network as a formula with indices.

The same objects that the sampler is compiled from (`pgbn.wiring`) are walked here, so that
the text cannot drift from the code. An ``at`` maps each dim to the index written for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pgbn.explain.algebra import Formula, call, number, ratio
from pgbn.explain.names import Symbol, indices_of, sizes_of, symbols_of
from pgbn.nodes.base import Latent, Node, Observed
from pgbn.nodes.beta import BetaOdds
from pgbn.registry import find_link
from pgbn.terms import ALWAYS, FIRST, LATER, Polynomial, Term
from pgbn.wiring import Operand, Source, SumProduct, reduce_product
from pgbn.wiring import _operand as operand_of

if TYPE_CHECKING:
    from pgbn.network import Network

__all__ = ["At", "Notation"]

At = Mapping[str, str]
DOT = r"\cdot"


class Notation:
    """The symbols of one network."""

    def __init__(self, network: Network) -> None:
        self.network, self.wiring = network, network.wiring
        self.symbols = symbols_of(network.nodes)
        renamed = {
            dim: own
            for polynomial in self.wiring.polynomials.values()
            for term in polynomial.terms
            for factor in term.factors
            for dim, own in zip(factor.dims, factor.own_dims, strict=False)
            if dim != own
        }
        dims = dict.fromkeys((*network.dims, *renamed))
        contracted = (
            dim for p in self.wiring.polynomials.values() for t in p.terms for dim in t.dims
        )
        self.index = indices_of(dict.fromkeys((*dims, *contracted)), renamed)
        self.size = sizes_of(self.index)
        self.constants: list[tuple[object, Symbol]] = []
        self.passing = [node.name for node in network if self._passes_on(node)]
        self.marks = self._marks()

    def _passes_on(self, node: Node) -> bool:
        """Whether what a node hears travels on, so that it deserves the names m and q."""
        rules = [self.wiring.rules.get((node.name, slot)) for slot in node.slots()]
        return isinstance(node, Latent) and any(
            rule is not None
            and (rule.is_random or {"count", "exposure"} & {*rule.count_reads, *rule.exposure_reads})
            for rule in rules
        )

    def _marks(self) -> dict[str, str]:
        """What stands above the counts of a node: its layer if that tells it apart."""
        short = {
            name: self.symbols[name].above or f"({self.symbols[name].at()})"
            for name in self.network.nodes
        }
        used = [short[name] for name in self.passing]
        return {
            name: mark if used.count(mark) <= 1 else f"({self.symbols[name].at()})"
            for name, mark in short.items()
        }

    def _letter(self, letter: str) -> str:
        """A letter for counts or exposures; with a tilde if a node already uses it."""
        taken = {symbol.base for symbol in self.symbols.values()}
        return rf"\tilde{{{letter}}}" if letter in taken else letter

    # ---- symbols ----------------------------------------------------------------------

    def odds(self, name: str) -> Symbol | None:
        """For a BetaOdds named p…: the letter c of its value (1−p)/p, if it is free."""
        symbol = self.symbols[name]
        value = Symbol("c", symbol.above, symbol.below)
        free = value not in self.symbols.values()
        return value if symbol.base == "p" and free else None

    def value(self, name: str, at: At | None = None, own: Iterable[str] | None = None) -> Formula:
        """A node's value; ``own`` renames its dims to those of ``at``, in the order of axes."""
        node = self.network.nodes[name]
        dims = dict(zip(node.axes, own or node.axes, strict=True))
        at = self.index if at is None else at
        indices = [at[dims[dim]] for dim in reversed(node.axes)]
        if isinstance(node, BetaOdds):
            short = self.odds(name)
            p = self.symbols[name].at(indices)
            return Formula(short.at(indices)) if short else (1 - Formula(p)) / Formula(p)
        return Formula(self.symbols[name].at(indices))

    def own_symbol(self, node: Node, at: At | None = None) -> str:
        """The symbol of the node itself; for a BetaOdds that is the probability."""
        at = self.index if at is None else at
        return self.symbols[node.name].at([at[dim] for dim in reversed(node.axes)])

    def bare(self, name: str) -> str:
        """A node's symbol without indices."""
        return self.symbols[name].at()

    def _constant(self, operand: Operand, at: At) -> Formula:
        for known, symbol in self.constants:
            if known is operand.constant:
                break
        else:
            mark = f"({len(self.constants) + 1})" if self.constants else ""
            symbol = Symbol(r"\mathrm{const}", mark)
            self.constants.append((operand.constant, symbol))
        return Formula(symbol.at([at[dim] for dim in reversed(operand.dims)]))

    # ---- slots ------------------------------------------------------------------------

    def along(self, node: Node) -> str | None:
        """The dim along which a node is a Markov chain."""
        found = (self.wiring.polynomials[node.name, slot].along for slot in node.slots())
        return next((dim for dim in found if dim is not None), None)

    def rows(self, node: Node) -> list[tuple[At, str, str]]:
        """(indices, phase, condition): one for a plain node; the first and the later rows of
        a chain."""
        dim = self.along(node)
        if dim is None:
            return [(self.index, ALWAYS, "")]
        index = self.index[dim]
        first = {**self.index, dim: "1"}
        return [(first, FIRST, ""), (self.index, LATER, f"{index} > 1")]

    def slot(self, node: Node, slot: str, at: At | None = None, phase: str = ALWAYS) -> Formula:
        """The value of a slot."""
        at = self.index if at is None else at
        total = number(0.0)
        for term in self.wiring.polynomials[node.name, slot].terms:
            if term.phase in (ALWAYS, phase):
                total = total + self.term(node, term, at)
        return total

    def term(self, node: Node, term: Term, at: At, inner: bool = False) -> Formula:
        """One term of a slot; without its sum sign if ``inner``."""
        operands = tuple(operand_of(factor, node) for factor in term.factors)
        summed = () if inner else term.contracted
        return self.product(SumProduct(term.coefficient, operands, (), summed, ()), at)

    # ---- sums of products -------------------------------------------------------------

    def product(self, product: SumProduct, at: At) -> Formula:
        """A sum of products; a dim that only one plain operand has is summed by a dot."""
        at = dict(at)
        signs: list[str] = []
        for dim in product.summed:
            holders = [operand for operand in product.operands if dim in operand.dims]
            along = self._first_row(holders, dim)
            if along:
                at[dim] = "1"
            elif len(holders) == 1 and holders[0].kind != "exposure":
                at[dim] = DOT
            else:
                at[dim] = self._free(dim, [at[d] for o in product.operands for d in o.dims
                                           if d != dim and d in at])  # fmt: skip
                signs.append(at[dim])
        coefficient, sizes = product.coefficient, []
        for dim in product.repeated:
            if dim in self.network.sizes:
                coefficient *= self.network.sizes[dim]
            else:
                sizes.append(Formula(self.size[dim]))
        parts = [*sizes, *(self._operand(operand, at) for operand in product.operands)]
        body = number(1.0)
        for part in parts:
            body = body * part
        body = ratio(coefficient, body) if parts else number(coefficient)
        for sign in reversed(signs):
            body = Formula.sum_over(sign, body)
        return body

    def _first_row(self, holders: list[Operand], dim: str) -> bool:
        """Whether only the first row of a chain's exposure is meant."""
        return any(
            operand.kind == "rest"
            and operand.phase == FIRST
            and dim == self.along(self.network.nodes[operand.name])
            for operand in holders
        )

    def _free(self, dim: str, taken: Iterable[str]) -> str:
        """The index of a summed dim, with a prime if that index already stands in the formula."""
        index, used = self.index[dim], set(taken)
        while index in used:
            index += "'"
        return index

    def _operand(self, operand: Operand, at: At) -> Formula:
        match operand.kind:
            case "constant":
                return self._constant(operand, at)
            case "node":
                names = dict(zip(operand.own_dims, operand.dims, strict=True))
                axes = self.network.nodes[operand.name].axes
                return self.value(operand.name, at, [names[dim] for dim in axes])
            case "previous":
                names = dict(zip(operand.own_dims, operand.dims, strict=True))
                node = self.network.nodes[operand.name]
                dim = self.along(node)
                assert dim is not None
                before = {**at, names[dim]: _shift(at[names[dim]], -1)}
                return self.value(operand.name, before, [names[d] for d in node.axes])
            case "rest":
                return self.passed(self.network.nodes[operand.name], operand.slot, at)
        return self.passed(self.network.nodes[operand.name], operand.slot, at)

    # ---- counts -----------------------------------------------------------------------

    def cells(self, node: Node, at: At | None = None, extra: tuple[str, ...] = (), tag: str = "") -> Formula:
        """The counts at a node's cells: data, the latent counts behind data, or its tables."""
        at = self.index if at is None else at
        indices = [at[dim] for dim in (*reversed(node.axes), *extra)]
        link = find_link(node)
        if link is not None and link.counts is None:
            symbol = self.symbols[node.name]
        elif isinstance(node, Observed):
            several = sum(isinstance(n, Observed) for n in self.network) > 1
            symbol = Symbol(self._letter("n"), self.marks[node.name] if several else "")
        else:
            symbol = Symbol(r"\ell", self.marks[node.name])
        return Formula(Symbol(symbol.base, symbol.above + tag, symbol.below).at(indices))

    def split(self, node: Node, slot: str, term: Term, at: At | None = None) -> Formula:
        """The share of a term in the counts at a node's cells, with the summed dims as indices."""
        polynomial = self.wiring.polynomials[node.name, slot]
        tag = self._tag(node, slot, polynomial, term)
        return self.cells(node, at, term.contracted, tag)

    def _tag(self, node: Node, slot: str, polynomial: Polynomial, term: Term) -> str:
        rivals = [t for t in polynomial.terms if {t.phase, term.phase} != {FIRST, LATER}]
        tag = f"[{polynomial.terms.index(term) + 1}]" if len(rivals) > 1 else ""
        link = find_link(node)
        if tag and link is not None and link.slot != slot:
            return rf"[\mathrm{{{slot}}}]{tag}"
        return tag

    def count(self, name: str, at: At | None = None) -> Formula:
        """The count that a node hears: its symbol m, or written out if it goes no further."""
        at = self.index if at is None else at
        node = self.network.nodes[name]
        if isinstance(node, Observed):
            return self.cells(node, at)
        if name not in self.passing:
            return self.heard_count(name, at)
        indices = [at[dim] for dim in reversed(node.axes)]
        return Formula(Symbol(self._letter("m"), self.marks[name]).at(indices))

    def heard_count(self, name: str, at: At | None = None) -> Formula:
        """The count that a node hears, added up over its sources."""
        at = self.index if at is None else at
        total = number(0.0)
        for source in self.wiring.sources[name]:
            total = total + self.source_count(source, at)
        return total

    def source_count(self, source: Source, at: At) -> Formula:
        """The count that comes through one source."""
        rule, child, term = source.rule, source.child, source.term
        inner = self._beside(source, at)
        if not (rule.is_random or rule.count == "count"):
            over = [dim for dim in self._cell_dims(source) if dim not in source.factor.dims]
            total = number(0.0)
            for product in self.wiring.named_sum(str(rule.count), child, over):
                total = total + self.product(product, inner)
            return total
        dotted = {dim: inner.get(dim, DOT) for dim in self._cell_dims(source)}
        dim = source.polynomial.along
        if dim is not None and term.phase == FIRST and dotted[dim] == DOT:
            dotted[dim] = "1"
        if isinstance(child, Latent) and not rule.is_random:
            return self.count(child.name, dotted)
        return self.split(child, source.slot, term, dotted)

    @staticmethod
    def _cell_dims(source: Source) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*source.child.axes, *source.term.contracted)))

    def _beside(self, source: Source, at: At) -> dict[str, str]:
        """Indices in the child's names of the dims that parent and child share."""
        factor = source.factor
        return {dim: at[own] for dim, own in zip(factor.dims, factor.own_dims, strict=True)}

    def passed_back_count(self, node: Node, slot: str, at: At) -> Formula:
        """What row t+1 of a chain passes back to row t."""
        polynomial, total = self.wiring.polynomials[node.name, slot], number(0.0)
        for term, own in _lagged(polynomial):
            inner = {dim: DOT for dim in (*node.axes, *term.contracted)}
            inner |= {dim: at[name] for dim, name in zip(own.dims, node.axes, strict=True)}
            assert polynomial.along is not None
            inner[polynomial.along] = _shift(at[polynomial.along], 1)
            total = total + self.split(node, slot, term, inner)
        return total

    # ---- exposures --------------------------------------------------------------------

    def exposure_dims(self, name: str) -> tuple[str, ...]:
        """The dims of the exposure that a node hears."""
        node = self.network.nodes[name]
        found: set[str] = set()
        for source in self.wiring.sources[name]:
            own = dict(zip(source.factor.dims, source.factor.own_dims, strict=True))
            for product in self.wiring.source_exposure(source):
                found |= {own[dim] for dim in product.dims}
        for slot in node.slots():
            if self.wiring.polynomials[name, slot].along is not None:
                found |= set(self.wiring.rule_dims(node, slot))
        return tuple(dim for dim in node.axes if dim in found)

    def exposure(self, name: str, at: At | None = None) -> Formula:
        """The exposure that a node hears: its symbol q, or written out if it goes no further."""
        at = self.index if at is None else at
        if name not in self.passing:
            return self.heard_exposure(name, at)
        indices = [at[dim] for dim in reversed(self.exposure_dims(name))]
        return Formula(Symbol(self._letter("q"), self.marks[name]).at(indices))

    def heard_exposure(self, name: str, at: At | None = None) -> Formula:
        """The exposure that a node hears, added up over its sources."""
        at = self.index if at is None else at
        total = number(0.0)
        for source in self.wiring.sources[name]:
            inner = self._beside(source, at)
            for product in self.wiring.source_exposure(source):
                total = total + self.product(product, inner)
        return total

    def passed_back_exposure(self, node: Node, slot: str, at: At) -> Formula:
        """The exposure that row t+1 of a chain passes back to row t."""
        polynomial, total = self.wiring.polynomials[node.name, slot], number(0.0)
        rest = self.wiring.rule_operand(node, slot)
        for term, own in _lagged(polynomial):
            others = [operand_of(factor, node) for factor in term.factors if factor is not own]
            over = [d for d in (*node.axes, *term.contracted) if d not in own.dims]
            product = reduce_product(term.coefficient, [rest, *others], dict.fromkeys(over))
            inner = {dim: at[name] for dim, name in zip(own.dims, node.axes, strict=True)}
            assert polynomial.along is not None
            inner[polynomial.along] = _shift(at[polynomial.along], 1)
            total = total + self.product(product, inner)
        return total

    def passed(self, node: Node, slot: str, at: At | None = None) -> Formula:
        """The exposure that a node passes to a slot; a symbol if it is drawn or part of a scan."""
        at = self.index if at is None else at
        rule = self.wiring.rules[node.name, slot]
        dims = self.wiring.rule_dims(node, slot)
        indices = [at[dim] for dim in reversed(dims)]
        if rule.drawn is not None and rule.child.__name__ == "Dirichlet":
            return -Formula(rf"\ln {Symbol(self._letter('s'), self.marks[node.name]).at(indices)}")
        if self.wiring.polynomials[node.name, slot].along is not None:
            return Formula(Symbol(r"\zeta", self.marks[node.name]).at(indices))
        return self.traced(node, slot, at) or Formula(
            Symbol(f"{self._letter('q')}'", self.marks[node.name]).at(indices)
        )

    def traced(self, node: Node, slot: str, at: At | None = None) -> Formula | None:
        """What the rule's own code makes of the symbols; None if it cannot be read."""
        rule = self.wiring.rules[node.name, slot]
        if isinstance(rule.exposure, (int, float)):
            return number(float(rule.exposure))
        names = (rule.exposure,) if isinstance(rule.exposure, str) else rule.exposure_reads
        arguments = {name: self.quantity(node, name, at) for name in names}
        if isinstance(rule.exposure, str):
            return arguments[rule.exposure]
        if rule.exposure is None:
            return None
        found = call(rule.exposure, **arguments)
        return found if isinstance(found, Formula) else None

    def quantity(self, node: Node, name: str, at: At | None = None, phase: str = ALWAYS) -> Formula:
        """What a rule may name: value, count, exposure or a slot."""
        if name == "value":
            return self.value(node.name, at)
        if name == "count":
            return self.count(node.name, at)
        if name == "exposure":
            return self.exposure(node.name, at)
        return self.slot(node, name, at, phase)


def _lagged(polynomial: Polynomial) -> list[tuple[Term, object]]:
    return [
        (term, next(factor for factor in term.factors if factor.name == "self"))
        for term in polynomial.terms
        if term.phase == LATER
    ]


def _shift(index: str, by: int) -> str:
    """t → t-1 or t+1."""
    if index == DOT:
        return index
    for sign, value in (("+1", 1), ("-1", -1)):
        if index.endswith(sign) and value + by == 0:
            return index.removesuffix(sign)
    if index.isdigit():
        return str(int(index) + by)
    return f"{index}{by:+d}"
