"""Texts in files, one after another: folders, lines, tables, JSON and Parquet.

Each reader is a generator that keeps nothing in memory: a file may be larger than memory.
"""

from __future__ import annotations

import codecs
import csv
import json
import os
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, TextIO

from pgbn.errors import DataError, PgbnError, did_you_mean
from pgbn.storage.read_limits import (
    check_regular,
    forget,
    is_packed,
    open_bytes,
    open_text,
    within_memory,
)

TABLES = ("csv", "jsonl", "parquet")  # formats with columns
ENCODING = "give the encoding, e.g. latin-1"
_PEEK = 100  # rows of JSON that show which fields there are
_ROW = 300  # bytes that a row takes in memory, without its texts

Texts = Iterator[tuple[str, str]]
Rows = Iterator[tuple[int, dict[str, Any]]]  # the number of a row or line, and its cells by name


@contextmanager
def readable(path: Path, encoding: str = "utf-8", remedy: str = ENCODING) -> Iterator[None]:
    """Turn failures of reading a file into clear errors."""
    try:
        yield
    except UnicodeDecodeError:
        raise not_in(path, encoding, remedy) from None
    except (LookupError, UnicodeError) as error:
        raise DataError(f"{path}: encoding={encoding!r}: {error}") from None
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        raise DataError(f"{path}: cannot be read ({error})") from None


def not_in(path: Path, encoding: str, remedy: str = ENCODING) -> DataError:
    """The error for a file whose text is in another encoding; its first bytes may show which. The
    file is read again, since Python reports the position relative to its last read."""
    start, place = b"", ""
    with suppress(OSError, EOFError, zlib.error, PgbnError), open_bytes(path) as file:
        check_regular(path)  # only the rest of a pipe is available
        start = file.peek(4)[:4]  # type: ignore[attr-defined]
        done, decoder = 0, codecs.getincrementaldecoder(marked(encoding))()
        try:
            while chunk := file.read(2**16):
                done += len(chunk)
                decoder.decode(chunk)
                forget(file)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            place = f" at byte {done - len(error.object) + error.start}"
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        wide = start in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
        remedy = f"it begins like {'utf-32' if wide else 'utf-16'}; {remedy.partition(',')[0]}"
    elif start.startswith(b"\x1f\x8b"):
        remedy = "it is packed by gzip; let its name end in .gz"
    return DataError(f"{path}: not {encoding}{place}; {remedy}")


def marked(encoding: str) -> str:
    """UTF-8 with or without a byte order mark."""
    return "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding


# ---- texts and their names ----------------------------------------------------------------


def read_texts(
    path: Path, kind: str, text_column: str, name_column: str | None, encoding: str
) -> Texts:
    """The names and texts of a file or folder."""
    if path.is_dir() and kind != "folder":
        raise DataError(f"{path}: a folder, but format={kind!r} needs a file")
    if kind == "folder":
        return _read_folder(path, encoding)
    if kind == "lines":
        lines = text_lines(path, encoding, kept=False)
        return ((str(number), line) for number, line in enumerate(lines, 1))
    return _read_table(path, kind, text_column, name_column, encoding)


def _read_folder(path: Path, encoding: str) -> Texts:
    """Texts by the names of their files, or all files if none has such a name. Hidden files and
    those in hidden folders are skipped."""
    files = _files(path)
    for file in [p for p in files if _is_text(p)] or files:
        try:
            with open_text(file, marked(encoding)) as opened:
                yield str(file.relative_to(path)), opened.read()
        except UnicodeDecodeError:
            raise not_in(file, encoding) from None


def _files(path: Path) -> list[Path]:
    """Files in order. A subfolder that cannot be read is an error, since its texts would be
    missing."""

    def stop(error: OSError) -> None:
        raise error

    found: list[Path] = []
    for place, folders, names in os.walk(path, onerror=stop):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(place, name) for name in names if not name.startswith(".")]
    return sorted(each for each in found if each.is_file())


def _is_text(path: Path) -> bool:
    plain = path.with_suffix("") if is_packed(path) else path
    return plain.suffix.lower() in (".txt", ".md", ".rst", ".text")


def text_lines(path: Path, encoding: str = "utf-8", kept: bool = True) -> Iterator[str]:
    """The lines of a file that are not empty. They must fit into memory if all are ``kept``."""
    with open_text(path, marked(encoding), newline="\n") as file:
        for line in file:
            if line.strip():
                yield line.rstrip("\r\n")
            if not kept:
                forget(file)


def _read_table(
    path: Path, kind: str, text_column: str, name_column: str | None, encoding: str
) -> Texts:
    """Texts and names in columns; a row without a name has its number."""
    wanted = (
        [text_column] if name_column in (None, text_column) else [text_column, str(name_column)]
    )
    with _open_table(path, kind, encoding, wanted) as (names, rows):
        if names is not None:
            _check_named(path, names, wanted)
        labelled, row = name_column is None, dict[str, Any]()
        for number, row in rows:
            text = row.get(text_column)
            if kind == "jsonl" and text_column not in row:
                said = f"line {number} has no text {text_column!r}.{_remedy(0, text_column, row)}"
                raise DataError(f"{path}: {said}")
            if not isinstance(text, str) and (kind == "jsonl" or text is not None):
                place = "line" if kind == "jsonl" else "row"
                said = f"{place} {number} has no text {text_column!r}, but a {type(text).__name__}"
                raise DataError(f"{path}: {said}")
            labelled = labelled or name_column in row
            name = row.get(name_column) if name_column else None
            yield str(number if name is None else name), text or ""
        if not labelled and row:
            said = f"no line has a field {name_column!r}.{_remedy(1, str(name_column), row)}"
            raise DataError(f"{path}: {said}")


