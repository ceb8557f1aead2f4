"""Matrices of counts in files: Matrix Market, .npz, svmlight.

A Matrix Market file (.mtx) is read without trusting any byte of it:

    %%MatrixMarket matrix coordinate integer general
    % comments
    3 5 2              rows, columns, entries
    1 4 2              row, column, value, counted from 1
    3 1 7

The memory used depends on the content of the file, not on its header. Any fault is an error that
names the line.
"""

from __future__ import annotations

import io
import math
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from string import ascii_letters, digits
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.checks import check_unmasked
from pgbn.errors import DataError, did_you_mean, notify
from pgbn.storage.arrays import check_entries, is_plain
from pgbn.storage.read_limits import check_bytes, forget, open_bytes
from pgbn.storage.sparse import as_scipy, check_sparse, check_sum

MATRICES = ("mtx", "npz", "svmlight")
ENTRY = 40  # bytes of memory that a number takes, at most, until it is a count; measured
BLOCK = 2**22  # bytes that are read at a time
LONGEST = 2**16  # bytes of a line
_FIELDS = {"integer": int, "unsigned-integer": int, "real": float, "double": float, "pattern": int}
_LIMIT = 2**63 - 1  # counts stay below it
_ALLOWED = (ascii_letters + digits + "+-. \t\r\n").encode()
_REMEDY = "scipy.io.mmwrite(path, X) writes a file that can be read"
GENERAL = "scipy.io.mmwrite(path, scipy.sparse.coo_array(X), symmetry='general')"

Entries = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]  # rows and columns from 0 on, values


