"""Matrices of counts in files: Matrix Market, .npz, svmlight."""

from __future__ import annotations

import io
import math
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.checks import check_unmasked
from pgbn.errors import DataError, did_you_mean, notify
from pgbn.storage.arrays import check_entries, is_plain
from pgbn.storage.read_limits import check_bytes, forget, open_bytes
from pgbn.storage.sparse import as_scipy, check_column_count, check_filled, check_sparse, check_sum
from pgbn.storage.texts import readable

# ---- matrix market ------------------------------------------------------------------------------
#
# Matrix Market files (.mtx), read without trust in a single byte of them.
#
#     %%MatrixMarket matrix coordinate integer general
#     % comments
#     3 5 2              rows, columns, entries
#     1 4 2              row, column, value, counted from 1
#     3 1 7
#
# Memory follows what is in the file, not what its header says; whatever is wrong is an error that
# names the line.


BLOCK = 2**22  # bytes that are read at a time
LONGEST = 2**16  # bytes of a line
_FIELDS = {"integer": int, "unsigned-integer": int, "real": float, "double": float, "pattern": int}
_LIMIT = 2**63 - 1  # counts stay below it
_ALLOWED = b"0123456789+-.eE \t\r\n"
_LETTERS = bytes(range(65, 91)) + bytes(range(97, 123))
_REMEDY = "scipy.io.mmwrite(path, X) writes a file that can be read"
_GENERAL = "scipy.io.mmwrite(path, scipy.sparse.coo_array(X), symmetry='general')"


@dataclass
class _Head:
    """What the first lines say, and the number of the line that comes next."""

    path: Path
    field: str
    dense: bool
    symmetric: bool
    shape: tuple[int, int]
    entries: int
    line: int

    @property
    def columns(self) -> int:
        """Numbers of a line."""
        return len(self.kinds)

    @property
    def kinds(self) -> list[type[int] | type[float]]:
        """The types of these numbers."""
        value = _FIELDS[self.field]
        return [value] if self.dense else [int, int, value][: 2 if self.field == "pattern" else 3]


def read_market(path: Path) -> Any:
    """The matrix in a file: a dense array, or a coo_array of int64 or float64."""
    with open_bytes(path) as file:
        head = _read_head(path, file)
        need = 40 if head.dense else 120 if head.symmetric else 80  # bytes at the peak, measured
        check_bytes(f"{path}: its {head.entries} entries", need * head.entries, "give a part of it")
        blocks = list(_read_blocks(head, file))
    parts = [np.concatenate(part) for part in zip(*blocks, strict=True)]
    if not parts:
        parts = [np.zeros(0, np.int64) for _ in range(head.columns)]
    if parts[0].size != head.entries:
        raise _wrong(head, f"{parts[0].size} entries, but the header says {head.entries}; is the "
                     "file cut off?")  # fmt: skip
    if head.dense:
        return parts[0].reshape(head.shape, order="F")
    return _assemble(head, *parts)


def market_shape(path: Path) -> tuple[int, int, int]:
    """Rows, columns and entries, as the header of a sparse matrix says."""
    with readable(path), open_bytes(path) as file:
        head = _read_sparse_head(path, file)
    return *head.shape, head.entries


def market_blocks(path: Path) -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
    """The rows and columns, from 0 on, and the values of a sparse matrix, some entries at a time:
    the file may be larger than memory."""
    with readable(path), open_bytes(path) as file:
        head, found = _read_sparse_head(path, file), 0
        for rows, columns, *last in _read_blocks(head, file):
            found += rows.size
            yield rows - 1, columns - 1, last[0] if last else np.ones(rows.size, np.int64)
            forget(file)
        if found != head.entries:
            raise _wrong(head, f"{found} entries, but the header says {head.entries}; is the file "
                         "cut off?")  # fmt: skip


def _read_sparse_head(path: Path, file: IO[bytes]) -> _Head:
    head = _read_head(path, file)
    if head.dense or head.symmetric:
        form = "symmetric" if head.symmetric else "dense"
        raise _wrong(head, f"a {form} matrix cannot be read in parts; write it as 'coordinate' and "
                     f"'general': {_GENERAL}")  # fmt: skip
    return head


def _assemble(head: _Head, rows: NDArray[Any], columns: NDArray[Any], *last: NDArray[Any]) -> Any:
    values = last[0] if last else np.ones(rows.size, np.int64)
    if head.symmetric:
        apart = rows != columns
        rows, columns = (
            np.concatenate((rows, columns[apart])),
            np.concatenate((columns, rows[apart])),
        )
        values = np.concatenate((values, values[apart]))
    if values.dtype == np.int64 and values.sum(dtype=np.float64) >= _LIMIT:
        raise _wrong(head, "the values add up to 2^63 or more; give smaller counts")
    return sp.coo_array((values, (rows - 1, columns - 1)), shape=head.shape)


# ---- the first lines ----------------------------------------------------------------------


