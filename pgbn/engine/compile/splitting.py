"""Sharing counts among the terms of a slot and the factors of each term."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.layout import Labelled, Shape4, align
from pgbn.engine.compile.products import Part, SparseEntries, Weighted, relation_holds
from pgbn.engine.data.nonzero import Cells
from pgbn.network.terms import Factor, Term
from pgbn.samplers.content import ContentKeyed
from pgbn.samplers.executor import Executor
from pgbn.samplers.random import Stream, stream_key
from pgbn.samplers.rows import PARALLEL
from pgbn.samplers.shard import ShardRows
from pgbn.samplers.sharing import share_out
from pgbn.samplers.thinning import (
    SparseCounts,
    cell_rates,
    column_rates,
    thin_cells,
    thin_dense,
    thin_weighted,
)


class Splitter:
    """Shares the counts of a child among the factors of the terms of one slot.

    ``dims`` are the child's dims in storage order. ``read`` gives a factor's value, ``wants``
    whether it is to be told its counts, ``evaluate`` the value of a whole term.
    """

    def __init__(
        self,
        terms: tuple[Term, ...],
        dims: tuple[str, ...],
        shape: Shape4,
        sizes: Mapping[str, int],
        read: Callable[[Factor], Labelled],
        wants: Callable[[Factor], bool],
        evaluate: Callable[[Term], Labelled],
        executor: Executor,
    ) -> None:
        self.terms, self.dims, self.shape, self.sizes = terms, dims, shape, sizes
        self.executor = executor
        # a sparse constant of which no dim is summed is a number at each cell
        self.weighted = [
            Weighted(term, sizes, shape[0], read, wants, evaluate)
            if any(f.is_sparse and set(f.dims) & set(term.contracted) for f in term.factors)
            else None
            for term in terms
        ]
        self.parts = [
            Part(term, dims, shape, sizes, read, wants)
            if made is None
            else Part(made.outer, dims, shape, sizes, made.reader(read), made.wanting(wants))
            for term, made in zip(terms, self.weighted, strict=True)
        ]
        every = [factor for part in self.parts for factor in part.pairs if factor.is_sparse]
        self.entries = {factor: SparseEntries(factor.constant) for factor in every}
        self.values = [align(evaluate(term), dims, sizes) for term in terms]

    def dense(self, key: int, counts: NDArray[np.int64]) -> list[list[NDArray[np.int64] | None]]:
        """For every term, the counts of each of its factors, from a 4-d array of counts."""
        shares = self._among_terms(key, counts)
        out = []
        for number, (part, share) in enumerate(zip(self.parts, shares, strict=True)):
            if not part.contracted:
                out.append(self._among_entries(key, number, part.sum_dense(share)))
                continue
            lines = share.reshape(-1, share.shape[-1])
            word = self.executor.row_key(stream_key(key, number + 1), len(lines))
            found = self._run(part, len(lines), share.size, partial(thin_dense, word), (lines,))
            out.append(self._among_entries(key, number, found))
        return out

    def cells(
        self, key: int, cells: Cells, counts: NDArray[np.int64]
    ) -> list[list[NDArray[np.int64] | None]]:
        """The same from the counts of sparse cells."""
        shares = [counts]
        if len(self.parts) > 1:
            rates = [self.cell_rate(cells, part) for part in self.parts]
            executor = cell_executor(self.executor, cells)
            stream = Stream(key, (1, 1, counts.size, 1), executor)
            split = share_out(stream, counts[None, None, :, None], rates)
            shares = [share.reshape(-1) for share in split]
        out = []
        for number, (part, share) in enumerate(zip(self.parts, shares, strict=True)):
            if not part.contracted:
                out.append(self._among_entries(key, number, part.sum_cells(cells, share)))
                continue
            word = self.executor.row_key(stream_key(key, number + 1), cells.rows)
            pattern = (SparseCounts(cells.starts, cells.indices, share), cells.numbers)
            kernel = partial(thin_cells, word)
            found = self._run(part, cells.rows, share.size, kernel, pattern)
            out.append(self._among_entries(key, number, found))
        return out

    def _among_entries(
        self, key: int, number: int, counts: list[NDArray[np.int64] | None]
    ) -> list[NDArray[np.int64] | None]:
        """The counts of the factors of a term, from those of the factors of its part: what a sum
        over the entries of a sparse constant was given is shared out among these."""
        made = self.weighted[number]
        if made is None:
            return counts
        inner: list[NDArray[np.int64] | None] = [None] * len(made.within)
        if counts[0] is not None:
            lines = made.lines(counts[0])
            word = self.executor.row_key(stream_key(key, number + 1, 1), len(lines))
            kernel, pattern = partial(thin_weighted, word), (lines, made.weights, made.span)
            inner = self._run(made.inner, len(lines), lines.size, kernel, pattern)
        return made.in_place(counts, inner)

    def cell_rate(self, cells: Cells, part: Part) -> NDArray[np.float64]:
        """The value of one term at every cell, as a 4-d column."""
        if not part.term.factors:
            return np.full((1, 1, cells.values.size, 1), part.term.coefficient)
        out = np.empty(cells.values.size)
        kernel: Callable[..., Any] = cell_rates
        given: tuple[Any, ...] = (cells.starts, cells.indices, cells.numbers, part.factors())
        if part.column_factor is not None:
            kernel, given = column_rates, (*given, part.column_factor)
        self.executor.calls([
            partial(kernel, start, stop, *given, out)
            for start, stop in blocks_of(cells.rows, self.executor.workers)
        ])  # fmt: skip
        for pair in part.pairs:
            first, second = (cells.positions((dim,), 1) for dim in pair.dims)
            out *= (self.entries[pair].at(first, second) if pair.is_sparse
                    else relation_holds(pair.relation or "", first, second))  # fmt: skip
        return (out * part.term.coefficient)[None, None, :, None]

    def rates(self, cells: Cells) -> NDArray[np.float64]:
        """The value of the whole slot at every cell, as a 4-d column."""
        return sum((self.cell_rate(cells, part) for part in self.parts[1:]),
                   self.cell_rate(cells, self.parts[0]))  # fmt: skip

    def _among_terms(self, key: int, counts: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        if len(self.parts) == 1:
            return [counts]
        zero = np.zeros(counts.shape)
        stream = Stream(key, counts.shape, self.executor)
        return share_out(stream, counts, [value() + zero for value in self.values])

    def _run(
        self,
        part: Part,
        rows: int,
        work: int,
        kernel: Callable[..., Any],
        pattern: tuple[Any, ...],
    ) -> list[NDArray[np.int64] | None]:
        """Run a thinning kernel on blocks of rows, each with counters of its own, and add them."""
        factors = part.factors()
        blocks = blocks_of(rows, self.executor.workers if work > PARALLEL else 1)
        counters = [part.counters() for _ in blocks]
        self.executor.calls([
            partial(kernel, start, stop, *pattern, factors, own)
            for (start, stop), own in zip(blocks, counters, strict=True)
        ])  # fmt: skip
        for own in counters[1:]:
            for total, extra in zip(counters[0], own, strict=True):
                total += extra
        return part.shaped(counters[0])


def blocks_of(rows: int, blocks: int) -> list[tuple[int, int]]:
    """``range(rows)`` cut into about equal ranges."""
    edges = [rows * block // blocks for block in range(blocks + 1)]
    return list(pairwise(edges))


def cell_executor(executor: Executor, cells: Cells, width: int = 1) -> Executor:
    """What draws for each cell of data, or groups of ``width`` (`Cells.groups`); by their content,
    where rows are known by theirs."""
    if isinstance(executor, ShardRows):
        if width == 1:
            return executor.at(cells.before, cells.values.size)
        return executor.at(cells.groups_before, sum(cells.groups(width)))
    if not isinstance(executor, ContentKeyed):
        return executor
    each = cells.rows // cells.replicates
    return executor.at_cells(cells.indptr[::each])
