"""The program: the arrays of a network for given sizes, and functions that read them.

`Arrays` is the state of a chain: values and counts. `Program` gives slots, counts and exposures as
functions on them; `pgbn.engine.plan` makes the steps of a sampler from these.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial, singledispatch
from math import prod
from sys import getrefcount
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.products import (
    Labelled,
    Products,
    SparseEntries,
    added,
    align,
    labelled_number,
    mask_of,
    relation_holds,
    remembered,
    shape4,
    spread,
    storage_order,
    turned,
)
from pgbn.engine.data.cells import Cells
from pgbn.errors import DataError, NetworkError
from pgbn.network.connections import Source
from pgbn.network.evidence import Read
from pgbn.network.network import Network
from pgbn.network.sumproduct import (
    ConstantArray,
    LookedUp,
    NodeValue,
    Operand,
    OperationPart,
    OperationValue,
    PairMask,
    ReceivedCount,
    RuleCount,
    RuleExposure,
    SparseConstant,
    SumProduct,
    operand_of,
    reduce_product,
)
from pgbn.network.terms import Factor, Lagged, Lookup, Operation, Term
from pgbn.network.wiring import Wiring
from pgbn.nodes.base import Node, Observed
from pgbn.nodes.rules import checked_rule, find_link
from pgbn.samplers.executor import SERIAL, Executor
from pgbn.samplers.random import Stream
from pgbn.samplers.thinning import scatter_add

if TYPE_CHECKING:
    from pgbn.engine.first_layer.samplers import FirstLayer
    from pgbn.engine.shards.driver import ShardDriver


# ---- arrays that are read through categories, or through an edge that evaluates them itself ------


Array = NDArray[Any]


class View:
    """An array of the dims ``stored``, seen through ``lookups``: taken forward, added up backward.

        value[doc, …] = theta[g(doc), …],   theta[g, …] receives Σ_{doc : g(doc) = g} of
                                            what value[doc, …] receives

    The view has the dims ``dims``: first those of the categories, then the others of the array in
    their order. ``indexes`` are the numbers of categories, (R or 1, *their dims).
    """

    def __init__(
        self, lookups: Sequence[Lookup], stored: tuple[str, ...], sizes: Mapping[str, int],
        indexes: Mapping[str, NDArray[np.int64]],
    ) -> None:  # fmt: skip
        self.lookups, self.stored, self.sizes, self.indexes = lookups, stored, sizes, indexes
        self.outer = tuple(dict.fromkeys(dim for lookup in lookups for dim in lookup.dims))
        self.looked = tuple(lookup.dim for lookup in lookups)
        self.inner = tuple(dim for dim in stored if dim not in self.looked)
        self.dims = (*self.outer, *self.inner)
        self._first = (0, *(stored.index(dim) + 1 for dim in (*self.looked, *self.inner)))
        self._back = np.argsort(self._first)

    def _shape(self, dims: Sequence[str]) -> list[int]:
        return [self.sizes[dim] for dim in dims]

    @cached_property
    def place(self) -> NDArray[np.int64]:
        """The number of the entry that every row reads, (R or 1, rows)."""
        flat: Any = np.zeros((1, *(1,) * len(self.outer)), np.int64)
        for lookup in self.lookups:
            along = spread(self._numbers(lookup), lookup.dims, self.outer, self.sizes)
            flat = flat * self.sizes[lookup.dim] + along
        full = np.broadcast_to(flat, (len(flat), *self._shape(self.outer)))
        return np.ascontiguousarray(full.reshape(len(flat), -1))

    def _numbers(self, lookup: Lookup) -> NDArray[np.int64]:
        """The number of the entry that is read, (R or 1, *dims of the lookup)."""
        if isinstance(lookup, Lagged):
            return np.maximum(np.arange(self.sizes[lookup.dims[0]]) - lookup.lag, 0)[None]
        return self.indexes[lookup.name]

    def take(self, array: Array) -> Array:
        """The view of an array (R, *stored), as (R, *dims)."""
        place, copies = self.place, array.shape[0]
        flat = array.transpose(self._first).reshape(copies, prod(self._shape(self.looked)), -1)
        if len(place) == 1:
            seen = np.take(flat, place[0], axis=1)
        elif copies == 1:
            seen = flat[0][place]
        else:
            seen = flat[np.arange(copies)[:, None], place]
        return np.ascontiguousarray(seen).reshape(-1, *self._shape(self.dims))

    def give_back(self, received: Array, dims: tuple[str, ...]) -> Array:
        """The evidence of rows, added up for the entries that they read. It is an array (R, *dims)
        with some of the dims of the view, and becomes (R, *looked, *inner dims that it has)."""
        inner = [dim for dim in self.inner if dim in dims]
        wide = spread(received, dims, (*self.outer, *inner), self.sizes)
        copies, entries = max(len(received), len(self.place)), self._shape(self.looked)
        size = prod(self._shape(inner))
        full = np.broadcast_to(wide, (copies, *self._shape((*self.outer, *inner))))
        out = np.zeros((copies, prod(entries), size), received.dtype)
        scatter_add(self.place, np.ascontiguousarray(full).reshape(copies, -1, size), out)
        return out.reshape(copies, *entries, *self._shape(inner))

    def counts(self, received: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts of the view, (R, *dims), as counts of the array, (R, *stored)."""
        total = self.give_back(received, self.dims)
        return np.ascontiguousarray(total.transpose(self._back))

    def received(self, labelled: Labelled) -> Labelled:
        """A quantity of the view, as the entries receive it."""
        inner = tuple(dim for dim in self.inner if dim in labelled.dims)
        copies = max(labelled.replicates, len(self.place))
        get, dims = labelled.get, labelled.dims
        if labelled.value is not None:
            number = self.give_back(np.full(1, labelled.value), ())
            return Labelled(lambda: number, self.looked, copies)
        return Labelled(lambda: self.give_back(get(), dims), (*self.looked, *inner), copies)


