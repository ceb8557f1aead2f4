"""Sparse matrices: checked before anything indexes with them, and as arrays of a file."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.checks import is_sparse_array
from pgbn.errors import DataError, StorageError
from pgbn.storage.archive import Group
from pgbn.storage.read_limits import check_bytes

MANY_ROWS = 2_000_000  # some of which may be empty
MOST_COLUMNS = 2**31 - 1  # whose numbers take four bytes


def as_scipy(name: str, value: Any) -> Any:
    """A matrix of the package ``sparse`` as one of scipy; any other value is returned as it is."""
    if not is_sparse_array(value):
        return value
    if value.ndim != 2 or value.fill_value != 0:
        raise DataError(
            f"{name}: a sparse array of shape {value.shape} that is {value.fill_value} where it "
            "has no entry; give documents × terms, and 0 there"
        )
    return value.asformat("coo").to_scipy_sparse()


def check_sparse(name: str, matrix: Any) -> None:
    """Reject a sparse matrix whose indices point outside it (scipy would follow them) or that has
    too many columns. Also reject rows that do not fit into memory or are nearly all empty: 60 bytes
    may claim any number of them."""
    check_shape(name, matrix.shape[0], matrix.shape[-1], matrix.nnz)
    check_bytes(f"{name} of shape {matrix.shape}", 40 * matrix.shape[0],
                "omit empty rows")  # fmt: skip
    try:
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
        elif matrix.format == "coo":
            matrix._check()
    except (ValueError, TypeError, IndexError) as error:
        raise DataError(f"{name}: a damaged sparse matrix ({error})") from None


def check_shape(name: object, rows: int, columns: int, entries: int) -> None:
    """Reject rows that are nearly all empty, since a header may claim any number of them, and
    columns whose numbers would overflow."""
    if rows > MANY_ROWS and rows > 100 * entries:
        raise DataError(f"{name}: {rows} rows, but only {entries} entries in them; omit empty rows")
    if columns > MOST_COLUMNS:
        raise DataError(f"{name}: {columns} columns; give fewer than 2^31")


def check_sum(name: object, values: NDArray[Any], before: float = 0) -> None:
    """Reject finite values whose sum, with ``before``, exceeds the range of their type: a sum of
    integers would wrap, and a sum of reals would be infinite."""
    real = values.dtype.kind == "f" or isinstance(before, float)
    with np.errstate(over="ignore"):
        total = float(np.abs(values, dtype=np.float64).sum() + before)
    if not total < (math.inf if real else 2.0**63):
        most = "1.7e308" if real else "2^63"
        raise DataError(f"{name}: the values add up to {most} or more; give smaller ones")


def compact(array: NDArray[Any]) -> NDArray[Any]:
    """Integers in as few bytes as their values need; other arrays as they are."""
    if array.dtype.kind not in "iu" or not array.size or array.min() < 0:
        return array
    return array.astype(np.min_scalar_type(array.max()), copy=False)


def check_rows(indptr: Any, indices: Any, values: Any, rows: int, columns: int) -> None:
    """Compressed sparse rows, checked so that indexing is safe."""
    good = (
        indptr.shape == (rows + 1,)
        and indptr.dtype.kind in "iu"
        and indices.dtype.kind in "iu"
        and values.dtype.kind in "iuf"
        and indices.shape == values.shape == (int(indptr[-1]),)
        and indptr[0] == 0
        and bool((np.diff(indptr.astype(np.int64)) >= 0).all())
        and (not indices.size or (int(indices.min()) >= 0 and int(indices.max()) < columns))
        and bool(np.isfinite(values).all())
    )
    if not good:
        raise StorageError("the data are damaged: not the rows of a sparse matrix")


def row_arrays(shape: tuple[int, ...], indptr: Any, indices: Any, values: Any) -> Group:
    """The rows of a sparse matrix as arrays of a file."""
    return {"shape": np.array(shape), "indptr": indptr,
            "indices": compact(indices), "values": compact(values)}  # fmt: skip


def read_rows(arrays: Group) -> sp.csr_array:
    """Read the matrix, checked: numbers of at least 0."""
    shape = arrays["shape"]
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or (shape < 0).any():
        raise StorageError("the data are damaged: their shape is not that of a matrix")
    rows, columns = (int(size) for size in shape)
    indptr, indices, values = (arrays[name] for name in ("indptr", "indices", "values"))
    check_rows(indptr, indices, values, rows, columns)
    if (values < 0).any() or (values.dtype == np.uint64 and (values >= 2**63).any()):
        raise StorageError("the data are damaged: a count is negative, or 2^63 or more")
    kind = np.int64 if values.dtype.kind in "iu" else np.float64
    index = np.int32 if columns <= MOST_COLUMNS else np.int64
    parts = (values.astype(kind), indices.astype(index), indptr.astype(np.int64))
    return sp.csr_array(parts, shape=(rows, columns))
