"""Exposures: how much each count was exposed to the value that it is evidence about.

They are derived from the graph as sums of products with given dims, before any array exists.
"""

from __future__ import annotations

from collections.abc import Iterable

from pgbn.network.connections import Connections, Source
from pgbn.network.sumproduct import (
    LookedUp,
    NodeValue,
    Operand,
    OperationPart,
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
from pgbn.network.terms import Factor, Polynomial
from pgbn.nodes.base import Node


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