class OperationArrays:
    """An edge with its own evaluation, on the arrays of a program: its ``value``, the exposure that
    its operands receive, and their counts.

    The edge sees arrays (R or 1, *dims), the dims in the order in which its operands have them and
    its value has them by `Edge.dims_of`. Its results are checked: a wrong shape, a number that is
    NaN or negative, and lost counts are rejected.
    """

    def __init__(self, program: Program, operation: Operation) -> None:
        self.program, self.operation, self.edge = program, operation, operation.edge
        sizes, factors = program.sizes, operation.operands
        read = {slot: program.read(operand_of(factor)) for slot, factor in factors.items()}
        self._read = {slot: (read[slot], factor.dims) for slot, factor in factors.items()}
        self._shapes = {slot: [sizes[d] for d in factor.dims] for slot, factor in factors.items()}
        copies = max([1, *(labelled.replicates for labelled in read.values())])
        self.shape = (copies, *(sizes[dim] for dim in operation.dims))
        evaluate = remembered([labelled.get for labelled in read.values()], self._evaluate)
        self.value = Labelled(evaluate, operation.dims, copies)

    def _evaluate(self, *raw: Array) -> Array:
        return self._checked("evaluate", self.edge.evaluate(**self._operands()), self.shape)

    def _operands(self) -> dict[str, Array]:
        return {slot: turned(labelled.get(), labelled.dims, dims)
                for slot, (labelled, dims) in self._read.items()}  # fmt: skip

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
        """The exposure that a node receives in its slot; its dims have the node's own names."""
        factor, sizes = self.operation.operands[slot], self.program.sizes
        copies = max(exposure.replicates, self.shape[0])
        shape = (copies, *self._shapes[slot])

        def get() -> Array:
            received = spread(exposure.get(), exposure.dims, self.operation.dims, sizes)
            q = np.ascontiguousarray(np.broadcast_to(received, (copies, *self.shape[1:])))
            arrays = self._operands()
            del arrays[slot]
            return self._checked("expose", self.edge.expose(slot, q, shape, **arrays), shape)

        return Labelled(get, factor.own_dims, copies)

    def split(self, child: str, slot: str, key: int, counts: Array) -> list[tuple[Factor, Array]]:
        """Turn the counts of the value, which a child shared out, into counts of the nodes in it.
        Each array has the storage order of its node."""
        value = self.value.get()
        if ((counts > 0) & (value <= 0)).any():
            raise DataError(
                f"{child}: has counts where its {slot}, {self.edge}, is 0; correct the data, or "
                "add a term that is positive there"
            )
        shape = (counts.shape[0], *(1,) * (4 - counts.ndim), *counts.shape[1:])
        stream = Stream(key, shape, self.program.executor.local)
        found = self.edge.split(stream, counts, **self._operands())
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
                out.append((factor, turned(own, factor.own_dims, stored)))
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