@dataclass
class Market:
    """The content of the first lines of a file, and the number of the next line."""

    path: Path
    field: str
    dense: bool
    symmetric: bool
    shape: tuple[int, int]
    entries: int
    line: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numbers of a line."""
        place = [] if self.dense else [("row", int), ("column", int)]
        value = [] if self.field == "pattern" else [("value", _FIELDS[self.field])]
        return np.dtype([*place, *value])

    def limits(self, name: str) -> tuple[int, float]:
        """The least and the largest that one of these numbers may be."""
        if name == "value":
            return 0, _LIMIT - 1 if _FIELDS[self.field] is int else sys.float_info.max
        return 1, self.shape[name == "column"]

    def wrong(self, what: str) -> DataError:
        return DataError(f"{self.path}: not a matrix in the format mtx: line {self.line}: {what}")


@contextmanager
def open_market(path: Path) -> Iterator[tuple[Market, Iterator[NDArray[Any]]]]:
    """The header of a file, and the numbers of its lines, some at a time."""
    with open_bytes(path) as file:
        head = _read_head(path, file)
        yield head, _read_blocks(head, file)


def market_entries(cells: NDArray[Any]) -> Entries:
    """The entries of a sparse matrix; those of a pattern are 1."""
    named = "value" in (cells.dtype.names or ())
    values = cells["value"] if named else np.ones(cells.size, np.int64)
    return cells["row"] - 1, cells["column"] - 1, values


def _read_market(path: Path) -> Any:
    """The matrix in a file: a dense array, or a coo_array of int64 or float64."""
    with open_market(path) as (head, blocks):
        need = 40 if head.dense else 120 if head.symmetric else 80  # bytes at the peak, measured
        check_bytes(f"{path}: its {head.entries} entries", need * head.entries, "give a part of it")
        cells = np.concatenate([np.empty(0, head.dtype), *blocks])
    if head.dense:
        return cells["value"].reshape(head.shape, order="F")
    rows, columns, values = market_entries(cells)
    if head.symmetric:
        apart = rows != columns
        rows, columns = (
            np.concatenate((rows, columns[apart])),
            np.concatenate((columns, rows[apart])),
        )
        values = np.concatenate((values, values[apart]))
    if values.dtype == np.int64 and values.sum(dtype=np.float64) >= _LIMIT:
        raise head.wrong("the values add up to 2^63 or more; give smaller counts")
    return sp.coo_array((values, (rows, columns)), shape=head.shape)


def _read_head(path: Path, file: IO[bytes]) -> Market:
    head = Market(path, "", False, False, (0, 0), 0, 1)
    words = _read_line(head, file).decode("latin-1").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise DataError(
            f"{path}: not a matrix in the format mtx: line 1 is not "
            f"'%%MatrixMarket matrix coordinate integer general' or the like; {_REMEDY}"
        )
    form, field, symmetry = words[2:]
    dense, symmetric = form == "array", symmetry == "symmetric"
    good = form in ("coordinate", "array") and field in _FIELDS
    good &= symmetric or symmetry == "general"
    if not good or (dense and (symmetric or field == "pattern")):
        raise DataError(
            f"{path}: not a matrix in the format mtx that holds counts: line 1 says {form!r}, "
            f"{field!r}, {symmetry!r}; give 'coordinate', 'integer', 'real' or 'pattern', "
            f"'general' or 'symmetric', or 'array', 'integer' or 'real', 'general': {GENERAL}"
        )
    head.field, head.dense, head.symmetric = field, dense, symmetric
    sizes = _read_sizes(head, file)
    head.shape = sizes[0], sizes[1]
    head.entries = math.prod(sizes) if dense else sizes[2]
    if max(head.shape) >= _LIMIT or head.entries >= _LIMIT:
        raise head.wrong(f"sizes {sizes}; give numbers below 2^63")
    if symmetric and head.shape[0] != head.shape[1]:
        raise head.wrong(f"symmetric, but with the shape {head.shape}; write 'general' in line 1")
    head.line += 1
    return head


def _read_sizes(head: Market, file: IO[bytes]) -> list[int]:
    """From the first line that is neither a comment nor empty."""
    while True:
        head.line += 1
        line = _read_line(head, file)
        if not line:
            raise head.wrong(f"no line with the sizes of the matrix; {_REMEDY}")
        if not line.startswith(b"%") and line.strip():
            break
    words, wanted = line.split(), 2 if head.dense else 3
    if len(words) != wanted or not all(word.isdigit() and len(word) < 20 for word in words):
        names = "rows and columns" if head.dense else "rows, columns and entries"
        raise head.wrong(f"{_shown(line)}; give the numbers of {names}")
    return [int(word) for word in words]


def _read_line(head: Market, file: IO[bytes]) -> bytes:
    """A line, or the start of a comment that is too long: the rest must not be taken for a line."""
    line = part = file.readline(LONGEST)
    while len(part) == LONGEST and not part.endswith(b"\n"):
        if not line.startswith(b"%") or head.line == 1:
            raise head.wrong(f"a line of {LONGEST} bytes or more; {_REMEDY}")
        part = file.readline(LONGEST)
    return line


def _read_blocks(head: Market, file: IO[bytes]) -> Iterator[NDArray[Any]]:
    """The numbers of the entries, from blocks of complete lines."""
    found = 0
    while block := file.read(BLOCK):
        if not block.endswith(b"\n"):
            block += _read_line(replace(head, line=head.line + block.count(b"\n")), file)
        cells = _read_block(head, block)
        found += cells.size
        if found > head.entries:
            raise head.wrong(f"more entries than the {head.entries} that the header says")
        head.line += block.count(b"\n")
        yield cells
        forget(file)
    if found != head.entries:
        raise head.wrong(
            f"{found} entries, but the header says {head.entries}; is the file cut off?"
        )


def _read_block(head: Market, block: bytes) -> NDArray[Any]:
    """The numbers of some lines."""
    if not block.strip():
        return np.empty(0, head.dtype)
    try:
        lines = block.split(b"\n")
        cells = np.loadtxt(lines, head.dtype, comments=None, ndmin=1, encoding="latin-1")
    except ValueError:
        raise _find_wrong(head, block) from None
    for name in cells.dtype.names or ():
        least, most = head.limits(name)
        if not ((cells[name] >= least) & (cells[name] <= most)).all():
            raise _find_wrong(head, block)
    return cells


def _find_wrong(head: Market, block: bytes) -> DataError:
    """An error for the first line of a block that is not an entry, with the reason."""
    for number, line in enumerate(block.split(b"\n"), head.line):
        if line.strip(b" \t\r"):
            head.line = number
            complaint = _complaint(head, line)
            if complaint:
                return head.wrong(complaint)
    return head.wrong(f"not all numbers from here on can be read; {_REMEDY}")


def _complaint(head: Market, line: bytes) -> str:
    words, names = line.split(), head.dtype.names or ()
    if len(words) != len(names) or line.translate(None, _ALLOWED):
        wanted = ("a value", "a row and a column", "a row, a column and a value")
        return f"{_shown(line)}; give {wanted[len(names) - 1]}"
    for word, name in zip(words, names, strict=True):
        kind = _FIELDS[head.field] if name == "value" else int
        try:
            number = kind(word)
        except ValueError:
            if kind is float:
                return f"{_shown(word)} is not a number"
            return f"{_shown(word)} is not an integer; write 'real' in line 1 for other numbers"
        least, most = head.limits(name)
        if not least <= number <= most:
            if name != "value":
                return f"{name} {number} of a matrix with {most}; they count from 1"
            allowed = "2^63 - 2" if kind is int else "1.7e308"
            return f"the value {_shown(word)} is not allowed; give a number from 0 to {allowed}"
    return ""


def _shown(text: bytes) -> str:
    """Bytes of a file as an error shows them."""
    found = repr(text.rstrip(b"\n").decode("latin-1"))
    return found if len(found) <= 60 else f"{found[:60]}…"


def read_matrix(path: Path, kind: str) -> tuple[sp.csr_array, list[str] | None]:
    """The counts in a file, documents × terms, and the names of the terms, if the file has them."""
    if path.is_dir():
        raise DataError(f"{path}: a folder, but format={kind!r} needs a file")
    try:
        if kind == "npz":
            return _read_npz(path)
        if kind == "mtx":
            return as_counts(path, _read_market(path)), None
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
    """Columns count from 1, or from 0 if there is a column 0: the format does not say."""
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
            "count from 1. If there are several files, let all of them count from 1, or give .npz"
        )
        return found
    shape = found.shape[0], found.shape[1] - 1
    return sp.csr_array((found.data, found.indices - 1, found.indptr), shape=shape)


def _read_npz(path: Path) -> tuple[sp.csr_array, list[str] | None]:
    """Read a file of scipy.sparse.save_npz, or one with an array ``X`` and perhaps a
    ``vocabulary``."""
    with zipfile.ZipFile(path) as archive:
        check_entries(archive, path.stat().st_size)
        size = sum(entry.file_size for entry in archive.infolist())
    check_bytes(f"{path}: its arrays", 2 * size, "store them as a sparse matrix")
    with np.load(path, allow_pickle=False) as file:
        names = file.get("vocabulary")
        key = "X" if "X" in file else file.files[0] if len(file.files) == 1 else None
        if "format" not in file and key is None:
            raise DataError(f"{path}: no array 'X'.{did_you_mean('X', file.files)}")
        matrix = None if "format" in file else file[key]
    if names is not None and (names.ndim != 1 or names.dtype.kind not in "US"):
        raise DataError(
            f"{path}: vocabulary has the shape {names.shape} and the dtype {names.dtype}; give a "
            "list of texts, one for each term"
        )
    counts = as_counts(path, sp.load_npz(path) if matrix is None else matrix)
    return counts, None if names is None else [str(name) for name in names.astype(str)]


def as_counts(path: Path | str, matrix: Any) -> sp.csr_array:
    """Convert integral numbers to integers; the model checks all others."""
    check_unmasked(str(path), matrix)
    matrix = as_scipy(str(path), matrix)
    try:
        matrix = matrix if sp.issparse(matrix) else np.asarray(matrix)
    except ValueError:  # rows of several lengths
        raise DataError(f"{path}: {matrix!r:.60} is not a matrix; give documents × terms") from None
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
    small = out.dtype.kind != "f" or bool((out.data < 2.0**53).all())  # integral and exact
    if small and bool((out.data == np.floor(out.data)).all()):
        out = out.astype(np.int64)
        check_sum(path, out.data)
    return out
