"""What is read through categories: taken forward, added up backward.

forward   value[doc, …] = theta[g(doc), …]
backward  theta[g, …] hears Σ_{doc : g(doc) = g} of what value[doc, …] hears
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.layout import Labelled
from pgbn.network.terms import Earlier, Lookup
from pgbn.samplers.layers.scatter import scatter_add

__all__ = ["View"]


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
        if isinstance(lookup, Earlier):
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

    def give_back(self, heard: NDArray[Any], dims: tuple[str, ...]) -> NDArray[Any]:
        """What rows heard, an array (R, *dims) with some of the dims of what is seen, added up for
        the entries that they read: (R, *looked, *inner dims that it has)."""
        present = tuple(dim for dim in self.dims if dim in dims)
        ordered = heard.transpose(0, *(dims.index(dim) + 1 for dim in present))
        inner = [self.sizes[dim] for dim in present if dim in self.inner]
        rows = [self.sizes[dim] for dim in self.outer]
        missing = [1 if dim not in dims else self.sizes[dim] for dim in self.outer]
        copies = max(heard.shape[0], len(self.place))
        spread = ordered.reshape(heard.shape[0], *missing, *inner)
        whole = np.ascontiguousarray(np.broadcast_to(spread, (copies, *rows, *inner)))
        out = np.zeros((copies, prod(self.sizes[d] for d in self.looked), prod(inner)), heard.dtype)
        scatter_add(self.place, whole.reshape(copies, -1, prod(inner)), out)
        return out.reshape(copies, *(self.sizes[dim] for dim in self.looked), *inner)

    def counts(self, heard: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts of what is seen, (R, *dims), as counts of the array, (R, *stored)."""
        added = self.give_back(heard, self.dims)
        return np.ascontiguousarray(added.transpose(self._back))

    def heard(self, labelled: Labelled) -> Labelled:
        """A quantity of what is seen, as the entries hear it."""
        inner = tuple(dim for dim in self.dims if dim in labelled.dims and dim in self.inner)
        copies = max(labelled.replicates, len(self.place))
        get, dims = labelled.get, labelled.dims
        if labelled.value is not None:
            number = self.give_back(np.full(1, labelled.value), ())
            return Labelled(lambda: number, self.looked, copies)
        return Labelled(lambda: self.give_back(get(), dims), (*self.looked, *inner), copies)
