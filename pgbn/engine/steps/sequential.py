"""Entries drawn in turn by the rules, one by one: the reference for the kernels.

    for i = 1, 2, …:  a_i ~ p(a_i | φ_{−i}),  φ_i ~ p(φ_i | a_i, φ_{−i})

where φ_{−i} are the new entries before i and the old ones after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.composed import check_posterior
from pgbn.engine.compile.layout import Aligned, Labelled, Shape4, added, align, shape4
from pgbn.engine.compile.products import compile_product, relation_holds
from pgbn.engine.compile.program import Program
from pgbn.engine.plan import Draw, Run, maker
from pgbn.engine.steps.sequential_gammas import check_loops, sequential_gammas
from pgbn.network.sumproduct import Operand, PairMask, RuleExposure, SumProduct
from pgbn.nodes.base import Node, draw_node
from pgbn.samplers.random import Stream, stream_key

if TYPE_CHECKING:
    from pgbn.network.connections import Source
    from pgbn.network.sequential_updates import InTurn


# ---- entry --------------------------------------------------------------------------------------
#
# One entry of a node, and what it hears, slots and evidence, as arrays beside that entry.
#
# An entry is a part of size 1 along one dim, which has another name in every slot that the node
# stands in. What is read along that dim is cut to the entry; all else is as for the whole node.


@dataclass(frozen=True, eq=False, kw_only=True)
class _Partners(Operand):
    """1 at the entries of one of two dims that are in a relation with the present one."""

    relation: str


class Entry:
    """The entry ``now`` of the nodes that are drawn together in turn."""

    def __init__(self, program: Program, sequential: InTurn) -> None:
        self.program, self.members, self.now = program, sequential.members, 0
        self.size = program.sizes[sequential.dim]

    def shape4(self, name: str) -> Shape4:
        """The 4-d shape of an entry of a node."""
        sizes = self.program.sizes | {self.members[name]: 1}
        return shape4(self.program.storage[name], sizes, self.program.replicates)

    def put(self, name: str, drawn: NDArray[Any]) -> None:
        """Replace the entry of a node by a new value. What reads arrays may have kept them: the
        old one stays as it is."""
        value = self.program.values[name].copy()
        part = self.cut(name, value)
        part[...] = drawn.reshape(part.shape)
        self.program.values[name] = value

    def cut(self, name: str, value: NDArray[Any]) -> NDArray[Any]:
        """The entry of an array like a node's value, as a view."""
        return value[self._where(self.program.storage[name], self.members[name])]

    def quantity(self, node: Node, name: str) -> Aligned:
        """What a rule may name, beside an entry: count, exposure, value or a slot."""
        own = node.name
        if name == "exposure":
            products = self.program.wiring.exposures.source_exposure
            sources = self.program.wiring.sources[own]
            return added([part for s in sources for part in self._through(s, products(s))])
        if name == "count":
            return self._count(node)
        exposures = self.program.wiring.exposures
        dim = self.members[own]
        return added([
            self._beside(own, self._product(product, dim))
            for product in exposures.named_sum(name, node, ())
        ])  # fmt: skip

    def _count(self, node: Node) -> Aligned:
        program, name = self.program, node.name
        parts, children = list[Aligned](), dict[str, None]()
        for source in program.wiring.sources[name]:
            if source.is_delivered:
                children[source.child.name] = None
            else:
                parts += self._through(source, program.wiring.exposures.source_count(source))
        for child in children:
            whole = Labelled(lambda child=child: program.counts[child, name],  # type: ignore[misc]
                             program.storage[name], program.replicates)  # fmt: skip
            parts.append(self._beside(name, self._cut(whole, self.members[name])))
        return added(parts)

    def _through(self, source: Source, products: Iterable[SumProduct]) -> list[Aligned]:
        name, own = source.factor.name, source.own
        if source.factor.lookups:  # of all entries at once
            return [
                self._beside(name, self._cut(whole, self.members[name]))
                for whole in self.program.received_through(source, products)
            ]
        here = next(dim for dim, mine in own.items() if mine == self.members[name])
        received = [self._product(product, here) for product in products]
        return [
            self._beside(name, replace(each, dims=tuple(own[dim] for dim in each.dims)))
            for each in received
        ]

    def _beside(self, name: str, labelled: Labelled) -> Aligned:
        sizes = self.program.sizes | {self.members[name]: 1}
        get = align(labelled, self.program.storage[name], sizes)
        constant = labelled.value is not None
        return Aligned(get, frozenset(labelled.dims), labelled.replicates, constant)

    def _product(self, product: SumProduct, dim: str) -> Labelled:
        """A sum of products at one entry of ``dim``."""
        sizes = self.program.sizes | {dim: 1}
        operands = tuple(
            _Partners(name="", dims=each.dims, relation=each.relation)
            if isinstance(each, PairMask) and dim in each.dims
            else each
            for each in product.operands
        )
        product = replace(product, operands=operands)
        return compile_product(product, lambda operand: self._read(operand, dim), sizes)

    def _read(self, operand: Operand, dim: str) -> Labelled:
        if isinstance(operand, _Partners):
            return self._partners(operand, dim)
        if isinstance(operand, RuleExposure) and operand.name in self.members:
            return self._passed(operand)
        return self._cut(self.program.read(operand), dim)

    def _passed(self, operand: RuleExposure) -> Labelled:
        """The exposure that an entry of a node passes to its slot, computed now."""
        program = self.program
        child = program.network.nodes[operand.name]
        rule = program.wiring.rules[operand.name, operand.slot]
        if rule.drawn is not None:
            return self._cut(program.read(operand), self.members[operand.name])
        function = rule.exposure
        assert callable(function)
        parts = {name: self.quantity(child, name) for name in rule.exposure_reads}
        whole = added(list(parts.values()))
        dims = tuple(dim for dim in program.storage[child.name] if dim in whole.dims)
        sizes = program.sizes | {self.members[operand.name]: 1}
        shape = (whole.replicates, *(sizes[dim] for dim in dims))

        def get() -> NDArray[Any]:
            result = function(**{name: part.get() for name, part in parts.items()})
            return np.asarray(result, np.float64).reshape(shape)

        return Labelled(get, dims, whole.replicates)

    def _partners(self, operand: _Partners, dim: str) -> Labelled:
        other = operand.dims[operand.dims[0] == dim]
        numbers = np.arange(self.program.sizes[other])

        def get() -> NDArray[Any]:
            now = np.full(1, self.now)
            pair = (now, numbers) if operand.dims[0] == dim else (numbers, now)
            return relation_holds(operand.relation, *pair).astype(np.float64)[None]

        return Labelled(get, (other,), 1)

    def _cut(self, whole: Labelled, dim: str) -> Labelled:
        """An array cut to the entry, if it has the dim."""
        if dim not in whole.dims:
            return whole
        get: Callable[[], NDArray[Any]] = whole.get
        return replace(whole, get=lambda: np.ascontiguousarray(get()[self._where(whole.dims, dim)]))

    def _where(self, dims: tuple[str, ...], dim: str) -> tuple[slice, ...]:
        now = slice(self.now, self.now + 1)
        return (slice(None), *(now if each == dim else slice(None) for each in dims))