# ---- the arrays of a chain ----------------------------------------------------------------------


_MOST = 32  # arrays that are remembered; older ones are forgotten


def _references(arrays: Sequence[NDArray[Any]]) -> list[int]:
    return [getrefcount(array) for array in arrays]


# How many there are of an array in a list and nowhere else; it depends on the version of Python.
_UNUSED = _references([np.empty(0)])[0]


class Pool:
    """A source of arrays like ``make``, which is `numpy.empty` or what an executor has for it.

    A sweep makes large arrays and drops as many. The system takes their memory back and returns it
    page by page, cleared. This takes up to a sixth of the time of a deep sweep. A pool remembers
    the arrays that it gave out, and gives one out again when nobody refers to it any more. Every
    reader of an array, or of a part of it, has a reference, so that no visible array is
    overwritten.
    """

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


class Arrays:
    """The state of a chain. ``values[name]`` has the shape (R, *storage order)."""

    wiring: Wiring
    kernels: bool = True  # False: general rules only, the reference for the kernels

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
        """``shared`` are nodes with one value that all replicates read. ``indexes`` are the numbers
        of categories, (R, *dims), if each replicate has its own."""
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
        self.shards: ShardDriver | None = None  # the workers that have the rows, if there are any
        self.first_layers: dict[str, FirstLayer] = {}  # samplers of observed nodes, by name
        self._views: dict[tuple[Any, ...], View] = {}
        self._exposures: dict[str, Labelled] = {}
        self._operations: dict[Operation, OperationArrays] = {}
        self._totals: dict[tuple[str, ...], tuple[ref[Any], NDArray[Any]]] = {}

    def stream(self, name: str, key: int) -> Stream:
        """The stream of one draw of a node."""
        node = self.network.nodes[name]
        shape, stored = self.shape4[name], self.storage[name]
        first = len(shape) - len(stored)
        axes = tuple(first + stored.index(dim) for dim in node.sums_over) or (len(shape) - 1,)
        return Stream(key, shape, self.executor_for(stored), axes if len(axes) > 1 else axes[0])

    def executor_for(self, dims: Iterable[str]) -> Executor:
        """The executor for an array of some dims: an array without rows is in memory."""
        return self.executor if self._row_dims.intersection(dims) else self.executor.local

    def view(self, lookups: tuple[Lookup, ...], stored: tuple[str, ...]) -> View:
        """The view of an array of the dims ``stored`` through categories."""
        if (lookups, stored) not in self._views:
            self._views[lookups, stored] = View(lookups, stored, self.sizes, self.indexes)
        return self._views[lookups, stored]

    def keep_counts(
        self, child: str, factor: Factor, counts: NDArray[Any], received: set[str]
    ) -> None:
        """Keep the counts that ``child`` gives to a factor of its slot. A factor that was read
        through categories receives them entry by entry. ``received`` are the nodes that have counts
        from the child in this step already: the new counts are added."""
        name = factor.name
        if factor.lookups:
            counts = self.view(factor.lookups, self.storage[name]).counts(counts)
        self.counts[child, name] = self.counts[child, name] + counts if name in received else counts
        received.add(name)

    def keep_total(self, name: str, dim: str, total: NDArray[Any]) -> None:
        """Keep the sum over a dim of the present value of a node, computed on the way."""
        self._totals[name, dim] = (ref(self.values[name]), total)

    def without_missing(self, node: Node, slot: str, result: Any) -> Any:
        """The message of a rule to a slot, with 0 at the cells whose data are missing. Imputed
        counts are evidence for the slot that they come from, and for no other."""
        cells = self.cells.get(node.name)
        if cells is None or cells.missing is None:
            return result
        link = find_link(node)
        if link is None or link.slot == slot:
            return result
        return np.where(cells.dense(cells.missing).reshape(self.shape4[node.name]), 0, result)

    def is_in_time(self, name: str) -> bool:
        """Whether a node depends on its own previous row."""
        return self.wiring.connections.time_dim(name) is not None