def _read_head(path: Path, file: IO[bytes]) -> _Head:
    head = _Head(path, "", False, False, (0, 0), 0, 1)
    banner = _read_line(head, file).split()
    words = [word.decode("latin-1").lower() for word in banner]
    if len(words) != 5 or words[0] != "%%matrixmarket" or words[1] != "matrix":
        raise DataError(
            f"{path}: not a matrix in the format mtx: line 1 is not "
            f"'%%MatrixMarket matrix coordinate integer general' or the like; {_REMEDY}"
        )
    form, field, symmetry = words[2:]
    dense = form == "array"
    if form not in ("coordinate", "array") or field not in _FIELDS or (
        dense and (field == "pattern" or symmetry != "general")
    ) or symmetry not in ("general", "symmetric"):  # fmt: skip
        raise DataError(
            f"{path}: not a matrix in the format mtx that holds counts: line 1 says {form!r}, "
            f"{field!r}, {symmetry!r}; give 'coordinate', 'integer', 'real' or 'pattern', "
            f"'general' or 'symmetric', or 'array', 'integer' or 'real', 'general': {_GENERAL}"
        )
    head.field, head.dense, head.symmetric = field, dense, symmetry == "symmetric"
    sizes = _read_sizes(head, file)
    head.shape = sizes[0], sizes[1]
    head.entries = math.prod(sizes) if dense else sizes[2]
    if max(head.shape) >= _LIMIT or head.entries >= _LIMIT:
        raise _wrong(head, f"sizes {sizes}; give numbers below 2^63")
    if head.symmetric and head.shape[0] != head.shape[1]:
        raise _wrong(head, f"symmetric, but with the shape {head.shape}; write 'general' in line 1")
    head.line += 1
    return head


def _read_sizes(head: _Head, file: IO[bytes]) -> list[int]:
    """From the first line that is neither a comment nor empty."""
    while True:
        head.line += 1
        line = _read_line(head, file)
        if not line:
            raise _wrong(head, f"no line with the sizes of the matrix; {_REMEDY}")
        if not line.startswith(b"%") and line.strip():
            break
    words, wanted = line.split(), 2 if head.dense else 3
    if len(words) != wanted or not all(word.isdigit() and len(word) < 20 for word in words):
        names = "rows and columns" if head.dense else "rows, columns and entries"
        raise _wrong(head, f"{_shown(line)}; give the numbers of {names}")
    return [int(word) for word in words]


def _read_line(head: _Head, file: IO[bytes]) -> bytes:
    """A line, or of a comment that is too long its beginning: the rest must not pass for a line."""
    line = part = file.readline(LONGEST)
    while len(part) == LONGEST and not part.endswith(b"\n"):
        if not line.startswith(b"%") or head.line == 1:
            raise _wrong(head, f"a line of {LONGEST} bytes or more; {_REMEDY}")
        part = file.readline(LONGEST)
    return line


# ---- entries ------------------------------------------------------------------------------


def _read_blocks(head: _Head, file: IO[bytes]) -> Iterator[list[NDArray[Any]]]:
    """The columns of the entries, block by block of whole lines."""
    found = 0
    while block := file.read(BLOCK):
        if not block.endswith(b"\n"):
            block += _read_line(replace(head, line=head.line + block.count(b"\n")), file)
        columns = _read_block(head, block)
        if columns is None:
            raise _find_wrong(head, block)
        found += columns[0].size
        if found > head.entries:
            raise _wrong(head, f"more entries than the {head.entries} that the header says")
        head.line += block.count(b"\n")
        yield columns


def _read_block(head: _Head, block: bytes) -> list[NDArray[Any]] | None:
    """The columns of a block, all at once; None if anything in it is wrong."""
    words = _count_words(block, head.columns)
    if block.translate(None, _ALLOWED) or words is None:
        return None
    whole = _FIELDS[head.field] is int
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            numbers = np.fromstring(block, np.int64 if whole else np.float64, sep=" ")
        except (ValueError, DeprecationWarning):  # not read to its end
            return None
    # Words like 1-2 are read as two numbers, and what int64 cannot hold as the largest that it can.
    most = _LIMIT if whole else math.inf
    if numbers.size != words or not ((numbers >= 0) & (numbers < most)).all():
        return None
    columns = list(numbers.reshape(-1, head.columns).T)
    if head.dense:
        return columns
    for place, size in enumerate(head.shape):
        index = columns[place]
        if not ((index >= 1) & (index <= size) & (index == np.floor(index))).all():
            return None
        columns[place] = index.astype(np.int64)
    return columns


def _count_words(block: bytes, columns: int) -> int | None:
    """The number of words; None if a line that is not empty has not so many as ``columns``."""
    places = np.frombuffer(b"\n" + block, np.uint8)
    blank = places <= ord(" ")
    starts = np.flatnonzero(~blank[1:] & blank[:-1])
    if starts.size % columns:
        return None
    line = np.cumsum(places == ord("\n"))[starts].reshape(-1, columns)
    good = (line == line[:, :1]).all() and (np.diff(line[:, 0]) > 0).all()
    return int(starts.size) if good else None


