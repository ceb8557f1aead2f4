"""The program: the arrays of a network for given sizes, and functions that read them.

It holds the state of a chain (values, counts) and gives slots, counts and exposures as functions
on arrays; `pgbn.engine.plan` makes the steps of a sampler from them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping
from dataclasses import replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.beside import Beside, added
from pgbn.engine.compile.layout import Labelled, align, labelled_number, shape4, storage_order
from pgbn.engine.compile.lookups import View
from pgbn.engine.compile.operands import read_operand
from pgbn.engine.compile.operations import Operations
from pgbn.engine.compile.pool import Pool
from pgbn.engine.compile.products import compile_product
from pgbn.engine.data.cells import Cells
from pgbn.network.connections import Source
from pgbn.network.sumproduct import NodeValue, Operand, SumProduct
from pgbn.network.terms import Factor, Lookup
from pgbn.nodes.base import Node, Observed
from pgbn.nodes.rules.registry import find_link
from pgbn.nodes.rules.results import checked_rule
from pgbn.samplers.executor import SERIAL, Executor, in_memory
from pgbn.samplers.stream import Stream

if TYPE_CHECKING:
    from pgbn.engine.first_layer.base import FirstLayer
    from pgbn.engine.shards.crew import Crew
    from pgbn.network.network import Network

__all__ = ["Program"]


class Program:
    """Arrays, and functions that read them. ``values[name]`` has the shape (R, *storage order)."""

    def __init__(
        self,
        network: Network,
        cells: Mapping[str, Cells],
        sizes: Mapping[str, int],
        replicates: int = 1,
        executor: Executor = SERIAL,
        shared: Collection[str] = (),
        indexes: Mapping[str, NDArray[np.int64]] | None = None,
    ) -> None:
        """``shared`` are nodes whose one value all replicates read; ``indexes`` the numbers of
        categories, (R, *dims), where each replicate has its own."""
        self.network, self.wiring, self.cells = network, network.wiring, dict(cells)
        self.sizes, self.replicates, self.executor = dict(sizes), replicates, executor
        self.indexes = {n: a[None] for n, a in network.indexes.items()} | dict(indexes or {})
        self.storage = {n.name: storage_order(self.wiring, n) for n in network}
        self.storage |= {name: network.nodes[name].axes for name in network.observed}
        self._row_dims = {dim for node in network.observed for dim in self.storage[node][:1]}
        copies = {name: 1 if name in shared else replicates for name in self.storage}
        self.shape4 = {n: shape4(d, self.sizes, copies[n]) for n, d in self.storage.items()}
        self.shape = {name: (copies[name], *(self.sizes[dim] for dim in dims))
                      for name, dims in self.storage.items()}  # fmt: skip
        self.pool = Pool(getattr(executor, "empty", np.empty))
        self.values: MutableMapping[str, NDArray[np.float64]] = {}
        self.counts: MutableMapping[tuple[str, str], NDArray[Any]] = {}  # integers
        self.latent_counts: MutableMapping[str, NDArray[np.int64]] = {}
        self.drawn: MutableMapping[tuple[str, str], NDArray[np.float64]] = {}
        self.crew: Crew | None = None  # those who work on rows, where others do
        self.by_rows = True  # whether the step that is being made can draw a part of the rows
        self.kernels = True  # False: general rules only, the reference for the kernels
        self.first_layers: dict[str, FirstLayer] = {}  # samplers of observed nodes, by name
        self._exposures: dict[str, Beside] = {}
        self._views: dict[tuple[Any, ...], View] = {}
        self.operations = Operations(self)
        self._totals: dict[tuple[str, ...], tuple[ref[Any], NDArray[Any]]] = {}

    def stream(self, name: str, key: int) -> Stream:
        """The stream of one draw of a node."""
        node = self.network.nodes[name]
        shape, stored = self.shape4[name], self.storage[name]
        first = len(shape) - len(stored)
        axes = tuple(first + stored.index(dim) for dim in node.sums_over) or (len(shape) - 1,)
        return Stream(key, shape, self.executor_for(stored), axes if len(axes) > 1 else axes[0])

    def executor_for(self, dims: Iterable[str]) -> Executor:
        """What works on an array of some dims: one without rows is in memory."""
        return self.executor if self._row_dims.intersection(dims) else in_memory(self.executor)

    # ---- reading quantities -----------------------------------------------------------

    def read(self, operand: Operand) -> Labelled:
        """The array behind an operand."""
        return read_operand(operand, self)

    def product(self, product: SumProduct) -> Labelled:
        """A sum of products, compiled."""
        first, *rest = product.operands or (None,)
        if type(first) is NodeValue and not rest:
            if first.name in self.cells:
                return self._data_total(product)
            if product.summed:
                return self._node_total(product, first)
        rows = self.executor_for(dim for each in product.operands for dim in each.dims)
        return compile_product(product, self.read, self.sizes, rows)

    def keep_total(self, name: str, dim: str, total: NDArray[Any]) -> None:
        """Tell the sum over a dim of the present value of a node, computed on the way."""
        self._totals[name, dim] = (ref(self.values[name]), total)

    def _node_total(self, product: SumProduct, operand: NodeValue) -> Labelled:
        """A node summed over dims. The sum is kept until the node is drawn again: what is summed
        is asked for twice, as the shape of one node and in the exposure of another."""
        once = replace(product, coefficient=1.0, repeated=())
        total = compile_product(once, self.read, self.sizes, self.executor_for(operand.dims))
        own = dict(zip(operand.dims, operand.own_dims, strict=True))
        key = (operand.name, *(own[dim] for dim in product.summed))
        scale = product.coefficient * prod(self.sizes[dim] for dim in product.repeated)
        values, kept = self.values, self._totals

        def get() -> NDArray[Any]:
            value = values[operand.name]
            if key not in kept or kept[key][0]() is not value:
                kept[key] = (ref(value), total.get())
            result = kept[key][1]
            return result if scale == 1.0 else result * scale

        return Labelled(get, total.dims, total.replicates)

    def _data_total(self, product: SumProduct) -> Labelled:
        name, dims = product.operands[0].name, product.dims
        scale = product.coefficient

        def get() -> NDArray[Any]:
            cells = self.cells[name]
            return cells.total(cells.values, dims) * scale

        return Labelled(get, dims, self.replicates)

    def _align(self, node: str, labelled: Labelled) -> Beside:
        get = align(labelled, self.storage[node], self.sizes)
        constant = labelled.value is not None
        return Beside(get, frozenset(labelled.dims), labelled.replicates, constant)

    def slot(self, name: str, slot: str) -> Beside:
        """The value of a slot beside its node."""
        node = self.network.nodes[name]
        products = self.wiring.exposures.named_sum(slot, node, ())
        return added([self._align(name, self.product(product)) for product in products])

    def exposure(self, name: str) -> Beside:
        """The exposure that a node hears."""
        if name not in self._exposures:
            parts: list[Beside] = []
            for source in self.wiring.sources[name]:
                parts += self.through(source, self.wiring.exposures.source_exposure(source))
            self._exposures[name] = added(parts)
        return self._exposures[name]

    def through(self, source: Source, products: Iterable[SumProduct]) -> list[Beside]:
        """What comes through a source, beside the node that hears it: the factor of a term names
        the dims as the child does, the node has names of its own for them."""
        heard = self.heard_through(source, products)
        return [self._align(source.factor.name, each) for each in heard]

    def heard_through(self, source: Source, products: Iterable[SumProduct]) -> list[Labelled]:
        """The same, with the dims that it has by the names of the node."""
        factor, own = source.factor, source.own
        parts = [self.product(product) for product in products]
        heard = [replace(each, dims=tuple(own[dim] for dim in each.dims)) for each in parts]
        if factor.through is not None:
            operation = self.operations.of(factor.through.operation)
            return [operation.heard(factor.through.slot, each) for each in heard]
        if not factor.lookups:
            return heard
        view = self.view(factor.lookups, self.storage[factor.name])
        return [view.heard(each) for each in heard]

    def view(self, lookups: tuple[Lookup, ...], stored: tuple[str, ...]) -> View:
        """What is seen of an array of the dims ``stored`` through categories."""
        if (lookups, stored) not in self._views:
            self._views[lookups, stored] = View(lookups, stored, self.sizes, self.indexes)
        return self._views[lookups, stored]

    def keep_counts(self, child: str, factor: Factor, counts: NDArray[Any], more: bool) -> None:
        """Keep the counts that ``child`` gives to a factor of its slot, ``more`` to those that it
        was given; what was read through categories hears them entry by entry."""
        if factor.lookups:
            counts = self.view(factor.lookups, self.storage[factor.name]).counts(counts)
        pair = (child, factor.name)
        self.counts[pair] = self.counts[pair] + counts if more else counts

    def heard_count(self, name: str) -> Beside:
        """The count that a node hears, from all sources."""
        node = self.network.nodes[name]
        assert not isinstance(node, Observed), "the counts of data are sparse"
        parts: list[Beside] = []
        children: dict[str, None] = {}
        for source in self.wiring.sources.get(name, ()):  # what is given hears nothing
            if source.is_delivered:
                children[source.child.name] = None
            else:
                parts += self.through(source, self.wiring.exposures.source_count(source))
        for child in children:
            get = partial(self._delivered, child, name)
            parts.append(Beside(get, frozenset(node.axes), self.replicates, False))
        return added(parts)

    def heard_from(self, name: str) -> tuple[str, ...]:
        """The slots from which a node hears, for messages."""
        sources = self.wiring.sources[name]
        return tuple(f"{type(s.child).__name__}.{s.slot} of {s.child.name}" for s in sources)

    def _delivered(self, child: str, name: str) -> NDArray[np.int64]:
        """The counts that a child's step gave to a node, beside the node."""
        return self.counts[child, name].reshape(self.shape4[name])

    def labelled(self, node: Node, aligned: Beside) -> Labelled:
        """Back from 4-d to an array with the dims that it really has."""
        dims = tuple(dim for dim in self.storage[node.name] if dim in aligned.dims)
        shape = (aligned.replicates, *(self.sizes[dim] for dim in dims))
        get = aligned.get
        if aligned.is_number:
            return labelled_number(float(np.asarray(get()).item()))
        return Labelled(lambda: get().reshape(shape), dims, aligned.replicates)

    def rule_exposure(self, child: Node, slot: str) -> Labelled:
        """The exposure that ``child`` passes to ``slot``."""
        rule = self.wiring.rules[child.name, slot]
        if rule.drawn is not None:
            dims = tuple(d for d in self.storage[child.name] if d in rule.drawn(child))
            pair = (child.name, slot)
            shape = (self.replicates, *(self.sizes[dim] for dim in dims))
            return Labelled(lambda: self.drawn[pair].reshape(shape), dims, self.replicates)
        assert callable(rule.exposure)
        return self.computed(child, slot, rule.exposure, rule.exposure_reads)

    def known_only(self, node: Node, slot: str, result: Any) -> Any:
        """What a rule tells a slot, with 0 at the cells whose data are missing: imputed counts
        speak to the slot that they come from, and to no other."""
        cells, link = self.cells.get(node.name), find_link(node)
        if cells is None or cells.missing is None or link is None or link.slot == slot:
            return result
        return np.where(cells.dense(cells.missing).reshape(self.shape4[node.name]), 0, result)

    def computed(
        self, child: Node, slot: str, function: Callable[..., Any], names: tuple[str, ...]
    ) -> Labelled:
        """What a function of a rule for a slot makes from the quantities that it names."""
        parts = {name: self.quantity(child, name) for name in names}
        whole = added(list(parts.values()))  # varies along the same dims
        along = {d: self.sizes[d] if d in whole.dims else 1 for d in self.storage[child.name]}
        shape = () if whole.is_number else shape4(tuple(along), along, whole.replicates)
        read = checked_rule(function, child, slot, shape)

        def get() -> Any:
            return self.known_only(child, slot, read(**{n: p.get() for n, p in parts.items()}))

        return self.labelled(child, replace(whole, get=get))

    def quantity(self, node: Node, name: str) -> Beside:
        """What a rule may name: value, count, exposure or a slot, beside the node."""
        own, shape = node.name, self.shape4[node.name]

        def everywhere(get: Callable[[], NDArray[Any]]) -> Beside:
            dims = frozenset(node.axes)
            return Beside(lambda: get().reshape(shape), dims, self.replicates, False)

        data = isinstance(node, Observed)
        if name == "count" and data:
            return everywhere(lambda: self.cells[own].dense(self.latent_counts[own]))
        if name == "value":
            return everywhere(lambda: self.cells[own].dense() if data else self.values[own])
        if name == "count":
            return self.heard_count(node.name)
        if name == "exposure":
            return self.exposure(node.name)
        return self.slot(node.name, name)

    def at_cells(self, node: Observed, slot: str, cells: Cells) -> Any:
        """A slot's value at every cell of the data, as a 4-d column."""
        total: Any = 0.0
        for product in self.wiring.exposures.named_sum(slot, node, ()):
            labelled = self.product(product)
            if labelled.value is not None:
                total = total + labelled.value
            else:
                flat = labelled.get().reshape(-1)
                total = total + flat[cells.positions(labelled.dims, labelled.replicates)]
        column = np.broadcast_to(np.asarray(total, np.float64), (cells.values.size,))
        return column.reshape(1, 1, -1, 1)

    def is_in_time(self, name: str) -> bool:
        """Whether a node depends on its own row before."""
        return self.wiring.connections.time_dim(name) is not None