# ---- the compiled functions ---------------------------------------------------------------------


class Program(Arrays):
    """Functions that read the arrays."""

    def read(self, operand: Operand) -> Labelled:
        """The array behind an operand."""
        return read_operand(operand, self)

    def factor(self, factor: Factor) -> Labelled:
        """The array behind a factor."""
        return self.read(operand_of(factor))

    def term(self, term: Term) -> Labelled:
        """The value of a term."""
        operands = [operand_of(factor) for factor in term.factors]
        return self.product(reduce_product(term.coefficient, operands, term.contracted))

    def wants(self, factor: Factor) -> bool:
        """Whether a factor receives its counts; those of an operation go to its value."""
        receiving = self.wiring.sources
        if factor.through is None:
            return factor.name in receiving
        operation = factor.through.operation
        names = {each.name for each in operation.operands.values()}
        return factor.through.slot == operation.leads and not names.isdisjoint(receiving)

    def operation(self, operation: Operation) -> OperationArrays:
        """An operation on the arrays."""
        if operation not in self._operations:
            self._operations[operation] = OperationArrays(self, operation)
        return self._operations[operation]

    def product(self, product: SumProduct) -> Labelled:
        """A sum of products, compiled."""
        first, *rest = product.operands or (None,)
        if type(first) is NodeValue and not rest:
            if first.name in self.cells:
                return self._data_total(product)
            if product.summed:
                return self._node_total(product, first)
        rows = self.executor_for(dim for each in product.operands for dim in each.dims)
        return Products(self.read, self.sizes, rows).compile(product)

    def _node_total(self, product: SumProduct, operand: NodeValue) -> Labelled:
        """A node summed over dims. The sum is kept until the node is drawn again. It is needed
        twice: as the shape of one node and in the exposure of another."""
        once = replace(product, coefficient=1.0, repeated=())
        total = Products(self.read, self.sizes, self.executor_for(operand.dims)).compile(once)
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

        return replace(total, get=get)

    def _data_total(self, product: SumProduct) -> Labelled:
        name, dims, scale = product.operands[0].name, product.dims, product.coefficient

        def get() -> NDArray[Any]:
            cells = self.cells[name]
            return cells.total(cells.values, dims) * scale

        return Labelled(get, dims, self.replicates)

    # ---- aligned with a node: a slot, and the evidence that the node receives ------------------

    def _align(self, node: str, labelled: Labelled) -> Labelled:
        return align(labelled, self.storage[node], self.sizes)

    def slot(self, name: str, slot: str) -> Labelled:
        """The value of a slot, aligned with its node."""
        products = self.wiring.exposures.named_sum(slot, self.network.nodes[name], ())
        return added([self._align(name, self.product(product)) for product in products])

    def exposure(self, name: str) -> Labelled:
        """The exposure that a node receives."""
        if name not in self._exposures:
            parts: list[Labelled] = []
            for source in self.wiring.sources[name]:
                parts += self.through(source, self.wiring.exposures.source_exposure(source))
            self._exposures[name] = added(parts)
        return self._exposures[name]

    def through(self, source: Source, products: Iterable[SumProduct]) -> list[Labelled]:
        """The evidence from a source, aligned with the node that receives it. The factor of a term
        names the dims as the child does; the node may name them differently."""
        received = self.received_through(source, products)
        return [self._align(source.factor.name, each) for each in received]

    def received_through(self, source: Source, products: Iterable[SumProduct]) -> list[Labelled]:
        """The same, with the dims that it has by the names of the node."""
        factor, own = source.factor, source.own
        parts = [self.product(product) for product in products]
        received = [replace(each, dims=tuple(own[dim] for dim in each.dims)) for each in parts]
        if factor.through is not None:
            operation = self.operation(factor.through.operation)
            return [operation.received(factor.through.slot, each) for each in received]
        if not factor.lookups:
            return received
        view = self.view(factor.lookups, self.storage[factor.name])
        return [view.received(each) for each in received]

    def received_count(self, name: str) -> Labelled:
        """The count that a node receives, from all sources."""
        parts: list[Labelled] = []
        children: dict[str, None] = {}
        for source in self.wiring.sources.get(name, ()):  # a given node receives nothing
            if source.is_delivered:
                children[source.child.name] = None
            else:
                parts += self.through(source, self.wiring.exposures.source_count(source))
        for child in children:
            get = partial(self._delivered, child, name)
            parts.append(Labelled(get, self.storage[name], self.replicates))
        return added(parts)

    def _delivered(self, child: str, name: str) -> NDArray[np.int64]:
        """The counts that a child's step gave to a node, aligned with the node."""
        return self.counts[child, name].reshape(self.shape4[name])

    def received_from(self, name: str) -> tuple[str, ...]:
        """The slots from which a node receives evidence, for messages."""
        sources = self.wiring.sources[name]
        return tuple(f"{type(s.child).__name__}.{s.slot} of {s.child.name}" for s in sources)

    def quantity(self, node: Node, name: str) -> Labelled:
        """A quantity for a rule: value, count, exposure or a slot, aligned with the node."""
        own, shape, data = node.name, self.shape4[node.name], isinstance(node, Observed)
        if name == "exposure":
            return self.exposure(own)
        if name == "count" and not data:
            return self.received_count(own)
        if name not in ("count", "value"):
            return self.slot(own, name)

        def get() -> NDArray[Any]:
            if not data:
                return self.values[own].reshape(shape)
            cells = self.cells[own]
            counts = cells.dense(self.latent_counts[own]) if name == "count" else cells.dense()
            return counts.reshape(shape)

        return Labelled(get, self.storage[own], self.replicates)

    # ---- messages of a node to its slots -------------------------------------------------------

    def unaligned(self, node: Node, aligned: Labelled) -> Labelled:
        """An array that is aligned with a node, as an array of the dims that it has."""
        dims = tuple(dim for dim in self.storage[node.name] if dim in aligned.dims)
        shape = (aligned.replicates, *(self.sizes[dim] for dim in dims))
        get = aligned.get
        if aligned.value is not None:
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

    def computed(
        self, child: Node, slot: str, function: Callable[..., Any], names: tuple[str, ...]
    ) -> Labelled:
        """The result of a rule's function for a slot, from the quantities that it names."""
        parts = {name: self.quantity(child, name) for name in names}
        total = added(list(parts.values()))  # varies along the same dims
        along = {d: self.sizes[d] if d in total.dims else 1 for d in self.storage[child.name]}
        is_number = total.value is not None
        shape = () if is_number else shape4(tuple(along), along, total.replicates)
        read = checked_rule(function, child, slot, shape)

        def get() -> Any:
            return self.without_missing(child, slot, read(**{n: p.get() for n, p in parts.items()}))

        return self.unaligned(child, replace(total, get=get))

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