def _check_named(path: Path, names: Sequence[str], wanted: Sequence[str]) -> None:
    """Reject columns that a table does not have, and a column that occurs twice, since only one of
    the two would be read."""
    known = [name for name in names if name]
    for place, name in enumerate(wanted):
        if not known:
            raise DataError(f"{path}: no column {name!r}: its first line names none")
        if name not in known:
            raise DataError(f"{path}: no column {name!r}.{_remedy(place, name, known)}")
        if known.count(name) > 1:
            raise DataError(f"{path}: two columns are called {name!r}; rename one")


def _remedy(place: int, wanted: str, known: Iterable[str]) -> str:
    """The existing columns, and how to name the intended one."""
    what = ("text", "name")[place]
    return f"{did_you_mean(wanted, known)} Name it with --{what}-column, in Python {what}_column=."


# ---- other columns of tables, such as dates and classes -----------------------------------


def check_columns(path: Path, kind: str, wanted: Mapping[str, str], encoding: str) -> None:
    """Reject columns that a file does not have, with the names that it has; ``wanted`` are their
    names by the options that ask for them. Only the first rows are read."""
    if not wanted:
        return
    if kind not in TABLES:
        option, name = next(iter(wanted.items()))
        raise DataError(f"{option} {name}: {path} ({kind}) has no columns; omit it")
    with readable(path, encoding), _open_table(path, kind, encoding) as (names, rows):
        if names is None:
            names = list(dict.fromkeys(name for _, row in islice(rows, _PEEK) for name in row))
    for option, name in wanted.items():
        if name not in names:
            listed = ", ".join(name for name in names if name) or "none"
            raise DataError(f"{option} {name}: {path} has no column of this name, but: {listed}")


def read_columns(
    path: Path, kind: str, names: Sequence[str], encoding: str
) -> dict[str, list[str]]:
    """Some columns of a table, from top to bottom, as texts; a missing entry is empty."""
    out: dict[str, list[str]] = {name: [] for name in names}
    with readable(path, encoding), _open_table(path, kind, encoding, list(out)) as (known, rows):
        if known is not None:
            _check_named(path, known, [name for name in out if name in known])
        cells = ([_entry(row.get(name)) for name in out] for _, row in rows)
        for row in within_memory(
            f"{path}: its columns", cells, lambda row: 4 * sum(map(len, row)) + _ROW, "give a part"
        ):
            for entries, entry in zip(out.values(), row, strict=True):
                entries.append(entry)
    return out


def _entry(value: Any) -> str:
    """An entry as text; None and NaN are empty."""
    return "" if value is None or value != value else str(value)


# ---- rows of tables -----------------------------------------------------------------------


@contextmanager
def _open_table(
    path: Path, kind: str, encoding: str, columns: list[str] | None = None
) -> Iterator[tuple[list[str] | None, Rows]]:
    """The names of the columns (None if each row has its own) and the rows. Only some ``columns``
    of a Parquet file are read."""
    if kind == "parquet":
        try:
            from pyarrow.parquet import ParquetFile
        except ImportError:
            raise DataError(f"{path}: Parquet needs pyarrow: pip install pyarrow") from None
        with ParquetFile(path) as table:
            yield [str(name) for name in table.schema_arrow.names], _parquet_rows(table, columns)
        return
    with open_text(path, marked(encoding)) as file:
        if kind == "jsonl":
            yield None, _json_rows(path, file)
        else:
            cells = _csv_rows(path, file)
            names = [str(name) for name in next(cells, [])]
            yield names, enumerate((dict(zip(names, row, strict=True)) for row in cells), 1)


def _parquet_rows(table: Any, columns: list[str] | None) -> Rows:
    batches = table.iter_batches(batch_size=1024, columns=columns)
    yield from enumerate(chain.from_iterable(batch.to_pylist() for batch in batches), 1)


def _json_rows(path: Path, file: TextIO) -> Rows:
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
        yield number, row
        forget(file)


def _csv_rows(path: Path, file: TextIO) -> Iterator[list[str | None]]:
    """The rows of a .csv or .tsv that are not empty, all as long as the first.

    Python's reader drops cells that have no name, and takes all lines after an unclosed quote for
    one cell. Both are errors here.
    """
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    tabs = ".tsv" in [suffix.lower() for suffix in path.suffixes]
    lines: list[str] = []  # of the row that is being read

    def noted() -> Iterator[str]:
        for line in file:
            lines.append(line)
            yield line

    reader, width = csv.reader(noted(), delimiter="\t" if tabs else ","), 0
    for row in reader:
        if len(lines) > 1:
            _check_quotes(path, lines, reader.line_num, "\t" if tabs else ",")
        lines.clear()
        forget(file)
        if not row:
            continue
        width = width or len(row)
        if any(cell.strip() for cell in row[width:]):
            raise DataError(
                f"{path}: line {reader.line_num} has {len(row)} cells, but the first line names "
                f"{width}; put texts that have a {'tab' if tabs else 'comma'} in quotes"
            )
        yield [*row[:width], *[None] * (width - len(row))]


def _check_quotes(path: Path, lines: list[str], last: int, separator: str) -> None:
    """Check the quotes of a row of several lines: otherwise a text that starts with a quote would
    swallow the lines after it."""
    try:
        list(csv.reader(lines, delimiter=separator, strict=True))
    except csv.Error:
        raise DataError(
            f"{path}: lines {last - len(lines) + 1} to {last}: a quote is opened, and not closed "
            "where a cell ends; put a text with quotes in quotes, and write each of its own twice, "
            '""'
        ) from None
