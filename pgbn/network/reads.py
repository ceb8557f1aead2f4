"""Reads: which values a draw conditions on, and which it integrates out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from pgbn.network.exposures import Exposures
from pgbn.network.sumproduct import SumProduct, operand_of, reduce_product
from pgbn.network.terms import LATER
from pgbn.nodes.base import Latent, Node, Observed
from pgbn.nodes.rules.registry import find_draw, find_link
from pgbn.nodes.rules.types import DrawRule, names_read

__all__ = ["CountDraw", "Read", "Reads"]


@dataclass(frozen=True)
class Read:
    """A value that a step conditions on; ``summed`` if only its sum over these dims is used.
    Of drawn counts, ``slot`` is the slot that they are evidence about."""

    name: str
    summed: frozenset[str] = frozenset()
    slot: str = ""


@dataclass(frozen=True)
class CountDraw:
    """A draw of counts: the ``slots`` that hear of it and the values ``heard_by`` which they are,
    the values that it is drawn ``given``, and the drawn ``counts`` that it starts from."""

    slots: frozenset[str]
    heard_by: frozenset[str]
    given: frozenset[str]
    counts: frozenset[Read]


class Reads(Exposures):
    """What the evidence of every latent node reads and leaves out."""

    @cached_property
    def draws(self) -> dict[str, DrawRule]:
        """The draw rule of every latent node."""
        return {
            name: find_draw(self.nodes[name], sources[0].rule.kind)
            for name, sources in self.sources.items()
        }

    def product_reads(self, products: Iterable[SumProduct]) -> set[Read]:
        """The values that sums of products read."""
        reads: set[Read] = set()
        for product in products:
            for operand in product.operands:
                if operand.kind in ("node", "previous"):
                    names = dict(zip(operand.dims, operand.own_dims, strict=True))
                    summed = frozenset(names[d] for d in operand.dims if d in product.summed)
                    alone = all(
                        not (set(other.dims) & set(product.summed) & set(operand.dims))
                        for other in product.operands
                        if other is not operand
                    )
                    reads.add(Read(operand.name, summed if alone else frozenset()))
                elif operand.kind in ("exposure", "rest"):
                    reads |= self.rule_reads(self.nodes[operand.name], operand.slot)
                elif operand.kind == "rule count":
                    rule = self.rules[operand.name, operand.slot]
                    reads |= self.named_reads(self.nodes[operand.name], rule.count_reads)
                elif operand.kind == "count":
                    reads |= self.count_reads(operand.name)
        return reads

    def rule_reads(self, child: Node, slot: str) -> set[Read]:
        """What the exposure that ``child`` passes to ``slot`` conditions on."""
        rule = self.rules[child.name, slot]
        if rule.drawn is not None:
            return {Read(f"counts({child.name})", slot=slot)}
        reads = self.named_reads(child, rule.exposure_reads)
        if self.polynomials[child.name, slot].along is not None:
            # the scan multiplies by the other factors of the lagged terms, never by the chain
            for term in self.polynomials[child.name, slot].terms:
                if term.phase == LATER:
                    own = next(f for f in term.factors if f.name == "self")
                    others = [operand_of(f, child) for f in term.factors if f is not own]
                    over = [d for d in (*child.axes, *term.contracted) if d not in own.dims]
                    reads |= self.product_reads([reduce_product(1.0, others, over)])
        return reads

    def named_reads(self, child: Node, names: Iterable[str]) -> set[Read]:
        """What the quantities that a rule of ``child`` names condition on."""
        reads: set[Read] = set()
        for name in names:
            if name == "exposure":
                reads |= self.product_reads(self.exposure(child.name))
            elif name == "value":
                reads.add(Read(child.name))
            elif name == "count":
                reads |= self.count_reads(child.name)
            else:
                reads |= self.slot_reads(child, name)
        return reads

    def slot_reads(self, node: Node, slot: str) -> set[Read]:
        """The latent values that a slot's value reads."""
        polynomial = self.polynomials[node.name, slot]
        reads = {Read(name) for name in polynomial.names if name in self.sources}
        return reads | ({Read(node.name)} if polynomial.along is not None else set())

    def count_reads(self, name: str) -> set[Read]:
        """The drawn counts that make up the count heard by a node."""
        node = self.nodes[name]
        if isinstance(node, Observed):
            link = find_link(node)
            return {Read(f"counts({name})", slot=link.slot if link else "")}
        return {Read(f"counts({s.child.name})", slot=s.slot) for s in self.sources[name]}

    @cached_property
    def count_draws(self) -> dict[str, list[CountDraw]]:
        """The draws of counts of every node."""
        return {name: self._draws_of(node) for name, node in self.nodes.items()}

    def _draws_of(self, node: Node) -> list[CountDraw]:
        """The draws of counts of one node: by its rules, by its link, and of unknown cells."""
        rules = self.rules_of(node)
        draws: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
            ((slot,), rule.count_reads) for slot, rule in rules.items() if rule.is_random
        ]
        link = find_link(node) if isinstance(node, Observed) else None
        if link is not None and link.slot in rules:
            hearing = tuple(s for s, rule in rules.items() if "count" in names_read(rule.count))
            draws.append((hearing, rules[link.slot].exposure_reads))  # of unknown cells
            draws.append((hearing, names_read(link.counts)))
        return [self._count_draw(node, slots, names) for slots, names in draws]

    def _count_draw(self, node: Node, slots: tuple[str, ...], names: tuple[str, ...]) -> CountDraw:
        polynomials = [self.polynomials[node.name, slot] for slot in slots]
        heard_by = {name for polynomial in polynomials for name in polynomial.names}
        if any(polynomial.along is not None for polynomial in polynomials):
            heard_by.add(node.name)  # the rows of a chain hear of its tables
        counts = self.count_reads(node.name) if "count" in names else set()
        given = {read.name for read in self.named_reads(node, names)} & self.sources.keys()
        return CountDraw(frozenset(slots), frozenset(heard_by), frozenset(given), frozenset(counts))

    def evidence_reads(self, name: str) -> set[Read]:
        """Everything that the evidence heard by a node conditions on."""
        reads: set[Read] = set()
        constant = self.draws[name].constant_over_simplex
        for source in self.sources[name]:
            if self.is_delivered(source):
                reads.add(Read(f"counts({source.child.name})", slot=source.slot))
            else:
                reads |= self.product_reads(self.source_count(source))
            if not constant:  # a constant exposure leaves no trace in a Dirichlet
                reads |= self.product_reads(self.source_exposure(source))
        return {read for read in reads if read.name in self.sources or "(" in read.name}

    def marginalised(self, name: str) -> set[str]:
        """The nodes that the evidence heard by a node integrates out."""
        out: set[str] = set()
        for source in self.sources[name]:
            if source.rule.relation == "collapsed" and isinstance(source.child, Latent):
                out |= {source.child.name} | self.marginalised(source.child.name)
        return out
