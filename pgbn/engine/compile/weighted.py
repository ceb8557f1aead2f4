"""Terms with a sparse constant: a weighted sum over the entries of each of its rows.

    Σ_c w_ic Π_f f[c, …]

is one factor G[i, …] of the term. It is summed through the entries of w, counts are shared out to
it as to any factor, and what it was given is shared out among the entries of row i: the cost grows
with the entries of w, never with its rows times its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.layout import Labelled, shape4
from pgbn.engine.compile.parts import Part
from pgbn.network.sumproduct import ConstantArray, Made, SparseConstant, SumProduct
from pgbn.network.terms import Factor, Term
from pgbn.samplers.executor import SERIAL, Executor
from pgbn.samplers.layers.weighted import SparseWeights, sum_weighted

__all__ = ["SparseEntries", "Weighted", "weighted_product", "weights_of"]

Reader = Callable[[Any], Labelled]
Compile = Callable[[SumProduct, Reader], Labelled]


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
    read: Reader,
    sizes: Mapping[str, int],
    executor: Executor,
    compile_: Compile,
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
        whole = Made(dims=sparse.dims, made=Labelled(array, sparse.dims, 1))
        return compile_(replace(product, operands=(whole, *others)), _with_made(read))
    inner = tuple(other for other in others if column in other.dims)
    outer = tuple(other for other in others if column not in other.dims)
    elsewhere = {*sparse.dims, *(dim for other in outer for dim in other.dims)}
    every = dict.fromkeys(dim for other in inner for dim in other.dims)
    own = tuple(dim for dim in every if dim in product.summed and dim not in elsewhere)
    kept = tuple(dim for dim in every if dim not in own)
    value = compile_(SumProduct(1.0, inner, kept, own, ()), read)
    made = _summed(sparse, column, value, sizes, executor)
    summed = tuple(dim for dim in product.summed if dim not in (column, *own))
    operand = Made(dims=made.dims, made=made)
    left = replace(product, operands=(*outer, operand), summed=summed)
    return compile_(left, _with_made(read))


def _with_made(read: Reader) -> Reader:
    return lambda each: each.made if isinstance(each, Made) else read(each)


def _summed(
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
