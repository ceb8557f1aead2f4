"""Sums of products, compiled: from the wiring's `SumProduct` to a function on arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, cached_property, partial
from math import prod
from string import ascii_letters
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.layout import (
    Labelled,
    PartSizes,
    Shape4,
    labelled_number,
    shape4,
    strides_of,
)
from pgbn.engine.data.nonzero import Cells
from pgbn.network.sumproduct import (
    ConstantArray,
    Operand,
    PairMask,
    Precomputed,
    SparseConstant,
    SumProduct,
)
from pgbn.network.terms import Factor, Term
from pgbn.samplers.contract import contract
from pgbn.samplers.executor import SERIAL, Executor
from pgbn.samplers.lanes import sum_rows
from pgbn.samplers.linear_regression import signed_rows
from pgbn.samplers.thinning import Factors, SparseWeights, sum_weighted

# ---- pairs --------------------------------------------------------------------------------------
#
# Sums over pairs that are apart: by sums from the front and from the back, never over all pairs.
#
#     Σ_{i<j} a_i b_j = Σ_j b_j A_{j−1},  A_j = a_1 + … + a_j
#
# where no array varies along both dims. The sum of all less the own entry would cancel.


Reader = Callable[[Operand], Labelled]
Compile = Callable[[SumProduct, Reader], Labelled]


def relation_holds(relation: str, first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether pairs of entries, given by their numbers, are in a relation."""
    if relation == "same":
        return np.asarray(first == second)
    return np.asarray(first < second if relation == "upper" else first != second)


def mask_of(mask: PairMask, sizes: Mapping[str, int]) -> NDArray[np.float64]:
    """1 at the pairs that are in the relation, else 0: (1, first, second)."""
    size = sizes[mask.dims[0]]
    rows, columns = np.ogrid[:size, :size]
    return relation_holds(mask.relation, rows, columns).astype(np.float64)[None]


def without_pairs(
    product: SumProduct, read: Reader, sizes: Mapping[str, int], compile_: Compile
) -> Labelled | None:
    """The product without its mask, where one of the two dims is summed; None if it needs the
    mask as an array."""
    masks = [operand for operand in product.operands if isinstance(operand, PairMask)]
    if len(masks) != 1:
        return None
    mask = masks[0]
    others = [operand for operand in product.operands if operand is not mask]
    if any(set(mask.dims) <= set(operand.dims) for operand in others):
        return None
    inner = next((dim for dim in reversed(mask.dims) if dim in product.summed), None)
    if inner is None:
        return None
    outer = mask.dims[0] if inner == mask.dims[1] else mask.dims[1]
    within = [operand for operand in others if inner in operand.dims]
    beside = [operand for operand in others if inner not in operand.dims]
    made = _summed_pairs(mask, inner, outer, within, beside, product, read, sizes, compile_)
    operand = Precomputed(dims=made.dims, made=made)
    summed = tuple(dim for dim in product.summed if dim == outer or dim in made.dims or any(
        dim in other.dims for other in beside))  # fmt: skip
    left = replace(product, operands=(*beside, operand), summed=summed)
    return compile_(left, lambda each: each.made if isinstance(each, Precomputed) else read(each))


def _summed_pairs(
    mask: PairMask, inner: str, outer: str, within: list[Operand], beside: list[Operand],
    product: SumProduct, read: Reader, sizes: Mapping[str, int], compile_: Compile,
) -> Labelled:  # fmt: skip
    """What varies along ``inner``, summed over the entries in the relation with each of
    ``outer``."""
    if not within:
        ones = np.ones((1, sizes[inner]))
        part = Labelled(lambda: ones, (inner,), 1)
    else:
        elsewhere = {dim for operand in beside for dim in operand.dims}
        every = dict.fromkeys(dim for operand in within for dim in operand.dims)
        own = tuple(d for d in every if d in product.summed and d not in elsewhere and d != inner)
        dims = tuple(dim for dim in every if dim not in own)
        part = compile_(SumProduct(1.0, tuple(within), dims, own, ()), read)
    get, axis = part.get, 1 + part.dims.index(inner)
    dims = tuple(outer if dim == inner else dim for dim in part.dims)
    if mask.relation == "same":
        return Labelled(get, dims, part.replicates)
    before = mask.relation == "distinct" or inner == mask.dims[0]
    after = mask.relation == "distinct" or inner == mask.dims[1]
    return Labelled(lambda: before_and_after(get(), axis, before, after), dims, part.replicates)


