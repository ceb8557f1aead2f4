"""Data as coordinates and values: arrays of any number of dims that are never dense.

    {"sender": i, "receiver": j, "action": a, "month": t, "values": n}

a dict from the dims of a node to the numbers of its cells along them, with their values (1 if left
out); or a ``sparse.COO`` array, or a ``scipy.sparse.coo_array``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.checks import is_sparse_array, numbers
from pgbn.errors import DataError

__all__ = ["Coordinates", "is_coordinates", "read_coordinates"]

VALUES = "values"
_MOST = 2**62  # cells, whose numbers must be integers


@dataclass(frozen=True)
class Coordinates:
    """The cells of an array of ``shape`` at ``places``, an array for each dim."""

    shape: tuple[int, ...]
    places: tuple[NDArray[np.int64], ...]
    values: NDArray[Any]


def is_coordinates(value: Any) -> bool:
    """Whether data are given by coordinates, and not as a matrix."""
    if sp.issparse(value):  # of which some are mappings too
        return len(value.shape) > 2
    return isinstance(value, Mapping) or is_sparse_array(value)


def read_coordinates(
    name: str, axes: tuple[str, ...], value: Any, sizes: Mapping[str, int]
) -> Coordinates:
    """Checked coordinates. Sizes that neither the array nor ``sizes`` tell are one more than the
    largest number."""
    shape: tuple[int | None, ...]
    if isinstance(value, Mapping):
        places, values, shape = _by_dim(name, axes, value, sizes)
    else:
        value = value.asformat("coo")
        places, values, shape = list(value.coords), value.data, tuple(value.shape)
        if getattr(value, "fill_value", 0) != 0:
            raise DataError(
                f"{name}: a sparse array that is {value.fill_value} where it has no entry; give "
                "one that is 0 there"
            )
    if len(places) != len(axes):
        raise DataError(
            f"{name}: coordinates along {len(places)} dims, but the node has {len(axes)}: {axes}"
        )
    read = tuple(_numbers(name, dim, each) for dim, each in zip(axes, places, strict=True))
    found = numbers(f"{name}: the values", values)
    lengths = {each.size for each in read} | {found.size}
    if len(lengths) > 1 or found.ndim != 1:
        raise DataError(
            f"{name}: coordinates and values of different lengths, {sorted(lengths)}; give a "
            "number along each dim, and a value, for every cell"
        )
    return Coordinates(_whole_shape(name, axes, read, shape), read, found)


def _whole_shape(
    name: str,
    axes: tuple[str, ...],
    places: tuple[NDArray[np.int64], ...],
    known: tuple[int | None, ...],
) -> tuple[int, ...]:
    largest = [int(each.max(initial=-1)) for each in places]
    shape = tuple(
        most + 1 if size is None else size for most, size in zip(largest, known, strict=True)
    )
    for dim, most, size in zip(axes, largest, shape, strict=True):
        if most >= size:
            raise DataError(
                f"{name}: has the number {most} along {dim!r}, whose size is {size}; numbers go "
                f"from 0 to {size - 1}"
            )
    if prod(shape) > _MOST:
        raise DataError(f"{name}: {' × '.join(map(str, shape))} cells are more than 2^62")
    return shape


def _by_dim(
    name: str, axes: tuple[str, ...], value: Mapping[Any, Any], sizes: Mapping[str, int]
) -> tuple[list[Any], Any, tuple[int | None, ...]]:
    unknown = [key for key in value if key not in (*axes, VALUES)]
    missing = [dim for dim in axes if dim not in value]
    if unknown or missing:
        example = ", ".join(f"{dim!r}: […]" for dim in axes)
        raise DataError(
            f"{name}: coordinates of {', '.join(map(str, value))}, but its dims are {axes}; give "
            f"{{{example}, {VALUES!r}: […]}}"
        )
    places = [value[dim] for dim in axes]
    values = value.get(VALUES)
    if values is None:
        values = np.ones(np.size(places[0]), np.int64)
    return places, values, tuple(sizes.get(dim) for dim in axes)


def _numbers(name: str, dim: str, value: Any) -> NDArray[np.int64]:
    array = numbers(f"{name}: the numbers along {dim!r}", value)
    whole = array.dtype.kind in "iu" or bool((array % 1 == 0).all())
    if array.ndim != 1 or not whole or (array.size and not 0 <= array.min() <= array.max() < 2**62):
        raise DataError(
            f"{name}: along {dim!r}, {value!r:.60}; give a list of integers from 0 on, one for "
            "each cell"
        )
    return array.astype(np.int64)
