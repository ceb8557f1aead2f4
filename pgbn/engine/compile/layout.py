"""Where arrays live: how dims map to axes, and how an operand is brought beside a node.

Every array has the replicate axis first (size R, or 1 for constants) and then one axis for
each of its dims. Beside a node, arrays are seen as 4-d: (replicate, d1, d2, d3), the node's
dims in storage order filled up with ones on the left, so that they broadcast as in numpy. A node
of more than three dims has an axis for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.network.wiring import Wiring
from pgbn.nodes.base import Node

Shape4 = tuple[int, ...]  # of 4 axes, or more where a node has more than three dims


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """A quantity to be computed when it is read: ``get()`` gives an array of (R or 1, *dims).

    ``value`` is set instead for a plain number.
    """

    get: Callable[[], NDArray[Any]]
    dims: tuple[str, ...]
    replicates: int
    value: float | None = None


class PartSizes(dict[str, int]):
    """Sizes for a part of the rows along a plate. ``whole`` are those for all rows: how a sum is
    made, on which its last bits depend, goes by these."""

    def __init__(self, whole: Mapping[str, int], plate: str, rows: int) -> None:
        super().__init__(whole)
        self[plate], self.whole = rows, dict(whole)


def labelled_number(value: float) -> Labelled:
    """A plain number."""
    array = np.full(1, value)
    return Labelled(lambda: array, (), 1, value)


def storage_order(wiring: Wiring, node: Node) -> tuple[str, ...]:
    """The order of a node's axes in memory: the dim that a Mix sums over comes last.

    φ[topic, term] is stored as (term, topic) and θ[doc, topic] as it is, so that the topics of
    a word and those of a document both lie side by side.
    """
    last = next(iter(wiring.connections.summed_dims(node)), None)
    return tuple(sorted(node.axes, key=lambda dim: (dim == last, node.axes.index(dim))))


def shape4(dims: tuple[str, ...], sizes: Mapping[str, int], replicates: int) -> Shape4:
    """The shape beside a node with these dims."""
    return (replicates, *(1,) * (3 - len(dims)), *(sizes[dim] for dim in dims))


def align(labelled: Labelled, dims: tuple[str, ...], sizes: Mapping[str, int]) -> Callable[[], Any]:
    """A function that gives the quantity as a 4-d array beside a node with storage ``dims``."""
    if labelled.value is not None:
        value = labelled.value
        return lambda: value
    present = tuple(dim for dim in dims if dim in labelled.dims)
    shape = tuple(sizes[dim] if dim in present else 1 for dim in dims)
    target = (labelled.replicates, *(1,) * (3 - len(dims)), *shape)
    get = labelled.get
    if present == labelled.dims:
        return lambda: get().reshape(target)
    order = (0, *(labelled.dims.index(dim) + 1 for dim in present))
    return lambda: np.ascontiguousarray(get().transpose(order)).reshape(target)


def strides_of(
    array_dims: tuple[str, ...],
    sizes: Mapping[str, int],
    replicates: int,
    dims: tuple[str, ...],
    summed: tuple[str, ...],
) -> tuple[list[int], NDArray[np.int64]]:
    """Strides of a flat array (replicates, *array_dims) along (replicate, *dims padded to 3),
    and its offset for every combination of the ``summed`` dims."""
    steps = {
        dim: prod(sizes[later] for later in array_dims[i + 1 :]) for i, dim in enumerate(array_dims)
    }
    whole = prod(sizes[dim] for dim in array_dims)
    strides = [whole if replicates > 1 else 0]
    strides += [0] * (3 - len(dims)) + [steps.get(dim, 0) for dim in dims]
    offsets = np.zeros(1, np.int64)
    for dim in summed:
        along = np.arange(sizes[dim], dtype=np.int64) * steps.get(dim, 0)
        offsets = (offsets[:, None] + along[None, :]).reshape(-1)
    return strides, offsets


# ---- aligned quantities -------------------------------------------------------------------------
#
# A quantity beside a node: an array in the node's 4-d layout (see `layout`), or a number.


@dataclass(frozen=True, slots=True)
class Aligned:
    """A quantity beside a node: ``get()`` gives a 4-d array or a number.

    ``dims`` are those along which it varies.
    """

    get: Callable[[], Any]
    dims: frozenset[str]
    replicates: int
    is_number: bool


def added(parts: Sequence[Aligned]) -> Aligned:
    """The sum of quantities beside one node, added from left to right."""
    if not parts:
        return Aligned(lambda: 0.0, frozenset(), 1, True)
    first, *rest = [part.get for part in parts]

    def total() -> Any:
        result = first()
        for get in rest:
            result = result + get()
        return result

    return Aligned(
        total if rest else first,
        frozenset(dim for part in parts for dim in part.dims),
        max(part.replicates for part in parts),
        all(part.is_number for part in parts),
    )