def before_and_after(
    array: NDArray[Any], axis: int, before: bool, after: bool
) -> NDArray[np.float64]:
    """At each entry along an axis, the sum of all before it, of all after it, or of both."""
    moved = np.moveaxis(array, axis, 0)
    out = np.zeros(moved.shape)
    if before:
        out[1:] += np.cumsum(moved[:-1], axis=0)
    if after:
        out[:-1] += np.cumsum(moved[:0:-1], axis=0)[::-1]
    return np.ascontiguousarray(np.moveaxis(out, 0, axis))


# ---- parts --------------------------------------------------------------------------------------
#
# One term of a slot, ready for the kernels that share counts out.


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


# ---- weighted -----------------------------------------------------------------------------------
#
# Terms with a sparse constant: a weighted sum over the entries of each of its rows.
#
#     Σ_c w_ic Π_f f[c, …]
#
# is one factor G[i, …] of the term. It is summed through the entries of w, counts are shared out
# to it as to any factor, and what it was given is shared out among the entries of row i: the cost
# grows with the entries of w, never with its rows times its columns.


WeightReader = Callable[[Any], Labelled]
CompileWeights = Callable[[SumProduct, WeightReader], Labelled]


def weights_of(matrix: Any, transposed: bool = False) -> SparseWeights:
    """The entries of a sparse matrix, by its rows or, ``transposed``, by its columns."""
    rows = matrix.T.tocsr() if transposed else matrix
    return SparseWeights(rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data)


class SparseEntries:
    """The values of a sparse matrix at any of its cells."""

    def __init__(self, matrix: Any) -> None:
        weights, (rows, self.width) = weights_of(matrix), matrix.shape
        each = np.repeat(np.arange(rows, dtype=np.int64), np.diff(weights.indptr))
        self.known = np.append(each * self.width + weights.indices, rows * self.width)
        self.values = np.append(weights.values, 0.0)

    def at(self, rows: NDArray[Any], columns: NDArray[Any]) -> NDArray[np.float64]:
        """The values at some cells, 0 where there is no entry."""
        wanted = rows * self.width + columns
        place = np.searchsorted(self.known, wanted)
        return np.where(self.known[place] == wanted, self.values[place], 0.0)


