"""Observed data: checked, and kept as the non-zero cells of a matrix (CSR)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.checks import in_order
from pgbn.engine.data.imputable import check_imputable, is_imputable
from pgbn.errors import DataError, did_you_mean
from pgbn.nodes.base import Observed
from pgbn.storage.blocks import counts_of
from pgbn.storage.sparse import check_sparse

if TYPE_CHECKING:
    from pgbn.network.network import Network

__all__ = ["Cells", "cells_of", "read_array", "read_data"]


_ROWS = 2**12  # that are added up at a time


class Cells:
    """The non-zero cells of an observed array, rows × columns.

    The last dim is the columns; the replicates and all other dims, flattened, are the rows.
    ``values`` are int64 for counts and float64 for reals. ``missing`` marks cells whose value
    is unknown; they are imputed in every sweep. ``is_corpus``: they are those of a `pgbn.Corpus`;
    ``let_go`` is called after some rows were read, where the arrays are files.
    """

    def __init__(
        self,
        dims: tuple[str, ...],
        shape: tuple[int, ...],
        replicates: int,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[Any],
        missing: NDArray[np.bool_] | None = None,
        is_corpus: bool = False,
        let_go: Callable[[], None] = lambda: None,
    ) -> None:
        self.dims, self.shape, self.replicates = dims, shape, replicates
        self.indptr, self.indices, self.values, self.missing = indptr, indices, values, missing
        self.is_corpus, self.let_go = is_corpus, let_go

    @property
    def rows(self) -> int:
        return self.indptr.size - 1

    @property
    def columns(self) -> int:
        return self.shape[-1] if self.shape else 1

    def cell_rows(self) -> NDArray[np.int64]:
        """The row of every cell."""
        return np.repeat(np.arange(self.rows, dtype=np.int64), np.diff(self.indptr))

    def positions(
        self, dims: tuple[str, ...], replicates: int, block: slice = slice(None)
    ) -> NDArray[np.int64]:
        """For every cell, or those of a block of rows, the flat index into an array of
        (replicates or 1, *dims)."""
        first, last, _ = block.indices(self.rows)
        edges = self.indptr[first : last + 1]
        rows = np.repeat(np.arange(first, last, dtype=np.int64), np.diff(edges))
        per = prod(self.shape[:-1])
        index = {"": rows // per if per else rows}
        inside = rows % per if per else rows
        for dim, size in zip(reversed(self.dims[:-1]), reversed(self.shape[:-1]), strict=True):
            index[dim] = inside % size
            inside = inside // size
        if self.dims:
            index[self.dims[-1]] = self.indices[edges[0] : edges[-1]].astype(np.int64)
        sizes = dict(zip(self.dims, self.shape, strict=True))
        flat = index[""] if replicates > 1 else np.zeros(rows.size, np.int64)
        for dim in dims:
            flat = flat * sizes[dim] + index[dim]
        return flat

    def total(self, values: NDArray[Any], dims: tuple[str, ...]) -> NDArray[Any]:
        """Σ of cell values over all dims but ``dims``, as an array of (R, *dims)."""
        sizes = dict(zip(self.dims, self.shape, strict=True))
        shape = (self.replicates, *(sizes[dim] for dim in dims))
        sums = np.zeros(prod(shape))
        for block, cells in self._blocks():  # in a fixed order, whoever runs it
            at = self.positions(dims, self.replicates, block)
            if at.size:
                low = at.min()
                part = np.bincount(at - low, values[cells])
                sums[low : low + part.size] += part
            self.let_go()
        return sums.astype(values.dtype).reshape(shape)

    def sum(self) -> int:
        """Σ of the data, as a whole number."""
        total = 0
        for _, cells in self._blocks():
            total += int(self.values[cells].sum())
            self.let_go()
        return total

    def _blocks(self) -> Iterator[tuple[slice, slice]]:
        """The rows in blocks, and the cells of each."""
        for first in range(0, self.rows, _ROWS):
            last = min(first + _ROWS, self.rows)
            yield slice(first, last), slice(self.indptr[first], self.indptr[last])

    def dense(self, values: NDArray[Any] | None = None) -> NDArray[Any]:
        """The whole array, (R, *shape), of the data or of other values of the same cells."""
        values = self.values if values is None else values
        out = np.zeros((self.rows, self.columns), values.dtype)
        out[self.cell_rows(), self.indices] = values
        return out.reshape((self.replicates, *self.shape))


def cells_of(node: Observed, array: NDArray[Any], replicates: int) -> Cells:
    """Cells of a dense array (R, *axes)."""
    columns = array.shape[-1] if node.axes else 1
    flat = array.reshape(-1, columns)
    rows, indices = np.nonzero(flat)
    indptr = np.zeros(flat.shape[0] + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=flat.shape[0]), out=indptr[1:])
    return Cells(node.axes, array.shape[1:], replicates, indptr, indices.astype(np.int32),
                 _typed(flat[rows, indices]))  # fmt: skip


def _wide(values: NDArray[Any]) -> NDArray[Any]:
    """Integers as int64 and floats as float64; what int64 cannot hold stays and is refused."""
    if values.dtype.kind == "f":
        return values.astype(np.float64, copy=False)
    return values if values.dtype == np.uint64 else values.astype(np.int64, copy=False)


def _typed(values: NDArray[Any]) -> NDArray[Any]:
    """Integral values as int64 where they fit, others as float64."""
    if values.dtype.kind in "iub" or bool(
        (values == np.floor(values)).all() and (values < 2.0**53).all()
    ):
        return values.astype(np.int64)
    return values.astype(np.float64)


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
    cells = {name: read_array(network.nodes[name], value) for name, value in data.items()}  # type: ignore[arg-type]
    for name, cell in cells.items():
        if cell.missing is not None:
            check_imputable(network, network.nodes[name])
    return cells


def read_array(node: Observed, value: Any, imputed: bool = True) -> Cells:
    """The cells of one node's data: sparse or dense, masked where unknown.

    Named dims (of an ``xarray.DataArray``) go by name, all other arrays by position.
    ``imputed=False`` refuses masked cells: they are imputed by chains, and nowhere else.
    """
    if isinstance(value, Cells):  # read before, e.g. by the chain that was saved
        return value
    value = counts_of(value)
    if sp.issparse(value):
        return _read_sparse(node, value, imputed)
    value = in_order(node.name, node.axes, value)
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
            "or scipy.sparse"
        )
    _check_shape(node, array.shape)
    array = _wide(array)
    if mask is not None:
        array = np.where(mask, 0, array)
    _check_values(node, array, imputed)
    cells = cells_of(node, array[None], 1)
    return cells if mask is None or not mask.any() else _with_missing(cells, mask)


def _dense(value: Any) -> NDArray[Any]:
    """An array; numbers in pandas' own types, such as Int64, would otherwise become objects."""
    array = np.asarray(value)
    if array.dtype == object and hasattr(value, "columns") and hasattr(value, "to_numpy"):
        numbers = all(getattr(kind, "kind", "O") in "iufb" for kind in value.dtypes)
        return np.asarray(value.to_numpy(np.float64, na_value=np.nan) if numbers else array)
    return array


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
                 matrix.indices.astype(np.int32), _typed(matrix.data))  # fmt: skip


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
