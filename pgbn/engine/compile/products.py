"""Labelled arrays, and sums of products of them: their values downward, their counts upward.

A slot is a sum of products. `Products` makes the function that computes its value, and `Splitter`
shares counts among the factors of its terms.

Every array has the replicate axis first (size R, or 1 for constants) and then one axis for each of
its dims. An array that is *aligned with a node* is 4-d: (replicate, d1, d2, d3). These are the
node's dims in storage order, filled up with ones on the left, so that arrays broadcast as in numpy.
A node with more than three dims has an axis for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import pairwise
from math import prod
from string import ascii_letters
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.data.cells import Cells
from pgbn.network.sumproduct import (
    ConstantArray,
    Operand,
    PairMask,
    Precomputed,
    SparseConstant,
    SumProduct,
)
from pgbn.network.terms import Factor, Term
from pgbn.network.wiring import Wiring
from pgbn.nodes.base import Node
from pgbn.samplers.executor import SERIAL, Executor
from pgbn.samplers.linear_regression import signed_rows
from pgbn.samplers.random import ContentKeyed, ShardRows, Stream, stream_key
from pgbn.samplers.row_kernels import PARALLEL, contract, sum_rows
from pgbn.samplers.thinning import (
    Factors,
    SparseCounts,
    SparseWeights,
    cell_rates,
    column_rates,
    share_out,
    sum_weighted,
    thin_cells,
    thin_dense,
    thin_weighted,
)

if TYPE_CHECKING:
    from pgbn.engine.compile.program import Program


Shape4 = tuple[int, ...]  # of 4 axes, or more where a node has more than three dims


# ---- labelled arrays ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """An array to be computed when it is read: ``get()`` gives (R or 1, *dims).

    `align` aligns it with a node: ``get()`` then gives 4 axes or a number. ``value`` is set for a
    plain number.
    """

    get: Callable[[], Any]
    dims: tuple[str, ...]
    replicates: int
    value: float | None = None


Reader = Callable[[Operand], Labelled]


class PartSizes(dict[str, int]):
    """Sizes for a part of the rows along a plate. ``whole`` are the sizes for all rows. They decide
    how a sum is made, on which its last bits depend."""

    def __init__(self, whole: Mapping[str, int], plate: str, rows: int) -> None:
        super().__init__(whole)
        self[plate], self.whole = rows, dict(whole)


def labelled_number(value: float) -> Labelled:
    """A plain number."""
    array = np.full(1, value)
    return Labelled(lambda: array, (), 1, value)


def storage_order(wiring: Wiring, node: Node) -> tuple[str, ...]:
    """The order of a node's axes in memory: the dim that a Mix sums over comes last.

    φ[topic, term] is stored as (term, topic) and θ[doc, topic] as it is, so that both the topics of
    a word and those of a document are contiguous.
    """
    last = next(iter(wiring.connections.summed_dims(node)), None)
    return tuple(sorted(node.axes, key=lambda dim: (dim == last, node.axes.index(dim))))


def shape4(dims: tuple[str, ...], sizes: Mapping[str, int], replicates: int) -> Shape4:
    """The shape of arrays that are aligned with a node with these dims."""
    return (replicates, *(1,) * (3 - len(dims)), *(sizes[dim] for dim in dims))


def turned(array: NDArray[Any], own: Sequence[str], dims: Sequence[str]) -> NDArray[Any]:
    """An array (R, *own) with its axes in the order of ``dims``."""
    order = [own.index(dim) + 1 for dim in dims if dim in own]
    if order == sorted(order):
        return array
    return np.ascontiguousarray(array.transpose(0, *order))


def spread(
    array: NDArray[Any], own: Sequence[str], dims: Sequence[str], sizes: Mapping[str, int]
) -> NDArray[Any]:
    """An array (R, *own) as (R, *dims), with size 1 along the dims that it lacks."""
    lines = (sizes[dim] if dim in own else 1 for dim in dims)
    return turned(array, own, dims).reshape(len(array), *lines)


def align(labelled: Labelled, dims: tuple[str, ...], sizes: Mapping[str, int]) -> Labelled:
    """The array, aligned with a node with storage ``dims``."""
    if labelled.value is not None:
        value = labelled.value
        return replace(labelled, get=lambda: value)
    get, own, replicates = labelled.get, labelled.dims, labelled.replicates
    target = shape4(dims, {d: sizes[d] if d in own else 1 for d in dims}, replicates)
    return Labelled(lambda: turned(get(), own, dims).reshape(target),
                    tuple(dim for dim in dims if dim in own), replicates)  # fmt: skip


def added(parts: Sequence[Labelled]) -> Labelled:
    """The sum of arrays that are aligned with one node, added from left to right."""
    if len(parts) == 1:
        return parts[0]
    numbers = [part.value for part in parts if part.value is not None]
    if len(numbers) == len(parts):
        total = sum(numbers[1:], numbers[0]) if numbers else 0.0
        return Labelled(lambda: total, (), 1, total)
    first, *rest = [part.get for part in parts]

    def get() -> Any:
        result = first()
        for each in rest:
            result = result + each()
        return result

    dims = tuple(dict.fromkeys(dim for part in parts for dim in part.dims))
    return Labelled(get, dims, max(part.replicates for part in parts))


# ---- pairs and sparse matrices ------------------------------------------------------------------


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


def _sum_pairs(mask: PairMask, inner: str, part: Labelled) -> Labelled:
    """Σ_{i<j} a_i b_j = Σ_j b_j A_{j−1},  A_j = a_1 + … + a_j. ``part`` has the dim ``inner``. For
    each entry of the other dim, the entries of ``part`` in the relation with it are summed.

    Subtracting the own entry from the sum of all would lose digits.
    """
    get, axis = part.get, 1 + part.dims.index(inner)
    outer = mask.dims[0] if inner == mask.dims[1] else mask.dims[1]
    dims = tuple(outer if dim == inner else dim for dim in part.dims)
    if mask.relation == "same":
        return replace(part, dims=dims)
    before = mask.relation == "distinct" or inner == mask.dims[0]
    after = mask.relation == "distinct" or inner == mask.dims[1]
    return Labelled(lambda: before_and_after(get(), axis, before, after), dims, part.replicates)


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


def remembered(
    read: Sequence[Callable[[], Any]], compute: Callable[..., NDArray[Any]]
) -> Callable[[], Any]:
    """``compute`` of the arrays that ``read`` gives, done again only if one of them is another
    array: values are replaced, never changed in place."""
    last: list[Any] = [[None] * len(read), None]

    def get() -> Any:
        now = [each() for each in read]
        if any(new is not old for new, old in zip(now, last[0], strict=True)):
            last[:] = now, compute(*now)
        return last[1]

    return get


# ---- products -----------------------------------------------------------------------------------


SMALL = 2**16  # products below which the order of sums does not matter
_MANY = 500_000  # summands from which on threads pay


class Products:
    """Compiles sums of products from what ``read`` gives for each operand."""

    def __init__(self, read: Reader, sizes: Mapping[str, int], executor: Executor = SERIAL) -> None:
        self.read, self.sizes, self.executor = read, sizes, executor
        # the sizes that decide how a sum is made
        self.whole = sizes.whole if isinstance(sizes, PartSizes) else sizes

    def compile(self, product: SumProduct) -> Labelled:
        """The sum of products as one array."""
        for operand in product.operands:
            if isinstance(operand, SparseConstant):
                return self._weighted(product, operand)
        masks = [operand for operand in product.operands if isinstance(operand, PairMask)]
        inner = self._summed_pairs(product, masks[0]) if len(masks) == 1 else None
        if inner is not None:
            sum_pairs = partial(_sum_pairs, masks[0], inner)
            return Products(self.read, self.sizes)._inside(product, masks[0], inner, sum_pairs)
        coefficient = product.coefficient * prod(self.sizes[dim] for dim in product.repeated)
        parts = []
        for operand in product.operands:
            part = operand.made if isinstance(operand, Precomputed) else self.read(operand)
            if part.value is not None:
                coefficient *= part.value
            else:
                parts.append(part)
        present = {dim for part in parts for dim in part.dims}
        # an operand may turn out to lack a dim that it was declared with: then it is repeated
        coefficient *= prod(self.sizes[dim] for dim in product.summed if dim not in present)
        summed = tuple(dim for dim in product.summed if dim in present)
        if not parts:
            return labelled_number(coefficient)
        found = self._product(parts, summed, any(operand.real for operand in product.operands))
        if coefficient == 1.0:
            return found
        return replace(found, get=lambda: found.get() * coefficient)

    def _product(self, parts: list[Labelled], summed: tuple[str, ...], real: bool) -> Labelled:
        """Σ_summed Π parts. Parts that are not ``real`` are positive: kernels skip zeros."""
        if len(parts) == 1:
            return self._sum_out(parts[0], summed)
        if len(parts) == 2 and len(summed) == 1:
            a, b = (_last(part, summed[0]) for part in parts) if real else parts
            pair = self._matrix_product(a, b, summed[0], signed_rows if real else contract)
            if pair is not None:
                return pair
        work = max(part.replicates for part in parts) * self._entries(parts)
        return _einsum(parts, summed) if real or work <= SMALL else self._in_order(parts, summed)

    def _entries(self, parts: Sequence[Labelled]) -> int:
        """How many summands a product has: its entries along all dims."""
        return prod(self.whole[dim] for dim in {dim for part in parts for dim in part.dims})

    def _summed_pairs(self, product: SumProduct, mask: PairMask) -> str | None:
        """The dim of a mask over which a sum runs; None if it needs the mask as an array: if no
        dim is summed, or an array varies along both."""
        both = set(mask.dims)
        if any(both <= set(each.dims) for each in product.operands if each is not mask):
            return None
        return next((dim for dim in reversed(mask.dims) if dim in product.summed), None)

    def _inside(
        self, product: SumProduct, special: Operand, dim: str,
        combine: Callable[[Labelled], Labelled],
    ) -> Labelled:  # fmt: skip
        """The product in which all parts that vary along ``dim`` are multiplied first. ``combine``
        then makes one array of this product and the ``special`` operand."""
        others = [operand for operand in product.operands if operand is not special]
        inner = tuple(operand for operand in others if dim in operand.dims)
        outer = tuple(operand for operand in others if dim not in operand.dims)
        elsewhere = {dim, *(d for operand in outer for d in operand.dims)}
        every = dict.fromkeys(d for operand in inner for d in operand.dims)
        own = tuple(d for d in every if d in product.summed and d not in elsewhere)
        kept = tuple(d for d in every if d not in own)
        ones = np.ones((1, self.sizes[dim]))
        part = Labelled(lambda: ones, (dim,), 1)
        if inner:
            part = self.compile(SumProduct(1.0, inner, kept, own, ()))
        made = combine(part)
        operand = Precomputed(dims=made.dims, made=made)
        summed = tuple(d for d in product.summed if d not in (dim, *own))
        return self.compile(replace(product, operands=(*outer, operand), summed=summed))

    def _weighted(self, product: SumProduct, sparse: SparseConstant) -> Labelled:
        """A sum of products with a sparse constant, one of whose dims is summed through its
        entries.

        The matrix is made dense if an array has both of its dims, or if none of them is summed:
        then an array is as large as the matrix anyway.
        """
        others = tuple(operand for operand in product.operands if operand is not sparse)
        elsewhere = {dim for other in others for dim in other.dims}
        column = next((dim for dim in reversed(sparse.dims) if dim in product.summed), None)
        alone = [dim for dim in sparse.dims if dim in product.summed and dim not in elsewhere]
        if alone:
            axis = sparse.dims.index(alone[0])
            total = np.asarray(sparse.value.sum(axis=axis))
            vector = ConstantArray(dims=(sparse.dims[1 - axis],), value=total)
            summed = tuple(dim for dim in product.summed if dim != alone[0])
            return self.compile(replace(product, operands=(vector, *others), summed=summed))
        if column is None or any(set(sparse.dims) <= set(other.dims) for other in others):
            # made when it is read: nobody reads it if data are cells
            array = cache(lambda: np.asarray(sparse.value.toarray())[None])
            dense = Precomputed(dims=sparse.dims, made=Labelled(array, sparse.dims, 1))
            return self.compile(replace(product, operands=(dense, *others)))
        return self._inside(product, sparse, column, partial(self._sum_weighted, sparse, column))

    def _sum_weighted(self, sparse: SparseConstant, column: str, value: Labelled) -> Labelled:
        """Σ_column w · value, where the value has the dim ``column`` and not the other dim of w."""
        row = sparse.dims[0] if column == sparse.dims[1] else sparse.dims[1]
        weights = weights_of(sparse.value, row != sparse.dims[0])
        axis, rest = value.dims.index(column) + 1, tuple(d for d in value.dims if d != column)
        shape = [self.sizes[dim] for dim in rest]
        rows, copies, inner = self.sizes[row], value.replicates, prod(shape)
        use = self.executor if copies * weights.values.size * inner > 1_000_000 else SERIAL

        def total(array: NDArray[Any]) -> NDArray[np.float64]:
            flat = np.ascontiguousarray(np.moveaxis(array, axis, 1), np.float64)
            out = np.empty((copies, rows, inner))
            use.rows(sum_weighted, copies * rows, 0, weights, flat.reshape(copies, -1, inner), out)
            return out.reshape(copies, rows, *shape)

        return Labelled(remembered([value.get], total), (row, *rest), copies)

    def _in_order(self, parts: list[Labelled], summed: tuple[str, ...]) -> Labelled:
        """Σ_summed Π parts, summed over one dim after another instead of over all at once.

        Σ_{j,l,m} θ_jk ψ_lk χ_mk is (Σ_j θ_jk)(Σ_l ψ_lk)(Σ_m χ_mk): the cost grows with the arrays
        and not with the product of the sizes. The next dim is the one whose sum is the cheapest.
        """
        left = list(summed)
        while left:
            having = {dim: [part for part in parts if dim in part.dims] for dim in left}
            costs = [self._entries(having[dim]) for dim in left]
            dim = left.pop(costs.index(min(costs)))
            found = self._sum_product(having[dim], dim)
            parts = [part for part in parts if dim not in part.dims] + [found]
        return _einsum(parts, ()) if len(parts) > 1 else parts[0]

    def _sum_product(self, parts: list[Labelled], dim: str) -> Labelled:
        """Σ_dim Π parts, which all have the dim."""
        parts = self._folded(parts)
        if len(parts) == 1:
            return self._sum_out(parts[0], (dim,))
        if len(parts) == 2:
            pair = self._matrix_product(_last(parts[0], dim), _last(parts[1], dim), dim)
            if pair is not None:
                return pair
        return _einsum(parts, (dim,))

    def _folded(self, parts: list[Labelled]) -> list[Labelled]:
        """The same product of fewer parts, two if possible: a part is first multiplied into another
        one that has all its dims. Σ_j m_jv s_j θ_jk is then a product of two matrices."""
        parts = sorted(parts, key=lambda part: self._entries([part]))
        for small in parts[:-1]:
            large = next((p for p in parts if p is not small and {*small.dims} <= {*p.dims}), None)
            if len(parts) > 2 and large is not None:
                others = [part for part in parts if part is not small and part is not large]
                return self._folded([*others, _einsum([large, small], ())])
        return parts

    def _sum_out(self, part: Labelled, summed: tuple[str, ...]) -> Labelled:
        """Σ_summed of one array."""
        if not summed:
            return part
        get, executor = part.get, self.executor
        axes = tuple(part.dims.index(dim) + 1 for dim in summed)
        dims = tuple(dim for dim in part.dims if dim not in summed)
        if axes != (len(part.dims),):
            return Labelled(lambda: get().sum(axis=axes), dims, part.replicates)
        return Labelled(lambda: _row_sums(get(), executor), dims, part.replicates)

    def _matrix_product(
        self, a: Labelled, b: Labelled, inner: str, kernel: Callable[..., None] = contract
    ) -> Labelled | None:
        """Σ_inner a·b where the two share no other dim and ``inner`` is last in both."""
        left, right = a.dims[:-1], b.dims[:-1]
        if a.dims[-1:] != (inner,) or b.dims[-1:] != (inner,) or set(left) & set(right):
            return None
        # the rows of the kernel are those of a: one matrix b that all replicates share is loaded
        # once
        sizes, whole = self.sizes, self.whole
        rows_of_a = (a.replicates, prod(whole[dim] for dim in left))
        if rows_of_a < (b.replicates, prod(whole[dim] for dim in right)):
            a, b, left, right = b, a, right, left
        replicates = max(a.replicates, b.replicates)
        size, columns = prod(sizes[dim] for dim in left), prod(sizes[dim] for dim in right)
        rows, width = replicates * size, sizes[inner]
        use = self.executor if rows * columns * width > 1_000_000 else SERIAL
        shape = (replicates, *(sizes[dim] for dim in (*left, *right)))

        def product(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
            out = use.empty((replicates, size, columns), np.float64)
            use.rows(kernel, rows, 0, one.reshape(len(one), size, width),
                     other.reshape(len(other), columns, width), out, np.float64)  # fmt: skip
            return out.reshape(shape)

        return Labelled(remembered([a.get, b.get], product), (*left, *right), replicates)


def _last(part: Labelled, dim: str) -> Labelled:
    """The same with one of its dims last."""
    if dim not in part.dims or part.dims[-1] == dim:
        return part
    get, own = part.get, part.dims
    dims = (*(other for other in own if other != dim), dim)
    return Labelled(lambda: turned(get(), own, dims), dims, part.replicates)


def _row_sums(value: Any, executor: Executor) -> Any:
    """Σ over the last axis: many rows use all threads, and go block by block if they should not be
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


