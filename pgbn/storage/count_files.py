"""Matrices of counts in files: Matrix Market, .npz, svmlight."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from pgbn.checks import check_unmasked
from pgbn.errors import DataError, did_you_mean, notify
from pgbn.storage.bounded import open_bytes
from pgbn.storage.matrix_market import read_market
from pgbn.storage.memory import check_bytes
from pgbn.storage.npz import check_entries, is_plain
from pgbn.storage.sparse import as_scipy, check_sparse, check_sum

__all__ = ["MATRICES", "as_counts", "read_matrix"]

MATRICES = ("mtx", "npz", "svmlight")
ENTRY = 40  # bytes of memory that a number takes, at most, until it is a count; measured


def read_matrix(path: Path, kind: str) -> tuple[sp.csr_array, list[str] | None]:
    """The counts in a file, documents × terms, and the terms if the file names them."""
    if path.is_dir():
        raise DataError(f"{path}: a folder, but format={kind!r} needs a file")
    try:
        if kind == "npz":
            return _read_npz(path)
        if kind == "mtx":
            return as_counts(path, read_market(path)), None
        return as_counts(path, _read_svmlight(path)), None
    except ImportError:
        raise DataError(f"{path}: svmlight needs scikit-learn: pip install 'pgbn[cli]'") from None
    except (ValueError, TypeError, KeyError, OverflowError, MemoryError, EOFError, AttributeError,
            IndexError, zipfile.BadZipFile, zlib.error, RuntimeError) as error:  # fmt: skip
        if isinstance(error, DataError):
            raise
        detail = str(error).strip().splitlines() or [type(error).__name__]
        raise DataError(f"{path}: not a matrix in the format {kind} ({detail[0]})") from None


def _read_svmlight(path: Path) -> Any:
    """Columns count from 1, or from 0 if there is a column 0: the file does not tell."""
    from sklearn.datasets import load_svmlight_file

    with open_bytes(path) as file:
        content = file.read()
    entries = content.count(b":")
    check_bytes(f"{path}: its {entries} entries", 2 * ENTRY * entries, "give a part of it")
    found = load_svmlight_file(io.BytesIO(content), zero_based=True)[0]
    if not found.nnz:
        return found
    if found.indices.min() == 0:
        notify(
            f"{path}: it has a column 0, so its columns count from 0; those of a file without one "
            "count from 1. For data of several files, let all of them count from 1, or give .npz"
        )
        return found
    shape = found.shape[0], found.shape[1] - 1
    return sp.csr_array((found.data, found.indices - 1, found.indptr), shape=shape)


def _read_npz(path: Path) -> tuple[sp.csr_array, list[str] | None]:
    """What scipy.sparse.save_npz wrote, or an array ``X``, and perhaps ``vocabulary``."""
    with zipfile.ZipFile(path) as archive:
        check_entries(archive, path.stat().st_size)
        size = sum(entry.file_size for entry in archive.infolist())
    check_bytes(f"{path}: its arrays", 2 * size, "store them as a sparse matrix")
    with np.load(path, allow_pickle=False) as file:
        names = _names(path, file["vocabulary"]) if "vocabulary" in file else None
        if "format" not in file:
            key = "X" if "X" in file else file.files[0] if len(file.files) == 1 else None
            if key is None:
                raise DataError(f"{path}: no array 'X'.{did_you_mean('X', file.files)}")
            return as_counts(path, file[key]), names
    return as_counts(path, sp.load_npz(path)), names


def _names(path: Path, terms: Any) -> list[str]:
    if terms.ndim != 1 or terms.dtype.kind not in "US":
        raise DataError(
            f"{path}: vocabulary has the shape {terms.shape} and the dtype {terms.dtype}; give a "
            "list of texts, one for each term"
        )
    return [str(term) for term in terms.astype(str)]


def as_counts(path: Path | str, matrix: Any) -> sp.csr_array:
    """Whole numbers as integers; other numbers are left to the model's check."""
    check_unmasked(str(path), matrix)
    matrix = as_scipy(str(path), matrix)
    if not sp.issparse(matrix):
        try:
            matrix = np.asarray(matrix)
        except ValueError:  # rows of several lengths
            raise DataError(
                f"{path}: {matrix!r:.60} is no matrix; give documents × terms"
            ) from None
    if matrix.ndim != 2 or matrix.dtype.kind not in "iufb" or 0 in matrix.shape:
        raise DataError(
            f"{path}: an array of shape {matrix.shape} and dtype {matrix.dtype}; give numbers, "
            "documents × terms"
        )
    if not is_plain(matrix.dtype):
        raise DataError(
            f"{path}: numbers of the dtype {matrix.dtype}; give float32, float64 or integers"
        )
    entries = int(matrix.nnz if sp.issparse(matrix) else np.count_nonzero(matrix))
    check_bytes(f"{path}: its {entries} entries", ENTRY * entries, "give a part of it")
    if sp.issparse(matrix):
        check_sparse(str(path), matrix)
        matrix = matrix if matrix.format in ("coo", "csr", "csc", "bsr") else matrix.tocsr()
    else:
        matrix = sp.csr_array(matrix)
    # from here on data are the numbers that were given; several may be parts of one cell
    if matrix.dtype == np.uint64 and (matrix.data >= 2**63).any():
        raise DataError(f"{path}: the value {int(matrix.data.max())}; give numbers below 2^63")
    if matrix.dtype.kind in "iu":  # small ones could overflow where parts are added
        matrix = matrix.astype(np.int64, copy=False)
    if not np.isfinite(matrix.data).all():
        raise DataError(f"{path}: the matrix has values that are not finite")
    check_sum(path, matrix.data)
    out = sp.csr_array(matrix)
    if out.data.size and out.data.min() < 0:
        raise DataError(f"{path}: the matrix has negative values (least: {out.data.min():g})")
    if out.indices.size and (out.indices.min() < 0 or out.indices.max() >= out.shape[1]):
        raise DataError(f"{path}: damaged: a column number is out of range")
    small = out.dtype.kind != "f" or bool((out.data < 2.0**53).all())  # whole and exact
    if small and bool((out.data == np.floor(out.data)).all()):
        out = out.astype(np.int64)
        check_sum(path, out.data)
    return out