# ---- sequential ---------------------------------------------------------------------------------


@maker("in turn", Draw)
def draw_sequential(program: Program, task: Draw) -> Run | None:
    """The function that draws the entries of a node one after another, given a key."""
    sequential = program.wiring.connections.sequential.get(task.node.name)
    if sequential is None:
        return None
    check_loops(program, sequential)
    fast = sequential_gammas(program, sequential) if program.kernels else None
    if fast is not None:
        return fast
    entry = Entry(program, sequential)
    draws = [draw_entry(program, entry, program.network.nodes[name]) for name in sequential.members]

    def run(key: int) -> None:
        for now in range(entry.size):
            entry.now = now
            for number, draw in enumerate(draws):
                draw(stream_key(key, now, number))

    return run


def draw_entry(program: Program, entry: Entry, node: Node) -> Callable[[int], None]:
    """The function that draws the present entry of a node."""
    posterior = program.wiring.draws[node.name].posterior
    needed = {name: entry.quantity(node, name).get for name in signature(posterior).parameters}
    slots = {slot: entry.quantity(node, slot).get for slot in node.slots()}
    received, shape = program.received_from(node.name), entry.shape4(node.name)
    simplex = program.stream(node.name, 0).simplex

    def draw(key: int) -> None:
        updated: Any = posterior(**{name: get() for name, get in needed.items()})
        check_posterior(node, updated, received)
        kept = {slot: get() for slot, get in slots.items() if slot not in updated}
        stream = Stream(key, shape, program.executor, simplex)
        entry.put(node.name, draw_node(node, stream, shape, {**updated, **kept}))

    return draw
