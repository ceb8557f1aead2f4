"""Sharing counts among the terms of a slot and the factors of each term."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.products import (
    Labelled,
    Shape4,
    SparseEntries,
    align,
    relation_holds,
    shape4,
    turned,
    weights_of,
)
from pgbn.engine.data.cells import Cells
from pgbn.network.terms import Factor, Term
from pgbn.nodes.base import Node
from pgbn.samplers.content import ContentKeyed, ShardRows
from pgbn.samplers.executor import Executor
from pgbn.samplers.random import Stream, stream_key
from pgbn.samplers.rows import PARALLEL
from pgbn.samplers.sharing import share_out
from pgbn.samplers.thinning import (
    Factors,
    SparseCounts,
    cell_rates,
    column_rates,
    thin_cells,
    thin_dense,
    thin_weighted,
)

if TYPE_CHECKING:
    from pgbn.engine.compile.program import Program


FactorCounts = list[NDArray[np.int64] | None]  # None: the factor needs none
_NOTHING = np.zeros(0, np.int64)
_ONE = Labelled(lambda: np.ones(1), (), 1)


class FactorReader(Protocol):
    """The source of a splitter: a program, or a program at one row of time."""

    def factor(self, factor: Factor) -> Labelled:
        """The value of a factor."""

    def term(self, term: Term) -> Labelled:
        """The value of a term."""

    def wants(self, factor: Factor) -> bool:
        """Whether a factor receives its counts."""


class Part:
    """One term, ready for the kernels."""

    def __init__(
        self, term: Term, dims: tuple[str, ...], shape: Shape4, sizes: Mapping[str, int],
        reader: FactorReader, made: Labelled | None = None, made_wants: bool = False,
    ) -> None:  # fmt: skip
        """``made`` is the value of the first factor, if this was made for the term, and
        ``made_wants`` whether it wants counts."""
        self.term, self.contracted, self.dims, self.sizes = term, term.contracted, dims, sizes
        self.shape, self.replicates = shape, shape[0]
        # The child has no counts where its two dims are not in a relation; elsewhere the factor is
        # 1. A sparse constant of two dims of the child is the same for all summands.
        self.pairs = [
            f for f in term.factors if (f.relation or f.is_sparse) and set(f.dims) <= set(dims)
        ]
        own = term.factors if made is None else term.factors[1:]
        self.labelled = [] if made is None else [made]
        self.labelled += [_ONE if f in self.pairs else reader.factor(f) for f in own]
        self.wants = [] if made is None else [made_wants]
        self.wants += [reader.wants(factor) for factor in own]
        places = [self._strides(part) for part in self.labelled]
        self.strides = np.array([strides for strides, _ in places], np.int64)
        self.strides = self.strides.reshape(-1, len(shape))
        self.lengths = np.array(shape[1:-1], np.int64)
        self.offsets = np.array([offsets for _, offsets in places], np.int64)
        if not places:
            self.offsets = np.zeros((0, 1), np.int64)

    def _strides(self, part: Labelled) -> tuple[list[int], NDArray[np.int64]]:
        """Strides of an array, flat, along (replicate, *dims padded to 3), and its offset for every
        combination of the dims that are summed."""
        sizes, steps, step = self.sizes, dict[str, int](), 1
        for dim in reversed(part.dims):
            steps[dim], step = step, step * sizes[dim]
        strides = [step if part.replicates > 1 else 0]
        strides += [0] * (3 - len(self.dims)) + [steps.get(dim, 0) for dim in self.dims]
        offsets = np.zeros(1, np.int64)
        for dim in self.contracted:
            along = np.arange(sizes[dim], dtype=np.int64) * steps.get(dim, 0)
            offsets = (offsets[:, None] + along[None, :]).reshape(-1)
        return strides, offsets

    @cached_property
    def column_factor(self) -> int | None:
        """The number of the one factor that depends on the column of a cell, and on nothing else of
        it. None if there is no such factor, or no sum. It must be the last of more than two:
        another order of the product would change bits."""
        with_column = np.flatnonzero(self.strides[:, -1])
        if not self.contracted or with_column.size != 1 or self.strides[with_column, :-1].any():
            return None
        number, last = int(with_column[0]), len(self.strides) - 1
        return number if number == last or last == 1 else None

    def factors(self) -> Factors:
        """The values of the factors, and where those of a cell are."""
        arrays = tuple(part.get().reshape(-1) for part in self.labelled)
        return Factors(arrays, self.strides, self.offsets, self.lengths)

    def _for_each(self, make: Callable[[Labelled], NDArray[np.int64]]) -> FactorCounts:
        pairs = zip(self.labelled, self.wants, strict=True)
        return [make(part) if want else None for part, want in pairs]

    def _shape(self, part: Labelled) -> tuple[int, ...]:
        return (self.replicates, *(self.sizes[dim] for dim in part.dims))

    def counters(self) -> tuple[NDArray[np.int64], ...]:
        """Zero counts for each factor that wants them, flat."""
        zeros = self._for_each(lambda part: np.zeros(prod(self._shape(part)), np.int64))
        return tuple(_NOTHING if each is None else each for each in zeros)

    def shaped(self, counts: tuple[NDArray[np.int64], ...]) -> FactorCounts:
        """The same with the dims of the factors."""
        return [
            each.reshape(self._shape(part)) if want else None
            for each, part, want in zip(counts, self.labelled, self.wants, strict=True)
        ]

    def sum_dense(self, counts: NDArray[np.int64]) -> FactorCounts:
        """Without a sum, every factor receives the counts of its own entries."""
        named = (*("",) * (3 - len(self.dims)), *self.dims)

        def total(part: Labelled) -> NDArray[np.int64]:
            over = tuple(axis + 1 for axis, dim in enumerate(named) if dim not in part.dims)
            summed = counts.sum(axis=over) if over else counts
            present = tuple(dim for dim in named if dim in part.dims)
            return np.ascontiguousarray(turned(summed, present, part.dims))

        return self._for_each(total)

    def sum_cells(self, cells: Cells, counts: NDArray[np.int64]) -> FactorCounts:
        """The same from the counts of sparse cells."""
        return self._for_each(lambda part: cells.total(counts, part.dims))


class Weighted:
    """The sparse constant of a term, and the factors that it is summed with, as one factor.

        Σ_c w_ic Π_f f[c, …]  =  G[i, …]

    ``outer`` is the part of the term with G, the first factor, in their place. Counts are shared
    out to G as to any factor, and then, by ``inner``, among the entries of row i. The cost grows
    with the entries of w, never with its rows times its columns.
    """

    def __init__(
        self, term: Term, dims: tuple[str, ...], shape: Shape4, sizes: Mapping[str, int],
        reader: FactorReader,
    ) -> None:  # fmt: skip
        sparse = next(factor for factor in term.factors if factor.is_sparse)
        column = next(dim for dim in reversed(sparse.dims) if dim in term.contracted)
        row = sparse.dims[0] if column == sparse.dims[1] else sparse.dims[1]
        self.within = tuple(f for f in term.factors if f is not sparse and column in f.dims)
        every = dict.fromkeys(dim for factor in self.within for dim in factor.dims)
        self.term = term
        self.dims = (row, *(dim for dim in every if dim not in (row, column)))
        self.value = reader.term(Term(1.0, (sparse, *self.within), (column,)))
        others = tuple(f for f in term.factors if f is not sparse and f not in self.within)
        left = tuple(dim for dim in term.contracted if dim != column)
        outer = replace(term, factors=(Factor("", self.dims), *others), contracted=left)
        wanted = any(reader.wants(factor) for factor in self.within)
        self.outer = Part(outer, dims, shape, sizes, reader, self.value, wanted)
        own_shape = shape4(self.dims, sizes, shape[0])
        inner = Term(1.0, self.within, (column,))
        self.inner = Part(inner, self.dims, own_shape, sizes, reader)
        self.weights = weights_of(sparse.constant, row != sparse.dims[0])
        self.span = prod(sizes[dim] for dim in self.dims[1:])

    def lines(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts of G, (R, *its dims), as rows × columns, the rows of w first."""
        return turned(counts, self.value.dims, self.dims).reshape(-1, self.inner.shape[-1])

    def in_place(self, outer: FactorCounts, inner: FactorCounts) -> FactorCounts:
        """The counts of every factor of the term, in their order."""
        found = dict(zip(self.outer.term.factors, outer, strict=True))
        found |= dict(zip(self.within, inner, strict=True))
        return [found.get(factor) for factor in self.term.factors]


