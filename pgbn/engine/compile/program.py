"""The program: the arrays of a network for given sizes, and functions that read them.

It holds the state of a chain (values, counts) and gives slots, counts and exposures as functions
on arrays; `pgbn.engine.plan` makes the steps of a sampler from them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from math import prod
from sys import getrefcount
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.layout import (
    Aligned,
    Labelled,
    added,
    align,
    labelled_number,
    shape4,
    storage_order,
)
from pgbn.engine.compile.operands import read_operand
from pgbn.engine.compile.products import compile_product
from pgbn.engine.data.nonzero import Cells
from pgbn.errors import DataError, NetworkError
from pgbn.network.connections import Source
from pgbn.network.sumproduct import NodeValue, Operand, SumProduct, operand_of
from pgbn.network.terms import Factor, Lagged, Lookup, Operation
from pgbn.nodes.base import Node, Observed
from pgbn.nodes.rules.registry import checked_rule, find_link
from pgbn.samplers.executor import SERIAL, Executor
from pgbn.samplers.random import Stream
from pgbn.samplers.thinning import scatter_add

if TYPE_CHECKING:
    from pgbn.engine.first_layer.base import FirstLayer
    from pgbn.engine.shards.driver import ShardDriver
    from pgbn.network.network import Network


# ---- lookups ------------------------------------------------------------------------------------
#
# What is read through categories: taken forward, added up backward.
#
# forward   value[doc, …] = theta[g(doc), …] backward  theta[g, …] hears Σ_{doc : g(doc) = g} of
# what value[doc, …] hears


class View:
    """An array of the dims ``stored``, seen through ``lookups``.

    What is seen has the dims ``dims``: first those of the categories, then the others of the array
    in their order. ``indexes`` are the numbers of categories, (R or 1, *their dims).
    """

    def __init__(
        self,
        lookups: Sequence[Lookup],
        stored: tuple[str, ...],
        sizes: Mapping[str, int],
        indexes: Mapping[str, NDArray[np.int64]],
    ) -> None:
        self.lookups, self.stored, self.sizes, self.indexes = lookups, stored, sizes, indexes
        self.outer = tuple(dict.fromkeys(dim for lookup in lookups for dim in lookup.dims))
        self.looked = tuple(lookup.dim for lookup in lookups)
        self.inner = tuple(dim for dim in stored if dim not in self.looked)
        self.dims = (*self.outer, *self.inner)
        self._first = (0, *(stored.index(dim) + 1 for dim in (*self.looked, *self.inner)))
        self._back = np.argsort(self._first)

    @cached_property
    def place(self) -> NDArray[np.int64]:
        """The number of the entry that every row reads, (R or 1, rows)."""
        rows = [self.sizes[dim] for dim in self.outer]
        flat: Any = np.zeros((1, *(1,) * len(rows)), np.int64)
        for lookup in self.lookups:
            array = self._numbers(lookup)
            order = [lookup.dims.index(dim) + 1 for dim in self.outer if dim in lookup.dims]
            shape = [self.sizes[dim] if dim in lookup.dims else 1 for dim in self.outer]
            along = array.transpose(0, *order).reshape(array.shape[0], *shape)
            flat = flat * self.sizes[lookup.dim] + along
        whole = np.broadcast_to(flat, (flat.shape[0], *rows))
        return np.ascontiguousarray(whole.reshape(flat.shape[0], -1))

    def _numbers(self, lookup: Lookup) -> NDArray[np.int64]:
        """The number of the entry that is read, (R or 1, *dims of the lookup)."""
        if isinstance(lookup, Lagged):
            return np.maximum(np.arange(self.sizes[lookup.dims[0]]) - lookup.lag, 0)[None]
        return self.indexes[lookup.name]

    def take(self, array: NDArray[Any]) -> NDArray[Any]:
        """What is seen of an array (R, *stored), as (R, *dims)."""
        place, copies = self.place, array.shape[0]
        entries = prod(self.sizes[dim] for dim in self.looked)
        flat = array.transpose(self._first).reshape(copies, entries, -1)
        if len(place) == 1:
            seen = np.take(flat, place[0], axis=1)
        elif copies == 1:
            seen = flat[0][place]
        else:
            seen = flat[np.arange(copies)[:, None], place]
        return np.ascontiguousarray(seen).reshape(-1, *(self.sizes[dim] for dim in self.dims))

    def give_back(self, received: NDArray[Any], dims: tuple[str, ...]) -> NDArray[Any]:
        """What rows heard, an array (R, *dims) with some of the dims of what is seen, added up for
        the entries that they read: (R, *looked, *inner dims that it has)."""
        present = tuple(dim for dim in self.dims if dim in dims)
        ordered = received.transpose(0, *(dims.index(dim) + 1 for dim in present))
        inner = [self.sizes[dim] for dim in present if dim in self.inner]
        rows = [self.sizes[dim] for dim in self.outer]
        missing = [1 if dim not in dims else self.sizes[dim] for dim in self.outer]
        copies = max(received.shape[0], len(self.place))
        spread = ordered.reshape(received.shape[0], *missing, *inner)
        whole = np.ascontiguousarray(np.broadcast_to(spread, (copies, *rows, *inner)))
        out = np.zeros(
            (copies, prod(self.sizes[d] for d in self.looked), prod(inner)), received.dtype
        )
        scatter_add(self.place, whole.reshape(copies, -1, prod(inner)), out)
        return out.reshape(copies, *(self.sizes[dim] for dim in self.looked), *inner)

    def counts(self, received: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts of what is seen, (R, *dims), as counts of the array, (R, *stored)."""
        added = self.give_back(received, self.dims)
        return np.ascontiguousarray(added.transpose(self._back))

    def received(self, labelled: Labelled) -> Labelled:
        """A quantity of what is seen, as the entries hear it."""
        inner = tuple(dim for dim in self.dims if dim in labelled.dims and dim in self.inner)
        copies = max(labelled.replicates, len(self.place))
        get, dims = labelled.get, labelled.dims
        if labelled.value is not None:
            number = self.give_back(np.full(1, labelled.value), ())
            return Labelled(lambda: number, self.looked, copies)
        return Labelled(lambda: self.give_back(get(), dims), (*self.looked, *inner), copies)


