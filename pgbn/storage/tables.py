"""Columns of a table that stand beside its texts, such as dates and classes.

    check_columns("news.jsonl", "jsonl", {"--date": "published"}, "utf-8")  # before all else
    read_columns("news.jsonl", "jsonl", ["published"], "utf-8")             # {"published": […]}

All entries are texts; where a row has none, it is empty. The rows are those that
`pgbn.storage.texts.read_texts` gives.
"""

from __future__ import annotations

import csv
import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_path
from pgbn.errors import DataError, PgbnError
from pgbn.storage.arrays import read_npy
from pgbn.storage.corpus import FORMATS, check_distinct
from pgbn.storage.count_files import MATRICES, read_matrix
from pgbn.storage.read_limits import check_bytes, check_regular, memory, open_text
from pgbn.storage.texts import TABLES, TextTable, marked, not_in, readable

_PEEK = 100  # rows of JSON that tell which fields there are

Row = Mapping[str, Any]


def check_columns(path: Path, kind: str, wanted: Mapping[str, str], encoding: str) -> None:
    """Refuse columns that a file has not, with the names that it has; ``wanted`` are their names
    by the options that ask for them. Only the first rows are read."""
    if not wanted:
        return
    if kind not in TABLES:
        option, name = next(iter(wanted.items()))
        raise DataError(f"{option} {name}: {path} ({kind}) has no columns; leave it out")
    with readable(path, encoding):
        known = _known(path, kind, encoding)
    for option, name in wanted.items():
        if name not in known:
            listed = ", ".join(known) or "none"
            raise DataError(f"{option} {name}: {path} has no column of this name, but: {listed}")


def read_columns(
    path: Path, kind: str, names: Sequence[str], encoding: str
) -> dict[str, list[str]]:
    """Some columns of a table, from top to bottom."""
    out: dict[str, list[str]] = {name: [] for name in names}
    with readable(path, encoding):
        for row in _rows(path, kind, list(out), encoding):
            for name, entries in out.items():
                entries.append(_entry(row.get(name)))
    return out


def _entry(value: Any) -> str:
    """An entry as text; None and NaN are none."""
    return "" if value is None or value != value else str(value)


def _known(path: Path, kind: str, encoding: str) -> list[str]:
    if kind == "parquet":
        with _parquet(path) as file:
            return [str(name) for name in file.schema_arrow.names]
    if kind == "csv":
        with open_text(path, marked(encoding)) as file:
            return [name for name in TextTable(path, file).names if name]
    peeked = islice(_json_rows(path, encoding), _PEEK)
    return list(dict.fromkeys(str(name) for row in peeked for name in row))


def _rows(path: Path, kind: str, names: list[str], encoding: str) -> Iterator[Row]:
    if kind == "parquet":
        with _parquet(path) as file:
            for batch in file.iter_batches(batch_size=1024, columns=names):
                yield from batch.to_pylist()
    elif kind == "csv":
        with open_text(path, marked(encoding)) as file:
            table = TextTable(path, file)
            for name in names:
                table.check_once(name)
            yield from table
    else:
        yield from _json_rows(path, encoding)


def _json_rows(path: Path, encoding: str) -> Iterator[Row]:
    with open_text(path, marked(encoding)) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise DataError(f"{path}: line {number} is not JSON ({error})") from None
            if not isinstance(row, dict):
                kind = type(row).__name__
                raise DataError(f"{path}: line {number} is a {kind}, not an object with fields")
            yield row


def _parquet(path: Path) -> Any:
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise DataError(f"{path}: Parquet needs pyarrow: pip install pyarrow") from None
    return ParquetFile(path)


# ---- number files -------------------------------------------------------------------------------
#
# Numbers in files, for the data of any node: tables, arrays of numpy, matrices of counts.
#
#     numbers = read_numbers("visits.csv")
#     numbers.values, numbers.rows, numbers.columns
#
# A table (.csv, .tsv) may name its columns in its first line, and its rows in its first column: if
# that has no title, or the title ``rows``, or holds texts. A cell that is empty or NaN is missing,
# and masked.