def weighted_product(
    product: SumProduct,
    read: WeightReader,
    sizes: Mapping[str, int],
    executor: Executor,
    compile_: CompileWeights,
) -> Labelled:
    """A sum of products with a sparse constant, one of whose dims is summed through its entries.

    An array that has both of its dims is as large as the whole matrix, as is the result if none of
    them is summed: then the matrix is used as a whole.
    """
    (sparse,) = (o for o in product.operands if isinstance(o, SparseConstant))
    others = tuple(operand for operand in product.operands if operand is not sparse)
    alone = [
        dim for dim in sparse.dims
        if dim in product.summed and not any(dim in other.dims for other in others)
    ]  # fmt: skip
    if alone:
        axis = sparse.dims.index(alone[0])
        dims, total = (sparse.dims[1 - axis],), np.asarray(sparse.value.sum(axis=axis))
        vector = ConstantArray(dims=dims, value=total)
        summed = tuple(dim for dim in product.summed if dim != alone[0])
        return compile_(replace(product, operands=(vector, *others), summed=summed), read)
    both = any(set(sparse.dims) <= set(other.dims) for other in others)
    column = next((dim for dim in reversed(sparse.dims) if dim in product.summed), None)
    if both or column is None:
        # made when it is read: of data by cells nobody reads it
        array = cache(lambda: np.asarray(sparse.value.toarray())[None])
        whole = Precomputed(dims=sparse.dims, made=Labelled(array, sparse.dims, 1))
        return compile_(replace(product, operands=(whole, *others)), _with_made(read))
    inner = tuple(other for other in others if column in other.dims)
    outer = tuple(other for other in others if column not in other.dims)
    elsewhere = {*sparse.dims, *(dim for other in outer for dim in other.dims)}
    every = dict.fromkeys(dim for other in inner for dim in other.dims)
    own = tuple(dim for dim in every if dim in product.summed and dim not in elsewhere)
    kept = tuple(dim for dim in every if dim not in own)
    value = compile_(SumProduct(1.0, inner, kept, own, ()), read)
    made = _summed_weighted(sparse, column, value, sizes, executor)
    summed = tuple(dim for dim in product.summed if dim not in (column, *own))
    operand = Precomputed(dims=made.dims, made=made)
    left = replace(product, operands=(*outer, operand), summed=summed)
    return compile_(left, _with_made(read))


def _with_made(read: WeightReader) -> WeightReader:
    return lambda each: each.made if isinstance(each, Precomputed) else read(each)


def _summed_weighted(
    sparse: SparseConstant,
    column: str,
    value: Labelled,
    sizes: Mapping[str, int],
    executor: Executor,
) -> Labelled:
    """Σ_column w · value, where the value has the dim ``column`` and not the other dim of w."""
    row = sparse.dims[0] if column == sparse.dims[1] else sparse.dims[1]
    weights = weights_of(sparse.value, row != sparse.dims[0])
    axis, rest = value.dims.index(column) + 1, tuple(d for d in value.dims if d != column)
    inner, shape = prod(sizes[dim] for dim in rest), [sizes[dim] for dim in rest]
    rows, copies, get = sizes[row], value.replicates, value.get
    use = executor if copies * weights.values.size * inner > 1_000_000 else SERIAL
    last: list[Any] = [None, None]

    def total() -> NDArray[np.float64]:
        # values are replaced, never changed in place: the same array gives the same sum
        array = get()
        if array is not last[0]:
            flat = np.ascontiguousarray(np.moveaxis(array, axis, 1), np.float64)
            out = np.empty((copies, rows, inner))
            use.rows(sum_weighted, copies * rows, 0, weights, flat.reshape(copies, -1, inner), out)
            last[:] = array, out.reshape(copies, rows, *shape)
        return np.asarray(last[1])

    return Labelled(total, (row, *rest), copies)