# ---- what is wrong ------------------------------------------------------------------------


def _find_wrong(head: _Head, block: bytes) -> DataError:
    """The first line of a block that is not an entry, and why."""
    for number, line in enumerate(block.split(b"\n"), head.line):
        if line.strip(b" \t\r"):
            head.line = number
            complaint = _complaint(head, line)
            if complaint:
                return _wrong(head, complaint)
    return _wrong(head, f"not all numbers from here on can be read; {_REMEDY}")


def _complaint(head: _Head, line: bytes) -> str:
    words = line.split()
    if len(words) != head.columns or line.translate(None, _ALLOWED + _LETTERS):
        wanted = ("a value", "a row and a column", "a row, a column and a value")
        return f"{_shown(line)}; give {wanted[head.columns - 1]}"
    for place, (word, kind) in enumerate(zip(words, head.kinds, strict=True)):
        try:
            number = kind(word)
        except ValueError:
            if kind is float:
                return f"{_shown(word)} is not a number"
            return f"{_shown(word)} is not a whole number; write 'real' in line 1 for other numbers"
        if place < 2 and not head.dense and not 1 <= number <= head.shape[place]:
            what = ("row", "column")[place]
            return f"{what} {number} of a matrix with {head.shape[place]}; they count from 1"
        if not 0 <= number < (_LIMIT if kind is int else math.inf):
            most = "2^63 - 2" if kind is int else "1.7e308"
            return f"the value {_shown(word)} is not allowed; give a number from 0 to {most}"
    return ""


def _shown(text: bytes) -> str:
    """Bytes of a file as an error shows them."""
    found = repr(text.rstrip(b"\n").decode("latin-1"))
    return found if len(found) <= 60 else f"{found[:60]}…"


def _wrong(head: _Head, what: str) -> DataError:
    return DataError(f"{head.path}: not a matrix in the format mtx: line {head.line}: {what}")


# ---- count files --------------------------------------------------------------------------------


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


# ---- market rows --------------------------------------------------------------------------------
#
# A Matrix Market file by rows, in whatever order its entries stand, in bounded memory.
#
# Its entries are read once and added to a file for each range of rows, on the disk; then each of
# these files is small enough to be a matrix.


PREFIX = ".rows-"
ENTRIES = 2**22  # of a range of rows, about
_CELL = np.dtype([("row", np.int64), ("column", np.int64), ("value", np.float64)])


class MarketRows:
    """The rows of a Matrix Market file, in ranges of equal length."""

    def __init__(self, path: Path) -> None:
        self.path = path
        rows, columns, entries = market_shape(path)
        check_filled(path, rows, entries)
        check_column_count(path, columns)
        self.shape = rows, columns
        ranges = max(1, -(-entries // ENTRIES))
        self.length = min(max(1, -(-rows // ranges)), ENTRIES)
        self.folder: Path | None = None

    @contextmanager
    def sorted_in(self, folder: Path) -> Iterator[None]:
        """The entries by range, in a folder of their own that goes afterwards; and with it what a
        killed process has left there."""
        for old in folder.glob(f"{PREFIX}*"):
            rmtree(old, ignore_errors=True)
        self.folder = Path(mkdtemp(prefix=PREFIX, dir=folder))
        try:
            for entries in market_blocks(self.path):
                self._add(*entries)
            yield
        finally:
            rmtree(self.folder, ignore_errors=True)
            self.folder = None

    def _add(self, rows: NDArray[Any], columns: NDArray[Any], values: NDArray[Any]) -> None:
        """Some entries, to the files of their ranges."""
        assert self.folder is not None
        if values.dtype.kind == "i" and values.size and values.max() >= 2**53:
            raise DataError(f"{self.path}: a count of {values.max()}; give counts below 2^53")
        cells = np.empty(rows.size, _CELL)
        cells["row"], cells["column"], cells["value"] = rows, columns, values
        place = rows // self.length
        order = np.argsort(place, kind="stable")
        cells, place = cells[order], place[order]
        for number in np.unique(place):
            start, stop = np.searchsorted(place, [number, number + 1])
            with (self.folder / str(number)).open("ab") as file:
                file.write(cells[start:stop].tobytes())

    def blocks(self, skip: int = 0) -> Iterator[tuple[int, sp.csr_array]]:
        """The number of the first row of each range, and its rows; ranges whose rows are all among
        the first ``skip`` are left out."""
        assert self.folder is not None
        for first in range(0, self.shape[0], self.length):
            rows = min(self.length, self.shape[0] - first)
            if first + rows <= skip:
                continue
            file = self.folder / str(first // self.length)
            cells = np.fromfile(file, _CELL) if file.exists() else np.empty(0, _CELL)
            place = (cells["row"] - first, cells["column"])
            matrix = sp.coo_array((cells["value"], place), shape=(rows, self.shape[1]))
            yield first, as_counts(self.path, matrix)