def _einsum(parts: Sequence[Labelled], summed: tuple[str, ...]) -> Labelled:
    every = list(dict.fromkeys(dim for part in parts for dim in part.dims))
    letters = dict(zip(every, ascii_letters, strict=False))
    replicates = max(part.replicates for part in parts)
    drop = [part.replicates == 1 and replicates > 1 for part in parts]
    names = [("" if alone else "Z") + "".join(letters[dim] for dim in part.dims)
             for part, alone in zip(parts, drop, strict=True)]  # fmt: skip
    dims = tuple(dim for dim in every if dim not in summed)
    formula = ",".join(names) + "->Z" + "".join(letters[dim] for dim in dims)
    gets = [part.get for part in parts]

    def get() -> Any:
        arrays = [g()[0] if d else g() for g, d in zip(gets, drop, strict=True)]
        return np.ascontiguousarray(np.einsum(formula, *arrays))  # kernels read it row by row

    return Labelled(get, dims, replicates)


# ---- counts, shared among the terms of a slot and the factors of each term ---------------------


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
                word = self.executor._row_key(stream_key(key, number + 1), len(lines))
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
                word = self.executor._row_key(stream_key(key, number + 1), cells.rows)
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
            word = self.executor._row_key(stream_key(key, number + 1, 1), len(lines))
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
