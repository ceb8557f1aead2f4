"""Sums of products, compiled: from the wiring's `SumProduct` to a function on arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from string import ascii_letters
from typing import Any

import numpy as np

from pgbn.engine.compile.layout import Labelled, PartSizes, labelled_number
from pgbn.engine.compile.pairs import without_pairs
from pgbn.engine.compile.weighted import weighted_product
from pgbn.network.sumproduct import Operand, PairMask, SparseConstant, SumProduct
from pgbn.samplers.executor import SERIAL, Executor, keeps_rows, rows_array, share_rows
from pgbn.samplers.linear import signed_rows
from pgbn.samplers.simd.contract import contract
from pgbn.samplers.simd.sums import sum_rows

__all__ = ["compile_product"]

Reader = Callable[[Operand], Labelled]
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

    large = lines.size >= _MANY or keeps_rows(executor)
    ranges = share_rows(executor, len(lines), lines) if large else [(0, len(lines))]
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
            room = (replicates, size, columns)
            out = rows_array(use, room, np.float64) if keeps_rows(use) else np.empty(room)
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