# ---- operations ---------------------------------------------------------------------------------
#
# Edges that bring their own evaluation, on the arrays of a program.
#
# An edge sees arrays (R or 1, *dims), the dims in the order in which its operands have them and
# its value has them by `Edge.dims_of`. What it returns is checked: a wrong shape, a number that is
# none or negative, and counts that got lost are refused.


Array = NDArray[Any]


class Operations:
    """The operations of a program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: dict[Operation, OperationArrays] = {}

    def of(self, operation: Operation) -> OperationArrays:
        """An operation on the arrays of the program."""
        if operation not in self._known:
            self._known[operation] = OperationArrays(self._program, operation)
        return self._known[operation]

    def wants(self, factor: Factor) -> bool:
        """Whether a factor is to be told its counts; those of an operation go to its value."""
        hearing = self._program.wiring.sources
        if factor.through is None:
            return factor.name in hearing
        operation = factor.through.operation
        names = {each.name for each in operation.operands.values()}
        return factor.through.slot == operation.leads and not names.isdisjoint(hearing)


class OperationArrays:
    """One operation: its ``value``, what its operands hear of exposure, and their counts."""

    def __init__(self, program: Program, operation: Operation) -> None:
        self.program, self.operation, self.edge = program, operation, operation.edge
        self._operands: dict[str, Callable[[], Array]] = {}
        self._raw: list[Callable[[], Array]] = []
        self._shapes: dict[str, tuple[int, ...]] = {}
        copies = 1
        for slot, factor in operation.operands.items():
            labelled = program.read(operand_of(factor))
            order = (0, *(labelled.dims.index(dim) + 1 for dim in factor.dims))
            self._raw.append(labelled.get)
            self._operands[slot] = _ordered(labelled.get, order)
            self._shapes[slot] = tuple(program.sizes[dim] for dim in factor.dims)
            copies = max(copies, labelled.replicates)
        self._last: list[Any] = [None, None]
        self.shape = (copies, *(program.sizes[dim] for dim in operation.dims))
        self.value = Labelled(self._evaluate, operation.dims, copies)

    def _evaluate(self) -> Array:
        # values are replaced, never changed in place: the same arrays give the same value
        read, last = [get() for get in self._raw], self._last[0]
        if last is None or any(new is not old for new, old in zip(read, last, strict=True)):
            arrays = {slot: get() for slot, get in self._operands.items()}
            found = self._checked("evaluate", self.edge.evaluate(**arrays), self.shape)
            self._last[:] = read, found
        return np.asarray(self._last[1])

    def _checked(self, method: str, found: Any, shape: tuple[int, ...]) -> Array:
        what = f"{self.edge}: {method}()"
        try:
            array = np.ascontiguousarray(found, np.float64)
        except (TypeError, ValueError):
            raise NetworkError(f"{what} returned {found!r:.60}; return an array") from None
        if array.shape != shape:
            raise NetworkError(
                f"{what} returned an array of shape {array.shape}; it must have {shape}: "
                f"replicates, then {', '.join(self.operation.dims)}"
                if method == "evaluate"
                else f"{what} returned an array of shape {array.shape}; it must have {shape}"
            )
        least = array.min(initial=0.0)
        if not np.isfinite(array).all() or least < 0:
            raise NetworkError(
                f"{what} returned {'a number that is not finite' if not least < 0 else least}; "
                "return numbers of at least 0"
            )
        return array

    def received(self, slot: str, exposure: Labelled) -> Labelled:
        """The exposure that a node hears in its slot; its dims have the node's own names."""
        factor = self.operation.operands[slot]
        others = {other: get for other, get in self._operands.items() if other != slot}
        copies = max(exposure.replicates, self.shape[0])
        shape = (copies, *self._shapes[slot])
        whole = (exposure.replicates, *self.shape[1:])
        present = [dim for dim in self.operation.dims if dim in exposure.dims]
        order = (0, *(exposure.dims.index(dim) + 1 for dim in present))
        wide = [self.program.sizes[dim] if dim in present else 1 for dim in self.operation.dims]

        def get() -> Array:
            received = exposure.get().transpose(order).reshape(exposure.replicates, *wide)
            q = np.ascontiguousarray(np.broadcast_to(received, (copies, *whole[1:])))
            arrays = {other: read() for other, read in others.items()}
            return self._checked("expose", self.edge.expose(slot, q, shape, **arrays), shape)

        return Labelled(get, factor.own_dims, copies)

    def split(self, child: str, slot: str, key: int, counts: Array) -> list[tuple[Factor, Array]]:
        """The counts of the value, as a child shared them out, as counts of the nodes in it, each
        in the order in which the node is stored."""
        value = self._evaluate()
        if ((counts > 0) & (value <= 0)).any():
            raise DataError(
                f"{child}: has counts where its {slot}, {self.edge}, is 0; correct the data, or "
                "add a term that is positive there"
            )
        arrays = {name: get() for name, get in self._operands.items()}
        stream = Stream(key, _at_least_4d(counts.shape), self.program.executor.local)
        found = self.edge.split(stream, counts, **arrays)
        nodes = {name: f for name, f in self.operation.operands.items() if f.own_dims}
        if not isinstance(found, dict) or not set(nodes) <= set(found):
            raise NetworkError(
                f"{self.edge}: split() returned {found!r:.60}; return a dict from the slots "
                f"({', '.join(nodes)}) to the counts of their entries"
            )
        totals = counts.sum(axis=tuple(range(1, counts.ndim)))
        out = []
        for name, factor in nodes.items():
            if factor.name in self.program.wiring.sources:
                own = self._checked_counts(name, found[name], len(counts), totals)
                stored = self.program.storage[factor.name]
                order = (0, *(factor.own_dims.index(dim) + 1 for dim in stored))
                out.append((factor, np.ascontiguousarray(own.transpose(order))))
        return out

    def _checked_counts(self, slot: str, found: Any, copies: int, totals: Array) -> Array:
        shape = (copies, *self._shapes[slot])
        array = np.asarray(found)
        if array.dtype.kind not in "iu" or array.shape != shape or array.min(initial=0) < 0:
            raise NetworkError(
                f"{self.edge}: split() returned for {slot!r} {array.dtype} of shape {array.shape}; "
                f"return counts, integers of at least 0, of shape {shape}"
            )
        if (array.sum(axis=tuple(range(1, array.ndim))) != totals).any():
            raise NetworkError(
                f"{self.edge}: split() returned {int(array.sum())} counts for {slot!r} of "
                f"{int(totals.sum())}; every count goes to one entry of each operand"
            )
        return array.astype(np.int64)


