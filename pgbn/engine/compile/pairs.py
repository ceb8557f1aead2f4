"""Sums over pairs that are apart: by sums from the front and from the back, never over all pairs.

    Σ_{i<j} a_i b_j = Σ_j b_j A_{j−1},  A_j = a_1 + … + a_j

where no array varies along both dims. The sum of all less the own entry would cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.layout import Labelled
from pgbn.network.sumproduct import Made, Operand, PairMask, SumProduct

__all__ = ["before_and_after", "mask_of", "relation_holds", "without_pairs"]

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
    made = _summed(mask, inner, outer, within, beside, product, read, sizes, compile_)
    operand = Made(dims=made.dims, made=made)
    summed = tuple(dim for dim in product.summed if dim == outer or dim in made.dims or any(
        dim in other.dims for other in beside))  # fmt: skip
    left = replace(product, operands=(*beside, operand), summed=summed)
    return compile_(left, lambda each: each.made if isinstance(each, Made) else read(each))


def _summed(
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
