"""Notation: slots, counts and exposures of a concrete network as formulas with indices.

The objects that the sampler is compiled from (`pgbn.network.wiring`) are walked here, and exposures
are written by the rules' own code, so that the text cannot drift from what is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pgbn.explain.algebra import Formula, call, numeral, ratio
from pgbn.explain.names import Symbol
from pgbn.explain.operands import (
    in_first_rows,
    in_later_rows,
    operand_formula,
    pairs_in_signs,
    takes_a_dot,
)
from pgbn.explain.readers import entry_mark, over, readers_beside, weight_of
from pgbn.explain.symbols import DOT, At, Phase, Symbols, in_phase, shift
from pgbn.network.connections import Source
from pgbn.network.sumproduct import SumProduct, operand_of, reduce_product
from pgbn.network.terms import FIRST, LATER, Factor, Polynomial, Term
from pgbn.nodes.base import Node, Observed

__all__ = ["Notation"]


class Notation(Symbols):
    """Symbols, and what is built from them."""

    def is_bare(self, node: Node) -> bool:
        """Whether a node is given and what stands in its slots is left out."""
        return node.name in self.network.held and not self.network.above

    # ---- slots ------------------------------------------------------------------------

    def slot(self, node: Node, slot: str, at: At | None = None, phase: Phase = None) -> Formula:
        """The value of a slot; in a chain, that of the first or the later rows."""
        total = numeral(0.0)
        for term in self.wiring.polynomials[node.name, slot].terms:
            if phase is None or in_phase(term, phase):
                total = total + self.term(node, term, at)
        return total

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
        found = numeral(0.0)
        for product in self.wiring.exposures.named_sum(slot, node, dims):
            found = found + self.product(product, self.index)
        return found

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
            elif len(holders) == 1 and takes_a_dot(holders[0]):
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
        body = numeral(1.0)
        for part in parts:
            body = body * part
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
        """The count that a node hears: its symbol m, or written out if it goes no further."""
        at = self.index if at is None else at
        node = self.network.nodes[name]
        if isinstance(node, Observed):
            return self.cells(node, at)
        if name not in self.passing:
            return self.heard_count(name, at)
        indices = [at[dim] for dim in reversed(node.axes)]
        return Formula(Symbol(self.letter("m"), self.marks[name]).at(indices))

    def heard_count(self, name: str, at: At | None = None) -> Formula:
        """The count that a node hears, added up over its sources."""
        at = self.index if at is None else at
        total = numeral(0.0)
        for source in self.wiring.sources[name]:
            total = total + self._source_count(source, at)
        return total

    def _source_count(self, source: Source, at: At) -> Formula:
        inner, readers = readers_beside(self, source, at)
        if not source.is_delivered:
            total = numeral(0.0)
            for product in self.wiring.exposures.source_count(source):
                total = total + over(readers, self.product(product, inner))
            return total
        dims = (*source.child.axes, *source.term.contracted)
        dotted = {dim: inner.get(dim, DOT) for dim in dims}
        row = source.polynomial.along
        if row is not None and source.term.phase == FIRST and dotted[row] == DOT:
            several, index = source.term.lag > 1, self.free(row, dotted.values())
            dotted[row] = index if several else "1"
            readers = rf"{index} \le {source.term.lag}" if several else readers
        mark = entry_mark(self, source, at)
        return over(readers, self.split(source.child, source.slot, source.term, dotted, mark))

    def computed_count(self, node: Node, slot: str, at: At | None = None) -> Formula:
        """A count that a rule computes without drawing."""
        rule = self.wiring.rules[node.name, slot]
        arguments = {name: self.quantity(node, name, at) for name in rule.count_reads}
        found = call(rule.count, **arguments)
        return found if isinstance(found, Formula) else Formula(
            Symbol(f"{self.letter('m')}'", self.marks[node.name]).at()
        )  # fmt: skip

    def passed_back_count(self, node: Node, slot: str, at: At) -> Formula:
        """What row t + lag of a chain passes back to row t."""
        polynomial, total = self.wiring.polynomials[node.name, slot], numeral(0.0)
        for term, own in _lagged(polynomial):
            inner = dict.fromkeys((*node.axes, *term.contracted), DOT)
            inner |= _next_row(node, polynomial, own, at)
            total = total + self.split(node, slot, term, inner)
        return total

    def is_law(self, name: str) -> bool:
        """Whether the count that a node hears is Poisson given its value. Of a Dirichlet's tables
        and of multinomial data that is so as a function of the value only."""
        return all(
            source.rule.drawn is None
            and not source.rule.normalised
            and (isinstance(source.child, Observed) or self.is_law(source.child.name))
            for source in self.wiring.sources[name]
        )

    # ---- exposures --------------------------------------------------------------------

    def exposure_dims(self, name: str) -> tuple[str, ...]:
        """The dims of the exposure that a node hears."""
        node = self.network.nodes[name]
        found = self.wiring.exposures.heard_dims(name)
        for slot in node.slots():
            if self.has_lag(node, slot):
                found |= set(self.wiring.exposures.rule_dims(node, slot))
        return tuple(dim for dim in node.axes if dim in found)

    def exposure(self, name: str, at: At | None = None) -> Formula:
        """The exposure that a node hears: its symbol q, or written out if it goes no further."""
        at = self.index if at is None else at
        return self.exposure_symbol(name, at) if name in self.passing else (
            self.heard_exposure(name, at))  # fmt: skip

    def exposure_symbol(self, name: str, at: At | None = None) -> Formula:
        """q, with the mark of the node that hears it."""
        at = self.index if at is None else at
        indices = [at[dim] for dim in reversed(self.exposure_dims(name))]
        mark = self.marks[name] if name in self.passing else f"({self.symbols[name].at()})"
        return Formula(Symbol(self.letter("q"), mark).at(indices))

    def heard_exposure(self, name: str, at: At | None = None) -> Formula:
        """The exposure that a node hears, added up over its sources."""
        at = self.index if at is None else at
        total = numeral(0.0)
        for source in self.wiring.sources[name]:
            for product in self.wiring.exposures.source_exposure(source):
                inner, readers = readers_beside(self, source, at)
                weight = weight_of(self, source, at, inner)
                total = total + over(readers, weight * self.product(product, inner))
        return total

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
