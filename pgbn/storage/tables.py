"""Numbers in files, for the data of any node: tables, arrays of numpy, matrices of counts.

    numbers = read_numbers("visits.csv")
    numbers.values, numbers.rows, numbers.columns

A table (.csv, .tsv) may name its columns in its first line, and its rows in its first column: if
that column has no title, has the title ``rows``, or contains texts. A cell that is empty or NaN is
missing, and masked.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_path
from pgbn.errors import DataError, PgbnError
from pgbn.storage.arrays import read_npy
from pgbn.storage.count_files import MATRICES, read_matrix
from pgbn.storage.read_limits import check_regular, open_text, within_memory
from pgbn.storage.sources import FORMATS, check_distinct
from pgbn.storage.texts import readable

NUMBER_FILES = (".csv", ".tsv", ".npy", *(end for end, kind in FORMATS.items() if kind in MATRICES))
CELL, ROW = 24, 400  # bytes of memory that a number and a row of a table take, about
_MISSING = ("", "na", "nan")


@dataclass(frozen=True)
class Numbers:
    """An array, or a sparse matrix if the file has one, and the names of rows and columns."""

    values: Any
    rows: list[str] | None = None
    columns: list[str] | None = None


def read_numbers(path: str | Path, rows: str = "") -> Numbers:
    """The numbers in a file, whose kind is inferred from its name. ``rows`` is the title of the
    column that names the rows of a table."""
    path = check_path("path", path)
    ends = [end.lower() for end in path.suffixes if end.lower() != ".gz"][-1:]
    if not ends or ends[0] not in NUMBER_FILES:
        raise DataError(f"{path}: not a kind of file with numbers: {', '.join(NUMBER_FILES)}")
    if not path.exists():
        raise DataError(f"{path}: no such file")
    try:
        with readable(path, remedy="save it as utf-8"):
            check_regular(path)
            if ends[0] == ".npy":
                with path.open("rb") as file:
                    return Numbers(read_npy(file, path.stat().st_size))
            if ends[0] in (".csv", ".tsv"):
                return _read_table(path, "\t" if ends[0] == ".tsv" else ",", rows)
            counts, names = read_matrix(path, FORMATS[ends[0]])
            return Numbers(counts, columns=names)
    except PgbnError:
        raise
    except (ValueError, SyntaxError, TypeError, OverflowError, MemoryError) as error:
        raise DataError(f"{path}: not an array of numbers ({error})") from None


def _read_table(path: Path, separator: str, title: str) -> Numbers:
    """Read numbers row by row, with names if the first line or the first column has them. Texts
    would need many times the memory, so only the first column is kept as texts."""
    with open_text(path, "utf-8-sig") as file:
        lines = _lines(path, csv.reader(file, delimiter=separator))
        first = next(lines, None)
        if first is None:
            raise DataError(f"{path}: it is empty")
        head = None if all(_number(cell) is not None for cell in first) else first
        rows = within_memory(f"{path}: its numbers", lines if head else chain([first], lines),
                             lambda row: CELL * len(row) + ROW, "give a part of them")  # fmt: skip
        names, cells = [], []
        for number, row in enumerate(rows, 1 + bool(head)):
            names.append(row[0])
            cells.append(_numbers(path, number, row[1:]))
    if not cells:
        raise DataError(f"{path}: names of columns, and no row of numbers")
    titled = head is not None and head[0].strip() in ("", title)
    named = titled or any(_number(name) is None for name in names)
    if cells[0].size == 0 and named:
        raise DataError(f"{path}: one column, and no numbers in it")
    table = np.array(cells)
    if not named:
        table = np.column_stack((np.array([_number(name) for name in names], float), table))
    unknown = np.isnan(table)
    values: NDArray[Any] = np.ma.masked_array(table, unknown) if unknown.any() else table
    columns = head[named:] if head else []
    check_distinct(path, [name for name in columns if name.strip()])
    return Numbers(values, names if named else None, columns or None)


def _lines(path: Path, reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """Lines that are not empty; all have as many cells as the first."""
    length = 0
    for number, row in enumerate(reader, 1):
        if not row:
            continue
        length = length or len(row)
        if len(row) != length:
            raise DataError(f"{path}: line {number} has {len(row)} cells, the first has {length}")
        yield row


def _numbers(path: Path, number: int, row: list[str]) -> NDArray[np.float64]:
    found = [_number(cell) for cell in row]
    if None in found:
        cell = row[found.index(None)]
        raise DataError(f"{path}: row {number} has {cell!r:.40}, which is not a number")
    return np.array(found, float)


def _number(cell: str) -> float | None:
    """A cell as a number, NaN where it is missing; None if it is a text."""
    text = cell.strip()
    try:
        return math.nan if text.lower() in _MISSING else float(text)
    except ValueError:
        return None