# ---- data of probability 0, which no chain can explain -------------------------------------------


def check_possible(program: Program) -> None:
    """Reject positive data at cells where every term of the rate has a factor that is 0 by a
    constant or a given value: P(x > 0) = 0."""
    for node in program.network:
        if not isinstance(node, Observed):
            continue
        link = find_link(node)
        if link is None or (link.counts and not node.positive_needs_counts):
            continue
        terms = program.wiring.polynomials[node.name, link.slot].terms
        _check_pairs(node, link.slot, terms, program.cells[node.name])
        if all(_has_zero(program, term) for term in terms):
            cells = program.cells[node.name]
            possible = sum(_possible(program, term, cells) for term in terms)
            wrong = np.flatnonzero((cells.values > 0) & (possible == 0))
            if wrong.size:
                value, place = _value_at(node, cells, int(wrong[0]))
                raise DataError(
                    f"{node.name}: the value {value} at {place} has probability 0, since the "
                    f"{link.slot} is 0 there by its constants or given values; correct these or "
                    "the data"
                )


def _given_factors(program: Program, term: Term) -> list[Labelled]:
    """The factors of a term whose values are given or constant, but for sparse constants."""
    return [
        program.read(operand_of(factor))
        for factor in term.factors
        if not factor.is_sparse
        and not factor.through  # its result is given only if all its nodes are
        and (factor.constant is not None or factor.when or factor.name in program.wiring.given)
    ]