def _ordered(get: Callable[[], Array], order: tuple[int, ...]) -> Callable[[], Array]:
    return get if order == tuple(range(len(order))) else lambda: get().transpose(order)


def _at_least_4d(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (shape[0], *(1,) * (4 - len(shape)), *shape[1:])


# ---- pool ---------------------------------------------------------------------------------------
#
# Arrays in memory that was used before.
#
# A sweep makes large arrays and drops as many. The system takes their memory back and hands it out
# again page by page, cleared: up to a sixth of the time of a deep sweep. A `Pool` remembers the
# arrays that it gave out, and gives one out again when nobody refers to it any more. Whoever looks
# at an array, or at a part of it, holds a reference, so that nothing that can be seen is
# overwritten.


_MOST = 32  # arrays that are remembered; older ones are left to those who hold them


def _references(arrays: Sequence[NDArray[Any]]) -> list[int]:
    return [getrefcount(array) for array in arrays]


# How many there are of an array in a list and nowhere else; it depends on the version of Python.
_UNUSED = _references([np.empty(0)])[0]


class Pool:
    """A source of arrays like ``make``, which is `numpy.empty` or what an executor has for it."""

    def __init__(self, make: Callable[..., NDArray[Any]] = np.empty) -> None:
        self._make, self._arrays = make, list[NDArray[Any]]()

    def empty(self, shape: tuple[int, ...], dtype: Any = np.float64) -> NDArray[Any]:
        """An array that nobody else refers to, with anything in it."""
        for array, references in zip(self._arrays, _references(self._arrays), strict=True):
            if references == _UNUSED and array.shape == shape and array.dtype == dtype:
                return array
        array = self._make(shape, dtype)
        if isinstance(array.base, np.ndarray):  # views of a view refer to its base, not to it
            return array
        self._arrays = [*self._arrays[1 - _MOST :], array]
        return array


# ---- program ------------------------------------------------------------------------------------


class Program:
    """Arrays, and functions that read them. ``values[name]`` has the shape (R, *storage order)."""

    def __init__(
        self,
        network: Network,
        cells: Mapping[str, Cells],
        sizes: dict[str, int],
        replicates: int = 1,
        executor: Executor = SERIAL,
        shared: Collection[str] = (),
        indexes: Mapping[str, NDArray[np.int64]] | None = None,
    ) -> None:
        """``shared`` are nodes whose one value all replicates read; ``indexes`` the numbers of
        categories, (R, *dims), where each replicate has its own."""
        self.network, self.wiring, self.cells = network, network.wiring, dict(cells)
        self.sizes, self.replicates, self.executor = sizes, replicates, executor
        self.indexes = {n: a[None] for n, a in network.indexes.items()} | dict(indexes or {})
        self.storage = {n.name: storage_order(self.wiring, n) for n in network}
        self.storage |= {name: network.nodes[name].axes for name in network.observed}
        self._row_dims = {dim for node in network.observed for dim in self.storage[node][:1]}
        copies = {name: 1 if name in shared else replicates for name in self.storage}
        self.shape4 = {n: shape4(d, self.sizes, copies[n]) for n, d in self.storage.items()}
        self.shape = {name: (copies[name], *(self.sizes[dim] for dim in dims))
                      for name, dims in self.storage.items()}  # fmt: skip
        self.pool = Pool(executor.empty)
        self.values: MutableMapping[str, NDArray[np.float64]] = {}
        self.counts: MutableMapping[tuple[str, str], NDArray[Any]] = {}  # integers
        self.latent_counts: MutableMapping[str, NDArray[np.int64]] = {}
        self.drawn: MutableMapping[tuple[str, str], NDArray[np.float64]] = {}
        self.shards: ShardDriver | None = None  # those who work on rows, where others do
        self.kernels = True  # False: general rules only, the reference for the kernels
        self.first_layers: dict[str, FirstLayer] = {}  # samplers of observed nodes, by name
        self._exposures: dict[str, Aligned] = {}
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
        return self.executor if self._row_dims.intersection(dims) else self.executor.local

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

    def _align(self, node: str, labelled: Labelled) -> Aligned:
        get = align(labelled, self.storage[node], self.sizes)
        constant = labelled.value is not None
        return Aligned(get, frozenset(labelled.dims), labelled.replicates, constant)

    def slot(self, name: str, slot: str) -> Aligned:
        """The value of a slot beside its node."""
        node = self.network.nodes[name]
        products = self.wiring.exposures.named_sum(slot, node, ())
        return added([self._align(name, self.product(product)) for product in products])

    def exposure(self, name: str) -> Aligned:
        """The exposure that a node hears."""
        if name not in self._exposures:
            parts: list[Aligned] = []
            for source in self.wiring.sources[name]:
                parts += self.through(source, self.wiring.exposures.source_exposure(source))
            self._exposures[name] = added(parts)
        return self._exposures[name]

    def through(self, source: Source, products: Iterable[SumProduct]) -> list[Aligned]:
        """What comes through a source, beside the node that hears it: the factor of a term names
        the dims as the child does, the node has names of its own for them."""
        received = self.received_through(source, products)
        return [self._align(source.factor.name, each) for each in received]

    def received_through(self, source: Source, products: Iterable[SumProduct]) -> list[Labelled]:
        """The same, with the dims that it has by the names of the node."""
        factor, own = source.factor, source.own
        parts = [self.product(product) for product in products]
        received = [replace(each, dims=tuple(own[dim] for dim in each.dims)) for each in parts]
        if factor.through is not None:
            operation = self.operations.of(factor.through.operation)
            return [operation.received(factor.through.slot, each) for each in received]
        if not factor.lookups:
            return received
        view = self.view(factor.lookups, self.storage[factor.name])
        return [view.received(each) for each in received]

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

    def received_count(self, name: str) -> Aligned:
        """The count that a node hears, from all sources."""
        node = self.network.nodes[name]
        assert not isinstance(node, Observed), "the counts of data are sparse"
        parts: list[Aligned] = []
        children: dict[str, None] = {}
        for source in self.wiring.sources.get(name, ()):  # what is given hears nothing
            if source.is_delivered:
                children[source.child.name] = None
            else:
                parts += self.through(source, self.wiring.exposures.source_count(source))
        for child in children:
            get = partial(self._delivered, child, name)
            parts.append(Aligned(get, frozenset(node.axes), self.replicates, False))
        return added(parts)

    def received_from(self, name: str) -> tuple[str, ...]:
        """The slots from which a node hears, for messages."""
        sources = self.wiring.sources[name]
        return tuple(f"{type(s.child).__name__}.{s.slot} of {s.child.name}" for s in sources)

    def _delivered(self, child: str, name: str) -> NDArray[np.int64]:
        """The counts that a child's step gave to a node, beside the node."""
        return self.counts[child, name].reshape(self.shape4[name])

    def labelled(self, node: Node, aligned: Aligned) -> Labelled:
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

    def quantity(self, node: Node, name: str) -> Aligned:
        """What a rule may name: value, count, exposure or a slot, beside the node."""
        own, shape = node.name, self.shape4[node.name]

        def everywhere(get: Callable[[], NDArray[Any]]) -> Aligned:
            dims = frozenset(node.axes)
            return Aligned(lambda: get().reshape(shape), dims, self.replicates, False)

        data = isinstance(node, Observed)
        if name == "count" and data:
            return everywhere(lambda: self.cells[own].dense(self.latent_counts[own]))
        if name == "value":
            return everywhere(lambda: self.cells[own].dense() if data else self.values[own])
        if name == "count":
            return self.received_count(node.name)
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