class Splitter:
    """Shares the counts of a child among the factors of the terms of one slot.

    ``dims`` are the child's dims in storage order, ``shape`` is that of its counts. ``reader``
    gives the values of factors and terms, if it is not the program itself.
    """

    def __init__(
        self, program: Program, terms: tuple[Term, ...], dims: tuple[str, ...], shape: Shape4,
        reader: FactorReader | None = None,
    ) -> None:  # fmt: skip
        self.program, self.executor, self.terms = program, program.executor, terms
        given: tuple[Any, ...] = (dims, shape, program.sizes, reader or program)
        # a sparse constant of which no dim is summed is a number at each cell
        self.weighted = [
            Weighted(term, *given)
            if any(f.is_sparse and set(f.dims) & set(term.contracted) for f in term.factors)
            else None
            for term in terms
        ]
        self.parts = [
            Part(term, *given) if made is None else made.outer
            for term, made in zip(terms, self.weighted, strict=True)
        ]
        every = [factor for part in self.parts for factor in part.pairs if factor.is_sparse]
        self.entries = {factor: SparseEntries(factor.constant) for factor in every}
        read = reader or program
        self.values = [align(read.term(term), dims, program.sizes).get for term in terms]
        self.operations = {
            factor: program.operation(factor.through.operation)
            for term in terms for factor in term.factors if factor.through
        }  # fmt: skip

    def deliver(self, child: Node, slot: str, key: int, shares: list[FactorCounts]) -> None:
        """Keep the counts of each factor, added up over the terms that hold it; those of an
        operation are shared out among the entries of its operands."""
        received: set[str] = set()
        for number, (term, share) in enumerate(zip(self.terms, shares, strict=True)):
            for place, (factor, counts) in enumerate(zip(term.factors, share, strict=True)):
                if counts is None:
                    continue
                found = [(factor, counts)]
                if factor in self.operations:
                    word = stream_key(key, 5, number, place)
                    found = self.operations[factor].split(child.name, slot, word, counts)
                for each, own in found:
                    self.program.keep_counts(child.name, each, own, received)

    def dense(self, key: int, counts: NDArray[np.int64]) -> list[FactorCounts]:
        """For every term, the counts of each of its factors, from a 4-d array of counts."""
        shares = self._among_terms(key, counts)
        out = []
        for number, (part, share) in enumerate(zip(self.parts, shares, strict=True)):
            if part.contracted:
                lines = share.reshape(-1, share.shape[-1])
                word = self.executor.row_key(stream_key(key, number + 1), len(lines))
                kernel = partial(thin_dense, word)
                found = self._run(part, len(lines), share.size, kernel, (lines,))
            else:
                found = part.sum_dense(share)
            out.append(self._among_entries(key, number, found))
        return out

    def cells(self, key: int, cells: Cells, counts: NDArray[np.int64]) -> list[FactorCounts]:
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
            if part.contracted:
                word = self.executor.row_key(stream_key(key, number + 1), cells.rows)
                pattern = (SparseCounts(cells.starts, cells.indices, share), cells.numbers)
                kernel = partial(thin_cells, word)
                found = self._run(part, cells.rows, share.size, kernel, pattern)
            else:
                found = part.sum_cells(cells, share)
            out.append(self._among_entries(key, number, found))
        return out

    def _among_entries(self, key: int, number: int, counts: FactorCounts) -> FactorCounts:
        """The counts of the factors of a term, from those of the factors of its part. The counts of
        a sum over the entries of a sparse constant are shared out among these."""
        made = self.weighted[number]
        if made is None:
            return counts
        inner: FactorCounts = [None] * len(made.within)
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
        """The value of the slot, all terms, at every cell, as a 4-d column."""
        return sum((self.cell_rate(cells, part) for part in self.parts[1:]),
                   self.cell_rate(cells, self.parts[0]))  # fmt: skip

    def _among_terms(self, key: int, counts: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        if len(self.parts) == 1:
            return [counts]
        zero = np.zeros(counts.shape)
        stream = Stream(key, counts.shape, self.executor)
        return share_out(stream, counts, [value() + zero for value in self.values])

    def _run(
        self, part: Part, rows: int, work: int, kernel: Callable[..., Any],
        pattern: tuple[Any, ...],
    ) -> FactorCounts:  # fmt: skip
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
    """The executor with a stream for each cell of data, or for groups of ``width`` cells
    (`Cells.groups`). Streams are keyed by content if rows are identified by theirs."""
    if isinstance(executor, ShardRows):
        if width == 1:
            return executor.at(cells.before, cells.values.size)
        return executor.at(cells.groups_before, sum(cells.groups(width)))
    if not isinstance(executor, ContentKeyed):
        return executor
    each = cells.rows // cells.replicates
    return executor.at_cells(cells.indptr[::each])


def splitter_of(program: Program, node: Node, slot: str) -> Splitter:
    """The splitter that shares the counts of a node among the factors in its slot."""
    terms = program.wiring.polynomials[node.name, slot].terms
    return Splitter(program, terms, program.storage[node.name], program.shape4[node.name])
