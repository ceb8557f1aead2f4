"""Reads: which values a draw conditions on, and which it integrates out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from pgbn.network.connections import Connections, Source
from pgbn.network.evidence import Exposures
from pgbn.network.sumproduct import (
    ConstantArray,
    LookedUp,
    NodeValue,
    OperationPart,
    OperationValue,
    OtherEntries,
    OtherLookedUp,
    ReceivedCount,
    RuleCount,
    RuleExposure,
    SumProduct,
    operand_of,
    reduce_product,
)
from pgbn.network.terms import LATER
from pgbn.nodes.base import Latent, Node, Observed
from pgbn.nodes.rules import find_link, names_read


def counts_name(node: str) -> str:
    """The name of the drawn counts of a node, and of the step that draws them."""
    return f"counts({node})"


@dataclass(frozen=True)
class Read:
    """A value that a step conditions on; ``summed`` if only its sum over these dims is used."""

    name: str
    summed: frozenset[str] = frozenset()
    slot: str = ""


class CountsRead(Read):
    """The drawn counts of a node; ``slot`` is the slot that they are evidence about."""


class OthersRead(Read):
    """Other entries of a node than the one that receives the evidence.

    See `pgbn.network.sequential_updates`."""


@dataclass(frozen=True)
class CountDraw:
    """A draw of counts for ``slots``, received by the nodes ``received_by``.

    It is drawn ``given`` these values, and starts from the drawn ``counts``."""

    slots: frozenset[str]
    received_by: frozenset[str]
    given: frozenset[str]
    counts: frozenset[Read]


class Reads:
    """What the evidence of every latent node reads and integrates out."""

    def __init__(self, connections: Connections, exposures: Exposures) -> None:
        self.connections, self.exposures = connections, exposures

    def of_products(self, products: Iterable[SumProduct]) -> set[Read]:
        """The values that sums of products read."""
        reads: set[Read] = set()
        for product in products:
            for operand in product.operands:
                if isinstance(operand, OtherEntries | OtherLookedUp):
                    reads.add(OthersRead(operand.name))
                elif isinstance(operand, OperationValue | OperationPart):
                    reads.add(Read(operand.name))
                elif isinstance(operand, LookedUp) and isinstance(operand.whole, ConstantArray):
                    continue  # given, as a constant is
                elif isinstance(operand, NodeValue | LookedUp):
                    names = dict(zip(operand.dims, operand.own_dims, strict=True))
                    summed = frozenset(names[d] for d in operand.dims if d in product.summed)
                    if isinstance(operand, LookedUp):  # a sum over rows is not a sum over entries
                        summed -= operand.through
                    alone = all(
                        not (set(other.dims) & set(product.summed) & set(operand.dims))
                        for other in product.operands
                        if other is not operand
                    )
                    reads.add(Read(operand.name, summed if alone else frozenset()))
                elif isinstance(operand, RuleExposure):
                    reads |= self.of_exposure(self.connections.nodes[operand.name], operand.slot)
                elif isinstance(operand, RuleCount):
                    rule = self.connections.rules[operand.name, operand.slot]
                    reads |= self.of_names(self.connections.nodes[operand.name], rule.count_reads)
                elif isinstance(operand, ReceivedCount):
                    reads |= self.of_count(operand.name)
        return reads

    def of_exposure(self, child: Node, slot: str) -> set[Read]:
        """The values on which the exposure that ``child`` sends to ``slot`` conditions."""
        rule = self.connections.rules[child.name, slot]
        if rule.drawn is not None:
            return {CountsRead(counts_name(child.name), slot=slot)}
        reads = self.of_names(child, rule.exposure_reads)
        if self.connections.polynomials[child.name, slot].along is not None:
            # the scan multiplies by the other factors of the lagged terms, never by the node
            for term in self.connections.polynomials[child.name, slot].terms:
                if term.phase == LATER:
                    own = next(f for f in term.factors if f.previous)
                    others = [operand_of(f, child) for f in term.factors if f is not own]
                    over = [d for d in (*child.axes, *term.contracted) if d not in own.dims]
                    reads |= self.of_products([reduce_product(1.0, others, over)])
        return reads

    def of_names(self, child: Node, names: Iterable[str]) -> set[Read]:
        """The values on which the quantities that a rule of ``child`` names condition."""
        reads: set[Read] = set()
        for name in names:
            if name == "exposure":
                reads |= self.of_products(self.exposures.received(child.name))
            elif name == "value":
                reads.add(Read(child.name))
            elif name == "count":
                reads |= self.of_count(child.name)
            else:
                reads |= self.of_slot(child, name)
        return reads

    def of_slot(self, node: Node, slot: str) -> set[Read]:
        """The latent values that a slot's value reads."""
        polynomial = self.connections.polynomials[node.name, slot]
        reads = {Read(name) for name in polynomial.names if name in self.connections.sources}
        return reads | ({Read(node.name)} if polynomial.along is not None else set())

    def of_count(self, name: str) -> set[Read]:
        """The drawn counts that add up to the count received by a node."""
        node = self.connections.nodes[name]
        if isinstance(node, Observed):
            link = find_link(node)
            return {CountsRead(counts_name(name), slot=link.slot if link else "")}
        return {
            CountsRead(counts_name(s.child.name), slot=s.slot)
            for s in self.connections.sources[name]
        }

    @cached_property
    def count_draws(self) -> dict[str, list[CountDraw]]:
        """The draws of counts of every node."""
        return {name: self._draws_of(node) for name, node in self.connections.nodes.items()}

    def _draws_of(self, node: Node) -> list[CountDraw]:
        """The draws of counts of one node: by its rules, by its link, and of unknown cells."""
        rules = self.connections.rules_of(node)
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
        polynomials = [self.connections.polynomials[node.name, slot] for slot in slots]
        every = {name for polynomial in polynomials for name in polynomial.names}
        received_by = every - self.connections.by_density
        in_time = any(polynomial.along is not None for polynomial in polynomials)
        if in_time and node.name not in self.connections.by_density and "value" not in names:
            received_by.add(node.name)  # the rows before receive its tables
        counts = self.of_count(node.name) if "count" in names else set()
        given = {read.name for read in self.of_names(node, names)} & self.connections.sources.keys()
        given |= every - received_by  # counts are shared out given the other nodes
        return CountDraw(
            frozenset(slots), frozenset(received_by), frozenset(given), frozenset(counts)
        )

    def of_evidence(self, name: str) -> set[Read]:
        """All values on which the evidence received by a node conditions."""
        reads: set[Read] = set()
        constant = self.connections.draws[name].constant_over_simplex
        constant = constant and not self.exposures.varies_over_simplex(name)
        for source in self.connections.sources[name]:
            if source.rule.is_quadratic:
                reads |= self._of_predictor(source)
                continue
            if source.is_delivered:
                reads.add(CountsRead(counts_name(source.child.name), slot=source.slot))
            else:
                reads |= self.of_products(self.exposures.source_count(source))
            if not constant:  # a constant exposure leaves no trace in a Dirichlet
                reads |= self.of_products(self.exposures.source_exposure(source))
        known = self.connections.sources
        return {read for read in reads if isinstance(read, CountsRead) or read.name in known}

    def _of_predictor(self, source: Source) -> set[Read]:
        """The reads of a linear predictor: its evidence, and all its other nodes."""
        child, rule = source.child, source.rule
        beside = {Read(name) for name in source.polynomial.names if name != source.factor.name}
        if rule.is_random:
            return {CountsRead(counts_name(child.name), slot=source.slot), *beside}
        return self.of_names(child, (*rule.count_reads, *rule.exposure_reads)) | beside

    def of_density(self, name: str) -> set[Read]:
        """All values on which the densities of a node's children condition."""
        reads: set[Read] = set()
        for child in self.connections.children[name].values():
            reads |= {Read(child.name)} if child.name in self.connections.sources else set()
            for slot in child.slots():
                reads |= self.of_slot(child, slot)
        return {read for read in reads if read.name != name}

    def marginalised(self, name: str) -> set[str]:
        """The nodes that the evidence received by a node integrates out."""
        out: set[str] = set()
        for source in self.connections.sources[name]:
            if source.rule.relation == "collapsed" and isinstance(source.child, Latent):
                out |= {source.child.name} | self.marginalised(source.child.name)
        return out
