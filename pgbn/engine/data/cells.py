"""Observed data: checked, and kept as the non-zero cells of a matrix (CSR)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.checks import in_order
from pgbn.engine.data.coordinates import is_coordinates, read_coordinates
from pgbn.engine.data.coords import labels_of
from pgbn.engine.data.imputable import check_imputable, is_imputable
from pgbn.engine.data.nonzero import (
    Cells,
    cells_of,
    check_whole,
    coordinate_cells,
    sees_zeros,
    typed,
    whole_cells,
)
from pgbn.errors import DataError, did_you_mean
from pgbn.nodes.base import Observed
from pgbn.storage.blocks import counts_of
from pgbn.storage.sparse import check_sparse

if TYPE_CHECKING:
    from pgbn.network.network import Network

__all__ = ["Cells", "cells_of", "read_array", "read_data"]


def _wide(values: NDArray[Any]) -> NDArray[Any]:
    """Integers as int64 and floats as float64; what int64 cannot hold stays and is refused."""
    if values.dtype.kind == "f":
        return values.astype(np.float64, copy=False)
    return values if values.dtype == np.uint64 else values.astype(np.int64, copy=False)


def read_data(network: Network, data: Mapping[str, Any]) -> dict[str, Cells]:
    """Check the data of every observed node, before any work."""
    if not isinstance(data, Mapping):
        name = network.observed[0]
        raise DataError(
            f"data must be a dict from names to arrays, such as {{{name!r}: X}}; got "
            f"{type(data).__name__}"
        )
    for name in data:
        if name not in network.observed:
            raise DataError(
                f"data: {name!r} is not an observed node.{did_you_mean(name, network.observed)}"
            )
    for name in network.observed:
        if name not in data:
            raise DataError(
                f"data: no values for the observed node {name!r}; give {{{name!r}: array, …}}"
            )
    cells = {
        name: read_array(network.nodes[name], value, sizes=network.sizes)  # type: ignore[arg-type]
        for name, value in data.items()
    }
    for name, cell in cells.items():
        if cell.missing is not None:
            check_imputable(network, network.nodes[name])
    return cells


def read_array(
    node: Observed, value: Any, imputed: bool = True, sizes: Mapping[str, int] | None = None
) -> Cells:
    """The cells of one node's data: sparse or dense, masked where unknown.

    Named dims (of an ``xarray.DataArray``) go by name, all other arrays by position. ``sizes`` are
    those of dims that coordinates need not tell.
    ``imputed=False`` refuses masked cells: they are imputed by chains, and nowhere else.
    """
    if isinstance(value, Cells):  # read before, e.g. by the chain that was saved
        return value
    cells = _read_unlabelled(node, value, imputed, sizes)
    if labels := labels_of(node.axes, value):
        cells.labels = labels
    return cells


def _read_unlabelled(
    node: Observed, value: Any, imputed: bool, sizes: Mapping[str, int] | None
) -> Cells:
    value = in_order(node.name, node.axes, counts_of(value))
    if is_coordinates(value):
        return _whole(node, _read_coordinates(node, value, sizes or {}, imputed))
    if sp.issparse(value):
        return _whole(node, _read_sparse(node, value, imputed))
    mask = None
    if isinstance(value, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(value)
        if not imputed and mask.any():
            raise DataError(
                f"{node.name}: masked cells are not supported here; fill them, e.g. with "
                ".filled(0), or leave the rows with unknown cells out"
            )
        value = np.ma.getdata(value)
    try:
        array = _dense(value)
    except ValueError:
        raise DataError(
            f"{node.name}: the data have rows of unequal length; give an array of "
            f"{' × '.join(node.axes)}"
        ) from None
    if array.dtype.kind not in "iufb":
        raise DataError(
            f"{node.name}: data of dtype {array.dtype}; give numbers (integers or floats), dense "
            f"or scipy.sparse{_or_coordinates(node)}"
        )
    _check_shape(node, array.shape)
    if sees_zeros(node):
        check_whole(node, array.shape)
    array = _wide(array)
    if mask is not None:
        array = np.where(mask, 0, array)
    _check_values(node, array, imputed)
    cells = cells_of(node, array[None], 1)
    if mask is None or not mask.any():
        return cells
    if sees_zeros(node):
        return whole_cells(node, array[None], 1, mask.reshape(-1))
    return _with_missing(cells, mask)


def _whole(node: Observed, cells: Cells) -> Cells:
    """Every cell, where the link of the node looks at zeros too."""
    if not sees_zeros(node):
        return cells
    check_whole(node, cells.shape)
    return whole_cells(node, cells.dense().reshape(1, *cells.shape), 1)


def _dense(value: Any) -> NDArray[Any]:
    """An array; numbers in pandas' own types, such as Int64, would otherwise become objects."""
    array = np.asarray(value)
    if array.dtype == object and hasattr(value, "columns") and hasattr(value, "to_numpy"):
        numbers = all(getattr(kind, "kind", "O") in "iufb" for kind in value.dtypes)
        return np.asarray(value.to_numpy(np.float64, na_value=np.nan) if numbers else array)
    return array


