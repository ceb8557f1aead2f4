"""Matrix Market files (.mtx), read without trust in a single byte of them.

    %%MatrixMarket matrix coordinate integer general
    % comments
    3 5 2              rows, columns, entries
    1 4 2              row, column, value, counted from 1
    3 1 7

Memory follows what is in the file, not what its header says; whatever is wrong is an error that
names the line.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.errors import DataError
from pgbn.storage.bounded import forget, open_bytes
from pgbn.storage.memory import check_bytes
from pgbn.storage.texts import readable

__all__ = ["market_blocks", "market_shape", "read_market"]

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