class Weighted:
    """The sparse constant of a term, and the factors that it is summed with, as one factor.

    ``outer`` is the term with that factor, ``made``, in their place; ``inner`` has the factors of
    which counts of ``made`` are counts in the end.
    """

    def __init__(
        self,
        term: Term,
        sizes: Mapping[str, int],
        replicates: int,
        read: Callable[[Factor], Labelled],
        wants: Callable[[Factor], bool],
        evaluate: Callable[[Term], Labelled],
    ) -> None:
        sparse = next(factor for factor in term.factors if factor.is_sparse)
        column = next(dim for dim in reversed(sparse.dims) if dim in term.contracted)
        row = sparse.dims[0] if column == sparse.dims[1] else sparse.dims[1]
        within = tuple(f for f in term.factors if f is not sparse and column in f.dims)
        every = dict.fromkeys(dim for factor in within for dim in factor.dims)
        self.dims = (row, *(dim for dim in every if dim not in (row, column)))
        self.term, self.within, self.sizes, self.replicates = term, within, sizes, replicates
        self.value = evaluate(Term(1.0, (sparse, *within), (column,)))
        self.made = Factor("", self.dims)
        others = tuple(f for f in term.factors if f is not sparse and f not in within)
        left = tuple(dim for dim in term.contracted if dim != column)
        self.outer = replace(term, factors=(self.made, *others), contracted=left)
        self.wanted = any(wants(factor) for factor in within)
        shape = shape4(self.dims, sizes, replicates)
        self.inner = Part(Term(1.0, within, (column,)), self.dims, shape, sizes, read, wants)
        self.weights = weights_of(sparse.constant, row != sparse.dims[0])
        self.span = prod(sizes[dim] for dim in self.dims[1:])

    def reader(self, read: Callable[[Factor], Labelled]) -> Callable[[Factor], Labelled]:
        """Reads ``made`` too."""
        return lambda factor: self.value if factor is self.made else read(factor)

    def wanting(self, wants: Callable[[Factor], bool]) -> Callable[[Factor], bool]:
        """``made`` wants counts if one of its factors does."""
        return lambda factor: self.wanted if factor is self.made else wants(factor)

    def lines(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts of ``made``, (R, *its dims), as rows × columns, the rows of w first."""
        order = (0, *(self.value.dims.index(dim) + 1 for dim in self.dims))
        last = self.inner.shape[-1]
        return np.ascontiguousarray(counts.transpose(order)).reshape(-1, last)

    def in_place(
        self, outer: list[NDArray[np.int64] | None], inner: list[NDArray[np.int64] | None]
    ) -> list[NDArray[np.int64] | None]:
        """The counts of every factor of the term, in their order."""
        found = dict(zip(self.outer.factors, outer, strict=True))
        found |= dict(zip(self.within, inner, strict=True))
        return [found.get(factor) for factor in self.term.factors]


# ---- products -----------------------------------------------------------------------------------


SMALL = 2**16  # products below which the order of sums does not matter
_MANY = 500_000  # summands from which on threads pay


def compile_product(
    product: SumProduct, read: Reader, sizes: Mapping[str, int], executor: Executor = SERIAL
) -> Labelled:
    """The function that computes a sum of products from what ``read`` gives for each operand."""
    if any(isinstance(operand, SparseConstant) for operand in product.operands):
        again = partial(compile_product, sizes=sizes, executor=executor)
        return weighted_product(product, read, sizes, executor, again)
    if any(isinstance(operand, PairMask) for operand in product.operands):
        paired = without_pairs(product, read, sizes, lambda p, r: compile_product(p, r, sizes))
        if paired is not None:
            return paired
    coefficient = product.coefficient * prod(sizes[dim] for dim in product.repeated)
    parts = []
    for operand in product.operands:
        part = read(operand)
        if part.value is not None:
            coefficient *= part.value
        else:
            parts.append(part)
    present = {dim for part in parts for dim in part.dims}
    # an operand may turn out to lack a dim that it was declared with: then it is repeated
    coefficient *= prod(sizes[dim] for dim in product.summed if dim not in present)
    summed = tuple(dim for dim in product.summed if dim in present)
    if not parts:
        return labelled_number(coefficient)
    if len(parts) == 1:
        return _scaled(_sum_out(parts[0], summed, executor), coefficient)
    if any(operand.real for operand in product.operands):
        return _scaled(_signed(parts, summed, sizes, executor), coefficient)
    if len(parts) == 2 and len(summed) == 1:
        pair = _matrix_product(parts[0], parts[1], summed[0], sizes, executor)
        if pair is not None:
            return _scaled(pair, coefficient)
    every = {dim for part in parts for dim in part.dims}
    work = max(part.replicates for part in parts) * prod(_whole(sizes)[dim] for dim in every)
    whole = _in_order(parts, summed, sizes, executor) if work > SMALL else _einsum(parts, summed)
    return _scaled(whole, coefficient)


def _whole(sizes: Mapping[str, int]) -> Mapping[str, int]:
    """The sizes by which it is decided how a sum is made."""
    return sizes.whole if isinstance(sizes, PartSizes) else sizes


def _signed(
    parts: list[Labelled], summed: tuple[str, ...], sizes: Mapping[str, int], executor: Executor
) -> Labelled:
    """Σ_summed Π parts, of any signs. (What is above multiplies proportions: it leaves out what is
    not positive.)"""
    if len(parts) == 2 and len(summed) == 1:
        one, other = (_last(part, summed[0]) for part in parts)
        pair = _matrix_product(one, other, summed[0], sizes, executor, signed_rows)
        if pair is not None:
            return pair
    return _einsum(parts, summed)


def _in_order(
    parts: list[Labelled], summed: tuple[str, ...], sizes: Mapping[str, int], executor: Executor
) -> Labelled:
    """Σ_summed Π parts, summed over one dim after another instead of over all at once.

    Σ_{j,l,m} θ_jk ψ_lk χ_mk is (Σ_j θ_jk)(Σ_l ψ_lk)(Σ_m χ_mk): the cost grows with the arrays and
    not with the product of the sizes. The next dim is the one whose sum is the cheapest.
    """
    left = list(summed)
    while left:
        holders = {dim: [part for part in parts if dim in part.dims] for dim in left}
        costs = [prod(_whole(sizes)[d] for d in {d for part in holders[dim] for d in part.dims})
                 for dim in left]  # fmt: skip
        dim = left.pop(costs.index(min(costs)))
        found = _summed(holders[dim], dim, sizes, executor)
        parts = [part for part in parts if dim not in part.dims] + [found]
    return _einsum(parts, ()) if len(parts) > 1 else parts[0]


def _summed(
    parts: list[Labelled], dim: str, sizes: Mapping[str, int], executor: Executor
) -> Labelled:
    """Σ_dim Π parts, which all have the dim."""
    parts = _folded(parts, sizes)
    if len(parts) == 1:
        return _sum_out(parts[0], (dim,), executor)
    if len(parts) == 2:
        pair = _matrix_product(_last(parts[0], dim), _last(parts[1], dim), dim, sizes, executor)
        if pair is not None:
            return pair
    return _einsum(parts, (dim,))


def _folded(parts: list[Labelled], sizes: Mapping[str, int]) -> list[Labelled]:
    """The same product of fewer parts, two if that can be: a part whose dims another one has all is
    multiplied into it first. Σ_j m_jv s_j θ_jk is then a product of two matrices."""
    parts = sorted(parts, key=lambda part: prod(_whole(sizes)[dim] for dim in part.dims))
    for small in parts[:-1]:
        large = next((p for p in parts if p is not small and set(small.dims) <= set(p.dims)), None)
        if len(parts) > 2 and large is not None:
            others = [part for part in parts if part is not small and part is not large]
            return _folded([*others, _einsum([large, small], ())], sizes)
    return parts


def _last(part: Labelled, dim: str) -> Labelled:
    """The same with one of its dims last."""
    if part.dims[-1] == dim:
        return part
    get, axis = part.get, part.dims.index(dim) + 1
    dims = tuple(other for other in part.dims if other != dim)
    return Labelled(lambda: np.ascontiguousarray(np.moveaxis(get(), axis, -1)), (*dims, dim),
                    part.replicates)  # fmt: skip


def _scaled(part: Labelled, coefficient: float) -> Labelled:
    if coefficient == 1.0:
        return part
    get = part.get
    return Labelled(lambda: get() * coefficient, part.dims, part.replicates)


def _sum_out(part: Labelled, summed: tuple[str, ...], executor: Executor) -> Labelled:
    if not summed:
        return part
    get = part.get
    axes = tuple(part.dims.index(dim) + 1 for dim in summed)
    dims = tuple(dim for dim in part.dims if dim not in summed)
    if axes != (len(part.dims),):
        return Labelled(lambda: get().sum(axis=axes), dims, part.replicates)

    return Labelled(lambda: _row_sums(get(), executor), dims, part.replicates)


def _row_sums(value: Any, executor: Executor) -> Any:
    """Σ over the last axis: many rows on all threads, and block by block where they are not to be
    in memory all at once."""
    lines = value.reshape(-1, value.shape[-1]) if value.flags.c_contiguous and value.size else None
    if lines is None or (value.dtype != np.float64 and value.dtype.kind != "i"):
        return value.sum(axis=-1)
    kind = np.float64 if value.dtype == np.float64 else np.int64
    out = np.empty(value.shape[:-1], kind)
    flat = out.reshape(-1)

    def add(start: int, stop: int) -> None:
        if kind is np.float64:
            sum_rows(np.uint64(0), start, stop, lines, flat)
        else:
            lines[start:stop].sum(axis=-1, out=flat[start:stop])

    large = lines.size >= _MANY or executor.memory is not None
    ranges = executor.shares(len(lines), lines) if large else [(0, len(lines))]
    executor.calls([partial(add, start, stop) for start, stop in ranges])
    return out


def _matrix_product(
    a: Labelled, b: Labelled, inner: str, sizes: Mapping[str, int], executor: Executor,
    kernel: Callable[..., None] = contract,
) -> Labelled | None:  # fmt: skip
    """Σ_inner a·b where the two share no other dim and ``inner`` is last in both."""
    left, right = a.dims[:-1], b.dims[:-1]
    if a.dims[-1:] != (inner,) or b.dims[-1:] != (inner,) or set(left) & set(right):
        return None
    # the rows of the kernel are those of a: one matrix b that all replicates share is loaded once
    whole = _whole(sizes)
    rows_of_a = (a.replicates, prod(whole[dim] for dim in left))
    if rows_of_a < (b.replicates, prod(whole[dim] for dim in right)):
        a, b, left, right = b, a, right, left
    get_a, get_b = a.get, b.get
    replicates = max(a.replicates, b.replicates)
    size, columns = prod(sizes[dim] for dim in left), prod(sizes[dim] for dim in right)
    shape_a = (a.replicates, size, sizes[inner])
    shape_b = (b.replicates, columns, sizes[inner])
    rows, work = replicates * size, replicates * size * columns * sizes[inner]
    use = executor if work > 1_000_000 else SERIAL
    shape = (replicates, *(sizes[dim] for dim in (*left, *right)))

    last: list[Any] = [None, None, None]

    def get() -> Any:
        # values are replaced, never changed in place: the same arrays give the same product
        left, right = get_a(), get_b()
        if left is not last[0] or right is not last[1]:
            out = use.empty((replicates, size, columns), np.float64)
            use.rows(kernel, rows, 0, left.reshape(shape_a), right.reshape(shape_b), out,
                     np.float64)  # fmt: skip
            last[:] = left, right, out.reshape(shape)
        return last[2]

    return Labelled(get, (*left, *right), replicates)


def _einsum(parts: list[Labelled], summed: tuple[str, ...]) -> Labelled:
    every = list(dict.fromkeys(dim for part in parts for dim in part.dims))
    letters = dict(zip(every, ascii_letters, strict=False))
    replicates = max(part.replicates for part in parts)
    names = [
        ("Z" if part.replicates > 1 or replicates == 1 else "")
        + "".join(letters[dim] for dim in part.dims)
        for part in parts
    ]
    dims = tuple(dim for dim in every if dim not in summed)
    formula = ",".join(names) + "->Z" + "".join(letters[dim] for dim in dims)
    drop = [part.replicates == 1 and replicates > 1 for part in parts]
    gets = [part.get for part in parts]

    def get() -> Any:
        arrays = [g()[0] if d else g() for g, d in zip(gets, drop, strict=True)]
        return np.ascontiguousarray(np.einsum(formula, *arrays))  # kernels read it row by row

    return Labelled(get, dims, replicates)