def _has_zero(program: Program, term: Term) -> bool:
    """Whether a given or constant factor of a term is 0 somewhere."""
    return (
        term.coefficient == 0
        or any(factor.is_sparse and not factor.constant.min() for factor in term.factors)
        or any(not part.get().all() for part in _given_factors(program, term))
    )


def _possible(program: Program, term: Term, cells: Cells) -> Any:
    """In how many ways a term's given factors allow a positive rate, at every cell."""
    positive: list[Operand] = [
        ConstantArray(dims=part.dims, value=np.asarray(part.get()[0] != 0, np.float64))
        for part in _given_factors(program, term)
    ]
    here: Any = 1.0
    for factor in (factor for factor in term.factors if factor.is_sparse):
        if set(factor.dims) & set(term.contracted):
            ones = (factor.constant != 0).astype(np.float64)
            positive.append(SparseConstant(dims=factor.dims, value=ones))
        else:
            places = (cells.positions((dim,), 1) for dim in factor.dims)
            here = here * (SparseEntries(factor.constant).at(*places) != 0)
    room = program.product(reduce_product(float(term.coefficient != 0), positive, term.contracted))
    if room.value is not None:
        return room.value * here
    return room.get().reshape(-1)[cells.positions(room.dims, room.replicates)] * here


def _value_at(node: Observed, cells: Cells, cell: int) -> tuple[str, str]:
    """The value of a cell and its place, for an error."""
    row = np.unravel_index(int(cells.cell_rows()[cell]), cells.shape[:-1] or (1,))
    place = (*row, cells.indices[cell])[-len(node.axes) or 2 :]
    where = ", ".join(f"{dim} {index}" for dim, index in zip(node.axes, place, strict=True))
    return f"{cells.values[cell]:g}", where or "its only cell"


def _check_pairs(node: Observed, slot: str, terms: Sequence[Term], cells: Cells) -> None:
    """Reject positive data at pairs that no term is about: the other half of a symmetric matrix,
    and self loops."""
    if any(not any(pair.relation for pair in term.factors) for term in terms):
        return  # a term that is about all pairs
    possible = np.zeros(cells.values.size, np.bool_)
    for term in terms:
        holds = np.ones(cells.values.size, np.bool_)
        for pair in term.factors:
            if pair.relation and set(pair.dims) <= set(node.axes):
                first, second = (cells.positions((dim,), 1) for dim in pair.dims)
                holds &= relation_holds(pair.relation, first, second)
        possible |= holds
    wrong = np.flatnonzero((cells.values > 0) & ~possible)
    if wrong.size:
        value, place = _value_at(node, cells, int(wrong[0]))
        sign = {"upper": "<", "distinct": "≠", "same": "="}
        pairs = dict.fromkeys(
            f"pairs {pair.dims[0]} {sign[pair.relation]} {pair.dims[1]}"
            for term in terms for pair in term.factors if pair.relation
        )  # fmt: skip
        raise DataError(
            f"{node.name}: the value {value} at {place} has probability 0: the {slot} is about "
            f"{' and '.join(pairs)} only. Give "
            "each pair once, scipy.sparse.triu(A, 1) of a symmetric matrix A; a self loop has no "
            "place in it"
        )


