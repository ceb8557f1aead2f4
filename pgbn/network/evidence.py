"""Evidence: what every latent node receives, which values that reads and which it integrates out.

An exposure says how much a count was exposed to the value that it is evidence about. Exposures are
derived from the graph as sums of products with given dims, before any array exists.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from pgbn.network.connections import Connections, Source
from pgbn.network.sumproduct import (
    ConstantArray,
    LookedUp,
    NodeValue,
    Operand,
    OperationPart,
    OperationValue,
    OtherEntries,
    OtherLookedUp,
    ReceivedCount,
    RuleCount,
    RuleExposure,
    SumProduct,
    TimeExposure,
    first_row,
    operand_of,
    reduce_product,
)
from pgbn.network.terms import LATER, Factor, Polynomial
from pgbn.nodes.base import Latent, Node, Observed
from pgbn.nodes.rules import find_link, names_read


class Exposures:
    """The exposures that every latent node will receive."""

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        self._received: dict[Source, tuple[SumProduct, ...]] = {}  # a cache

    def received(self, name: str) -> tuple[SumProduct, ...]:
        """The exposure that a latent node receives, one sum of products for each source."""
        return tuple(
            product
            for source in self.connections.sources[name]
            for product in self.source_exposure(source)
        )

    def received_dims(self, name: str) -> set[str]:
        """The dims of a node, by its own names, along which its exposure varies."""
        return {
            dim
            for source in self.connections.sources[name]
            for product in self.source_exposure(source)
            for dim in source.dims_of(product.dims)
        }

    def varies_over_simplex(self, name: str) -> bool:
        """Whether a node that sums to one receives an exposure that varies between its entries.

        It is then drawn with pseudo-counts that complete it, see `Wiring.completed`."""
        return not self.received_dims(name).isdisjoint(self.connections.nodes[name].sums_over)

    def passed_back_dims(self, child: Node, slot: str) -> set[str]:
        """The dims of the exposure that a row sends to the row before."""
        polynomial = self.connections.polynomials[child.name, slot]
        return self._time_dims(child, polynomial, set(self.rule_dims(child, slot)))

    def source_exposure(self, source: Source) -> tuple[SumProduct, ...]:
        """The exposure that comes through one source; its dims have the child's names."""
        if source not in self._received:
            self._received[source] = self._source_exposure(source)
        return self._received[source]

    def _source_exposure(self, source: Source) -> tuple[SumProduct, ...]:
        rule, child, term = source.rule, source.child, source.term
        others = tuple(_other_factor(source, f) for f in term.factors if f is not source.factor)
        over = self._over(source)
        if isinstance(rule.exposure, (int, float)):
            coefficient = term.coefficient * rule.exposure
            others = (*first_row(child, source.polynomial, term), *others)
            return (reduce_product(coefficient, others, over),) if coefficient else ()
        if isinstance(rule.exposure, str):
            return self.named_sum(rule.exposure, child, over, others, term.coefficient)
        operand = self.rule_operand(child, source.slot, term.phase, term.lag)
        return (reduce_product(term.coefficient, (operand, *others), over),)

    def source_count(self, source: Source) -> tuple[SumProduct, ...]:
        """The count that comes through one source and is computed when it is read."""
        rule, child, over = source.rule, source.child, self._over(source)
        if rule.count == "count":
            own: Operand = ReceivedCount(name=child.name, dims=child.axes)
            return (reduce_product(1.0, (own,), over),)
        if isinstance(rule.count, str):
            return self.named_sum(rule.count, child, over)
        dims = self.named_dims(child, rule.count_reads)
        ordered = tuple(dim for dim in child.axes if dim in dims)
        own = RuleCount(name=child.name, dims=ordered, slot=source.slot)
        return (reduce_product(1.0, (own,), over),)

    def named_sum(
        self,
        name: str,
        child: Node,
        over: Iterable[str],
        others: tuple[Operand, ...] = (),
        coefficient: float = 1.0,
    ) -> tuple[SumProduct, ...]:
        """``child``'s value, or one of its slots, times other operands, summed over dims."""
        if name == "value":
            own = NodeValue(
                name=child.name, dims=child.axes, simplex=child.sums_over, own_dims=child.axes
            )
            return (reduce_product(coefficient, (own, *others), over),)
        polynomial = self.connections.polynomials[child.name, name]
        return tuple(
            reduce_product(
                coefficient * term.coefficient,
                (*(operand_of(factor, child) for factor in term.factors),
                 *first_row(child, polynomial, term), *others),
                (*over, *term.contracted),
            )
            for term in polynomial.terms
        )  # fmt: skip

    def _over(self, source: Source) -> tuple[str, ...]:
        """The dims that are summed on the way from the child's cells to the parent's entries."""
        every = dict.fromkeys((*source.child.slot_axes(source.slot), *source.term.contracted))
        return tuple(dim for dim in every if dim not in source.factor.dims)

    def rule_operand(self, child: Node, slot: str, phase: str = "", lag: int = 1) -> Operand:
        """The exposure that ``child`` sends to ``slot``, before it is spread over factors."""
        dims = self.rule_dims(child, slot)
        if self.connections.polynomials[child.name, slot].along is not None:
            return TimeExposure(name=child.name, dims=dims, slot=slot, phase=phase, lag=lag)
        return RuleExposure(name=child.name, dims=dims, slot=slot)

    def rule_dims(self, child: Node, slot: str) -> tuple[str, ...]:
        """The dims of the exposure that ``child`` sends to ``slot``."""
        rule = self.connections.rules[child.name, slot]
        polynomial = self.connections.polynomials[child.name, slot]
        if rule.drawn is not None:
            return tuple(rule.drawn(child))  # also in time: without what a row passes back
        dims: set[str] = {polynomial.along} if polynomial.along else set()
        dims |= self.named_dims(child, rule.exposure_reads)
        if polynomial.along is not None:
            dims |= self._time_dims(child, polynomial, dims)
        return tuple(dim for dim in child.axes if dim in dims)

    def named_dims(self, child: Node, names: Iterable[str]) -> set[str]:
        """The dims of the result that a rule of ``child`` makes from the named quantities."""
        dims: set[str] = set()
        for name in names:
            if name == "exposure":
                dims |= self.received_dims(child.name)
            elif name in ("value", "count"):
                dims |= set(child.axes)
            else:
                dims |= self.slot_dims(child, name)
        return dims

    def _time_dims(self, child: Node, polynomial: Polynomial, dims: set[str]) -> set[str]:
        """The dims that the rows of a node in time add to the exposure of each other."""
        added: set[str] = set()
        for _ in child.axes:
            base = Operand(name=child.name, dims=tuple(dims | added))
            for term in polynomial.terms:
                own = [factor for factor in term.factors if factor.previous]
                if own:
                    others = [operand_of(f, child) for f in term.factors if f is not own[0]]
                    every = dict.fromkeys((*child.axes, *term.contracted))
                    over = [dim for dim in every if dim not in own[0].dims]
                    product = reduce_product(1.0, [base, *others], over)
                    back = dict(zip(own[0].dims, child.axes, strict=True))
                    added |= {back[dim] for dim in product.dims}
        return added

    def slot_dims(self, node: Node, slot: str) -> set[str]:
        """The dims along which a slot's value varies."""
        terms = self.connections.polynomials[node.name, slot].terms
        dims = {dim for term in terms for dim in term.dims if dim not in term.contracted}
        along = self.connections.polynomials[node.name, slot].along
        return dims | ({along} if along else set())


def _other_factor(source: Source, factor: Factor) -> Operand:
    """Another factor of a term. If it is the same node, it reads other entries of it."""
    mine, its = source.factor.through, factor.through
    if mine is not None and its is not None and mine.operation is its.operation:
        return OperationPart(name=factor.name, dims=())
    operand = operand_of(factor, source.child)
    if factor.name != source.factor.name:
        return operand
    if isinstance(operand, LookedUp):
        return OtherLookedUp(**vars(operand))
    return OtherEntries(**vars(operand)) if type(operand) is NodeValue else operand


# ---- reads ----------------------------------------------------------------------------------


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