NUMBER_FILES = (".csv", ".tsv", ".npy", *(end for end, kind in FORMATS.items() if kind in MATRICES))
CELL, ROW = 24, 400  # bytes of memory that a number and a row of a table take, about
_MISSING = ("", "na", "nan")


@dataclass(frozen=True)
class Numbers:
    """An array, or a sparse matrix where the file is one, and the names of rows and columns."""

    values: Any
    rows: list[str] | None = None
    columns: list[str] | None = None


def read_numbers(path: str | Path, rows: str = "") -> Numbers:
    """The numbers in a file, whose kind its name tells; ``rows`` is what a column is called that
    names the rows of a table."""
    path = check_path("path", path)
    ends = [end.lower() for end in path.suffixes if end.lower() != ".gz"][-1:]
    if not ends or ends[0] not in NUMBER_FILES:
        raise DataError(f"{path}: no kind of file that has numbers: {', '.join(NUMBER_FILES)}")
    try:
        check_regular(path)
        if ends[0] == ".npy":
            with path.open("rb") as file:
                return Numbers(read_npy(file, path.stat().st_size))
        if ends[0] in (".csv", ".tsv"):
            return _read_table(path, "\t" if ends[0] == ".tsv" else ",", rows)
        counts, names = read_matrix(path, FORMATS[ends[0]])
        return Numbers(counts, columns=names)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except UnicodeDecodeError:
        raise not_in(path, "utf-8", "save it as utf-8") from None
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        raise DataError(f"{path}: cannot be read ({error})") from None
    except (ValueError, SyntaxError, TypeError, OverflowError, MemoryError) as error:
        if isinstance(error, PgbnError):
            raise
        raise DataError(f"{path}: not an array of numbers ({error})") from None


def _read_table(path: Path, separator: str, title: str) -> Numbers:
    """Numbers row by row; names where the first line or the first column have them. As texts, cells
    would take many times the memory: only those of the first column are kept so."""
    with open_text(path, "utf-8-sig") as file:
        lines = _lines(path, csv.reader(file, delimiter=separator))
        first = next(lines, None)
        if first is None:
            raise DataError(f"{path}: nothing in it")
        head = None if all(_is_number(cell) for cell in first) else first
        names, cells, need = [], [], 0
        for number, row in enumerate(lines if head else chain([first], lines), 1 + bool(head)):
            names.append(row[0])
            cells.append(np.array(_numbers(path, number, row[1:])))
            need += CELL * len(row) + ROW
            if need > memory():
                check_bytes(f"{path}: its numbers", need, "give a part of them")
    if not cells:
        raise DataError(f"{path}: names of columns, and no row of numbers")
    titled = head is not None and head[0].strip() in ("", title)
    named = titled or not all(_is_number(name) for name in names)
    if cells[0].size == 0 and named:
        raise DataError(f"{path}: one column, and no numbers in it")
    table = np.empty((len(cells), cells[0].size + (not named)))
    for number, numbers in enumerate(cells):
        table[number, not named :] = numbers
        if not named:
            table[number, 0] = _numbers(path, number + 1 + bool(head), names[number : number + 1])[
                0
            ]
    unknown = np.isnan(table)
    values: NDArray[Any] = np.ma.masked_array(table, unknown) if unknown.any() else table
    columns = head[named:] if head else []
    check_distinct(path, [name for name in columns if name.strip()])
    return Numbers(values, names if named else None, columns or None)


def _lines(path: Path, reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """Lines that are not empty, all of them as long as the first."""
    length = 0
    for number, row in enumerate(reader, 1):
        if not row:
            continue
        length = length or len(row)
        if len(row) != length:
            raise DataError(f"{path}: line {number} has {len(row)} cells, the first has {length}")
        yield row


def _is_number(cell: str) -> bool:
    try:
        float(cell.strip() or "nan")
    except ValueError:
        return cell.strip().lower() in _MISSING
    return True


def _numbers(path: Path, number: int, row: list[str]) -> list[float]:
    for cell in row:
        if not _is_number(cell):
            raise DataError(f"{path}: row {number} has {cell!r:.40}, which is no number")
    return [math.nan if c.strip().lower() in _MISSING else float(c) for c in row]