def _or_coordinates(node: Observed) -> str:
    if len(node.axes) < 3:
        return ""
    example = ", ".join(f"{dim!r}: […]" for dim in node.axes)
    return f", or the numbers of the cells, {{{example}, 'values': […]}}"


def _read_sparse(node: Observed, value: Any, imputed: bool) -> Cells:
    _check_shape(node, value.shape)
    check_sparse(node.name, value)
    if value.dtype.kind not in "iufb":
        raise DataError(f"{node.name}: sparse data of dtype {value.dtype}; give integers or floats")
    if value.dtype.kind != "b":  # small integers could overflow where duplicates are added
        value = value.astype(_wide(np.empty(0, value.dtype)).dtype, copy=False)
    matrix = sp.csr_array(value, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.data = _wide(matrix.data)
    _check_values(node, matrix.data, imputed)
    return Cells(node.axes, tuple(matrix.shape), 1, matrix.indptr.astype(np.int64),
                 matrix.indices.astype(np.int32), typed(matrix.data))  # fmt: skip


def _read_coordinates(node: Observed, value: Any, sizes: Mapping[str, int], imputed: bool) -> Cells:
    found = read_coordinates(node.name, node.axes, value, sizes)
    _check_shape(node, found.shape)
    values = _wide(found.values)
    _check_values(node, values, imputed)
    if len(node.axes) > 2:
        return coordinate_cells(node.axes, found.shape, found.places, typed(values))
    matrix = sp.coo_array((values, (*found.places[:-1], found.places[-1])), shape=found.shape)
    return read_array(node, matrix if len(node.axes) == 2 else matrix.toarray(), imputed)


def _with_missing(cells: Cells, mask: NDArray[np.bool_]) -> Cells:
    """Add the masked cells, with the value 0, to the others."""
    flat = mask.reshape(-1, cells.columns)
    values = cells.dense().reshape(flat.shape)
    rows, indices = np.nonzero((values != 0) | flat)
    indptr = np.zeros(flat.shape[0] + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=flat.shape[0]), out=indptr[1:])
    return Cells(cells.dims, cells.shape, 1, indptr, indices.astype(np.int32),
                 values[rows, indices], flat[rows, indices])  # fmt: skip


def _check_shape(node: Observed, shape: tuple[int, ...]) -> None:
    if len(shape) != len(node.axes):
        raise DataError(
            f"{node.name}: data of shape {shape}, but the node has {len(node.axes)} dims "
            f"{node.axes}; give an array of {' × '.join(node.axes) or 'no axes'}"
        )
    for dim, size in zip(node.axes, shape, strict=True):
        if size == 0:
            raise DataError(
                f"{node.name}: data of shape {shape}: the dim {dim!r} is empty; give at least one "
                f"{dim}"
            )


def _check_values(node: Observed, values: NDArray[Any], imputed: bool) -> None:
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        kind = "NaN" if np.isnan(values).any() else "infinite"
        remedy = (
            "for unknown cells give a numpy.ma.masked_array, whose masked cells are imputed"
            if imputed and is_imputable(node)
            else "give finite numbers, or leave the rows with unknown cells out"
        )
        raise DataError(f"{node.name}: the data have {kind} values; {remedy}")
    complaint = node.check(values)
    if complaint:
        raise DataError(f"{node.name}: the data have {complaint}")
