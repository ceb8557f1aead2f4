"""Observed data: checked, and kept as the non-zero cells of a matrix (CSR)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.checks import in_order, is_sparse_array, numbers
from pgbn.engine.data.coords import labels_of
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
from pgbn.nodes.base import Node, Observed
from pgbn.nodes.gamma import Gamma
from pgbn.nodes.poisson_gamma import PoissonGamma
from pgbn.nodes.rules.registry import find_link
from pgbn.nodes.rules.types import EvidenceRule
from pgbn.storage.archive import Group, register_documents
from pgbn.storage.blocks import counts_of
from pgbn.storage.sparse import check_sparse, row_arrays

if TYPE_CHECKING:
    from pgbn.network.network import Network


# ---- coordinates --------------------------------------------------------------------------------
#
# Data as coordinates and values: arrays of any number of dims that are never dense.
#
#     {"sender": i, "receiver": j, "action": a, "month": t, "values": n}
#
# a dict from the dims of a node to the numbers of its cells along them, with their values (1 if
# left out); or a ``sparse.COO`` array, or a ``scipy.sparse.coo_array``.


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


# ---- imputable ----------------------------------------------------------------------------------
#
# Which nodes may have masked cells: those whose unknown counts can be drawn.


def is_imputable(node: Node) -> bool:
    """Masked cells are imputed as Poisson counts, so the data must rest on such counts."""
    return find_link(node) is not None and node.simplex is None


def _is_silent(rule: EvidenceRule) -> bool:
    """Whether a rule tells its slot nothing at masked cells: their value is 0, and what a function
    makes of the cells is left out there (`Quantities.known_only`), but a slot's value is not."""
    parts = ((rule.count, rule.count_reads), (rule.exposure, rule.exposure_reads))
    return rule.drawn is None and all(
        part in ("value", "count", 0) or (callable(part) and {"value", "count"} & set(reads))
        for part, reads in parts
    )


def check_imputable(network: Network, node: Node) -> None:
    """Refuse masked cells of a node that has no counts to impute them from."""
    link, kind = find_link(node), type(node).__name__
    wrong = "" if is_imputable(node) else f"for {kind}"
    for slot in node.slots():
        rule = network.wiring.rules.get((node.name, slot))
        if wrong or link is None or rule is None:
            continue
        reads = {"value", "count", "exposure"} & set(rule.exposure_reads)
        told = (rule.count, rule.kind, rule.drawn) == ("count", "poisson", None) and not reads
        if slot == link.slot and not told:
            wrong = f"since the rule of {kind} for {slot} is not that of Pois(exposure · {slot})"
        elif slot != link.slot and not _is_silent(rule):
            wrong = f"since the rule of {kind} for {slot} does not look at the data of each cell"
    if wrong:
        raise DataError(
            f"{node.name}: the data have masked cells, which cannot be imputed {wrong}; use a "
            "node with Poisson counts, such as pgbn.Poisson, or leave the rows with unknown "
            "cells out"
        )


# ---- cells --------------------------------------------------------------------------------------


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


# ---- documents ----------------------------------------------------------------------------------
#
# Documents × terms beside a model, as arrays of a file.


# Takes any number from 0 on.
_ANY = PoissonGamma("data", 1.0, Gamma("noise", 1.0, 1.0), dims=("doc", "term"))


def document_arrays(X: Any) -> Group:
    """The documents that belong to a model; unknown cells count as 0."""
    cells = read_array(_ANY, X)
    return row_arrays(cells.shape, cells.indptr, cells.indices, cells.values)


register_documents(document_arrays)
