"""One term of a slot, ready for the kernels that share counts out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.layout import Labelled, Shape4, strides_of
from pgbn.engine.data.cells import Cells
from pgbn.network.terms import Factor, Term
from pgbn.samplers.layers.thin import Factors

__all__ = ["ONE", "Part"]

_NOTHING = np.zeros(0, np.int64)
ONE = Labelled(lambda: np.ones(1), (), 1)


class Part:
    """One term, ready for the kernels."""

    def __init__(
        self,
        term: Term,
        dims: tuple[str, ...],
        shape: Shape4,
        sizes: Mapping[str, int],
        read: Callable[[Factor], Labelled],
        wants: Callable[[Factor], bool],
    ) -> None:
        self.term, self.contracted, self.dims, self.sizes = term, term.contracted, dims, sizes
        self.shape, self.replicates = shape, shape[0]
        # Where two dims of the child are not in a relation it has no counts, else the factor is 1;
        # a sparse constant of two dims of the child is the same for all summands.
        self.pairs = [
            f for f in term.factors if (f.relation or f.is_sparse) and set(f.dims) <= set(dims)
        ]
        self.labelled = [ONE if f in self.pairs else read(f) for f in term.factors]
        self.wants = [wants(factor) for factor in term.factors]
        pairs = [
            strides_of(part.dims, sizes, part.replicates, dims, term.contracted)
            for part in self.labelled
        ]
        self.strides = np.array([strides for strides, _ in pairs], np.int64)
        self.strides = self.strides.reshape(-1, len(shape))
        self.lengths = np.array(shape[1:-1], np.int64)
        self.offsets = np.array([offsets for _, offsets in pairs], np.int64)
        if not pairs:
            self.offsets = np.zeros((0, 1), np.int64)

    @cached_property
    def column_factor(self) -> int | None:
        """The number of the factor that alone belongs to the column of a cell, and to nothing else
        of it; None if there is no such factor, or no sum. It must be the last, unless there are but
        two: another order of the product would have other bits."""
        with_column = np.flatnonzero(self.strides[:, -1])
        if not self.contracted or with_column.size != 1 or self.strides[with_column, :-1].any():
            return None
        number, last = int(with_column[0]), len(self.strides) - 1
        return number if number == last or last == 1 else None

    def factors(self) -> Factors:
        """The values of the factors, and where those of a cell are."""
        arrays = tuple(part.get().reshape(-1) for part in self.labelled)
        return Factors(arrays, self.strides, self.offsets, self.lengths)

    def counters(self) -> tuple[NDArray[np.int64], ...]:
        """Zero counts for each factor that wants them."""
        return tuple(
            np.zeros(self.replicates * prod(self.sizes[d] for d in part.dims), np.int64)
            if want
            else _NOTHING
            for part, want in zip(self.labelled, self.wants, strict=True)
        )

    def shaped(self, counts: tuple[NDArray[np.int64], ...]) -> list[NDArray[np.int64] | None]:
        return [
            count.reshape((self.replicates, *(self.sizes[dim] for dim in part.dims)))
            if want
            else None
            for count, part, want in zip(counts, self.labelled, self.wants, strict=True)
        ]

    def sum_dense(self, counts: NDArray[np.int64]) -> list[NDArray[np.int64] | None]:
        """Without a sum, every factor hears the counts of its own entries."""
        return [
            self._sum(counts, part.dims) if want else None
            for part, want in zip(self.labelled, self.wants, strict=True)
        ]

    def _sum(self, counts: NDArray[np.int64], dims: tuple[str, ...]) -> NDArray[np.int64]:
        named = (*("",) * (3 - len(self.dims)), *self.dims)
        over = tuple(axis + 1 for axis, dim in enumerate(named) if dim not in dims)
        summed = counts.sum(axis=over) if over else counts
        present = [dim for dim in named if dim in dims]
        order = (0, *(present.index(dim) + 1 for dim in dims))
        return np.ascontiguousarray(summed.transpose(order))

    def sum_cells(self, cells: Cells, counts: NDArray[np.int64]) -> list[NDArray[np.int64] | None]:
        return [
            cells.total(counts, part.dims) if want else None
            for part, want in zip(self.labelled, self.wants, strict=True)
        ]
