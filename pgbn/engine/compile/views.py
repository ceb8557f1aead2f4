"""Arrays that are read through categories, or through an edge that evaluates them itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.products import Labelled, remembered, spread, turned
from pgbn.errors import DataError, NetworkError
from pgbn.network.sumproduct import operand_of
from pgbn.network.terms import Factor, Lagged, Lookup, Operation
from pgbn.samplers.random import Stream
from pgbn.samplers.thinning import scatter_add

if TYPE_CHECKING:
    from pgbn.engine.compile.program import Program

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
