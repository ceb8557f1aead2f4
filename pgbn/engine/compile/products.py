"""Labelled arrays, and sums of products of them: from the wiring's `SumProduct` to a function.

Every array has the replicate axis first (size R, or 1 for constants) and then one axis for each of
its dims. An array that is *aligned with a node* is 4-d: (replicate, d1, d2, d3). These are the
node's dims in storage order, filled up with ones on the left, so that arrays broadcast as in numpy.
A node with more than three dims has an axis for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from math import prod
from string import ascii_letters
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.network.sumproduct import (
    ConstantArray,
    Operand,
    PairMask,
    Precomputed,
    SparseConstant,
    SumProduct,
)
from pgbn.network.wiring import Wiring
from pgbn.nodes.base import Node
from pgbn.samplers.contract import contract
from pgbn.samplers.executor import SERIAL, Executor
from pgbn.samplers.lanes import sum_rows
from pgbn.samplers.linear_regression import signed_rows
from pgbn.samplers.thinning import SparseWeights, sum_weighted

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