# ---- operands -----------------------------------------------------------------------------------


@singledispatch
def read_operand(operand: Operand, program: Program) -> Labelled:
    """The array behind an operand: one function a kind. Those of nodes in time are in
    `pgbn.engine.steps.time`."""
    raise AssertionError(operand)


def dims_here(operand: NodeValue, program: Program) -> tuple[str, ...]:
    """The dims of a node's array, by the names that they have where it is read."""
    names = dict(zip(operand.own_dims, operand.dims, strict=True))
    return tuple(names[dim] for dim in program.storage[operand.name])


@read_operand.register(ConstantArray)
def _constant(operand: ConstantArray, program: Program) -> Labelled:
    array = np.array(operand.value, order="C")[None]  # ascontiguousarray gives a number a dim
    return Labelled(lambda: array, operand.dims, 1)


@read_operand.register(PairMask)
def _mask(operand: PairMask, program: Program) -> Labelled:
    # made when it is read: nobody reads it if there are many pairs
    return Labelled(cache(lambda: mask_of(operand, program.sizes)), operand.dims, 1)


@read_operand.register(NodeValue)
def _value(operand: NodeValue, program: Program) -> Labelled:
    name, dims = operand.name, dims_here(operand, program)
    if name in program.cells:  # integers too, perhaps, but products are made of reals
        return Labelled(lambda: program.cells[name].dense().astype(np.float64), dims,
                        program.replicates)  # fmt: skip
    values = program.values
    return Labelled(lambda: values[name], dims, program.shape[name][0])


@read_operand.register(LookedUp)
def _looked_up(operand: LookedUp, program: Program) -> Labelled:
    entries = program.read(operand.whole)
    view = program.view(operand.lookups, entries.dims)
    names = dict(zip(operand.own_dims, operand.dims, strict=True))
    return Labelled(remembered([entries.get], view.take), tuple(names[dim] for dim in view.dims),
                    max(entries.replicates, len(view.place)))  # fmt: skip


@read_operand.register(OperationPart)
def _part(operand: OperationPart, program: Program) -> Labelled:
    return labelled_number(1.0)


@read_operand.register(OperationValue)
def _operation(operand: OperationValue, program: Program) -> Labelled:
    return replace(program.operation(operand.operation).value, dims=operand.dims)


@read_operand.register(ReceivedCount)
def _received(operand: ReceivedCount, program: Program) -> Labelled:
    node = program.network.nodes[operand.name]
    return program.unaligned(node, program.received_count(operand.name))


@read_operand.register(RuleCount)
def _count(operand: RuleCount, program: Program) -> Labelled:
    rule = program.wiring.rules[operand.name, operand.slot]
    assert callable(rule.count)
    child = program.network.nodes[operand.name]
    return program.computed(child, operand.slot, rule.count, rule.count_reads)


@read_operand.register(RuleExposure)
def _exposure(operand: RuleExposure, program: Program) -> Labelled:
    """The array is kept until one of the nodes that it is made of is drawn again. All layers above
    a layer ask for its array."""
    child, values = program.network.nodes[operand.name], program.values
    found = program.rule_exposure(child, operand.slot)
    reads = program.wiring.reads.of_exposure(child, operand.slot)
    plain = all(type(each) is Read and each.name in program.network.latent for each in reads)
    if found.value is not None or not plain or child.name in program.cells:
        return found
    names, get = sorted({each.name for each in reads}), found.get
    last: list[Any] = [(), None]

    def kept() -> NDArray[Any]:
        # values are replaced, never changed in place; the references are weak, for the pool
        now = [values[name] for name in names]
        if not last[0] or any(r() is not value for r, value in zip(last[0], now, strict=True)):
            last[:] = [ref(value) for value in now], get()
        return np.asarray(last[1])

    return replace(found, get=kept)
