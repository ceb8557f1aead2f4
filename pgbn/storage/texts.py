"""Texts in files, one after another: folders, lines, tables, JSON and Parquet.

Each reader is a generator of (name, text): whoever keeps none of the texts can read a corpus that
is larger than memory.
"""

from __future__ import annotations

import codecs
import csv
import json
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from pgbn.errors import DataError, PgbnError, did_you_mean
from pgbn.storage.read_limits import check_regular, forget, is_packed, open_bytes, open_text

# ---- text tables --------------------------------------------------------------------------------
#
# Tables in text (.csv, .tsv), row by row, with no cell lost on the way.
#
#     table = TextTable("reviews.csv", file)
#     table.names                       # of the columns
#     for row in table: row["text"]     # None where a row is too short
#
# Python's reader drops cells that have no name, and takes all lines after a quote that nobody
# closes for one cell. Both are errors here.


class TextTable:
    """The rows of an open file as dicts; its first line names the columns."""

    def __init__(self, path: Path, file: TextIO) -> None:
        csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
        tabs = ".tsv" in [suffix.lower() for suffix in path.suffixes]
        self.path, self.file, self.separator = path, file, "\t" if tabs else ","
        self.lines: list[str] = []  # of the row that is being read
        self.reader = csv.reader(self._lines(), delimiter=self.separator)
        self.cells = self._rows()
        self.names = next(self.cells, [])

    def __iter__(self) -> Iterator[dict[str, str | None]]:
        width = len(self.names)
        for row in self.cells:
            if any(cell.strip() for cell in row[width:]):
                raise DataError(
                    f"{self.path}: line {self.reader.line_num} has {len(row)} cells, but the first "
                    f"line names {width}; put texts that have a {self._separator()} in quotes"
                )
            yield dict(zip(self.names, [*row, *[None] * (width - len(row))], strict=False))

    def check_once(self, name: str) -> None:
        """Refuse a column that is there twice: one of the two would not be read."""
        if self.names.count(name) > 1:
            raise DataError(f"{self.path}: two columns are called {name!r}; rename one")

    def _lines(self) -> Iterator[str]:
        for line in self.file:
            self.lines.append(line)
            yield line

    def _rows(self) -> Iterator[list[str]]:
        """The rows that are not empty. A row of several lines must have its quotes in order: else
        a text that begins with a quote would swallow those after it."""
        for row in self.reader:
            if len(self.lines) > 1:
                self._check_quotes()
            self.lines.clear()
            if row:
                yield row

    def _check_quotes(self) -> None:
        try:
            list(csv.reader(self.lines, delimiter=self.separator, strict=True))
        except csv.Error:
            first, last = self.reader.line_num - len(self.lines) + 1, self.reader.line_num
            raise DataError(
                f"{self.path}: lines {first} to {last}: a quote is opened, and not closed where a "
                'cell ends; put a text with quotes in quotes, and write each of its own twice, ""'
            ) from None

    def _separator(self) -> str:
        return "tab" if self.separator == "\t" else "comma"


# ---- texts --------------------------------------------------------------------------------------


TABLES = ("csv", "jsonl", "parquet")  # formats with columns

Texts = Iterator[tuple[str, str]]


def check_encoding(encoding: Any) -> None:
    """Refuse what is no encoding of Python's."""
    try:
        codecs.lookup(encoding)
    except (LookupError, TypeError, ValueError) as error:
        raise DataError(f"encoding={encoding!r:.60}: {error}") from None


@contextmanager
def readable(path: Path, encoding: str = "utf-8") -> Iterator[None]:
    """What goes wrong while a file is read, in words."""
    try:
        yield
    except UnicodeDecodeError:
        raise not_in(path, encoding) from None
    except (LookupError, UnicodeError) as error:
        raise DataError(f"{path}: encoding={encoding!r}: {error}") from None
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        raise DataError(f"{path}: cannot be read ({error})") from None


def not_in(path: Path, encoding: str, remedy: str = "give the encoding, e.g. latin-1") -> DataError:
    """A file whose text is in another encoding; its first bytes may tell which. It is read once
    more: what Python says of the place is counted from wherever it last read."""
    start, place = b"", ""
    with suppress(OSError, EOFError, zlib.error, PgbnError), open_bytes(path) as file:
        check_regular(path)  # of a pipe there is only the rest
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


def read_texts(
    path: Path, kind: str, column: str, label: str | None, encoding: str, kept: bool = True
) -> Texts:
    """The names and texts of a file or folder; ``kept=False``: they will not all be kept, and only
    a single one must fit into memory."""
    if path.is_dir() and kind != "folder":
        raise DataError(f"{path}: a folder, but format={kind!r} needs a file")
    if kind == "folder":
        return _read_folder(path, encoding)
    if kind == "lines":
        lines = text_lines(path, encoding, kept)
        return ((str(number), line) for number, line in enumerate(lines, 1))
    if kind == "parquet":
        return _read_parquet(path, column, label)
    read = _read_table if kind == "csv" else _read_json
    return read(path, column, label, encoding, kept)


def _read_folder(path: Path, encoding: str) -> Texts:
    """Texts by the names of their files, or all files if none has such a name, but for hidden ones
    and those in hidden folders."""
    files = _files(path)
    for file in [p for p in files if _is_text(p)] or files:
        try:
            with open_text(file, marked(encoding)) as opened:
                yield str(file.relative_to(path)), opened.read()
        except UnicodeDecodeError:
            raise not_in(file, encoding) from None


def _files(path: Path) -> list[Path]:
    """In order; a folder in it that cannot be read is an error: its texts would be missing."""

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
    """The lines of a file that are not empty."""
    with open_text(path, marked(encoding), newline="\n") as file:
        for line in file:
            if line.strip():
                yield line.rstrip("\r\n")
            if not kept:
                forget(file)


def marked(encoding: str) -> str:
    """UTF-8 with or without a byte order mark."""
    return "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding


def _remedy(wanted: str, known: Iterable[str], column: str) -> str:
    """Which columns there are, and how to name the one that is meant."""
    argument = "column" if wanted == column else "label"
    return f"{did_you_mean(wanted, known)} Name it with --{argument}, in Python {argument}=."


def _read_table(path: Path, column: str, label: str | None, encoding: str, kept: bool) -> Texts:
    with open_text(path, marked(encoding)) as file:
        table = TextTable(path, file)
        known = [name for name in table.names if name]
        if not known:
            raise DataError(f"{path}: no column {column!r}: its first line names none")
        for wanted in [column, *([label] if label is not None else [])]:
            if wanted not in known:
                raise DataError(f"{path}: no column {wanted!r}.{_remedy(wanted, known, column)}")
            table.check_once(wanted)
        for number, row in enumerate(table, 1):
            yield _name(row[label] if label else None, number), row[column] or ""
            if not kept:
                forget(file)


def _name(label: Any, number: int) -> str:
    """What a document is called: by its number where it has no name."""
    return str(number if label is None else label)


def _read_json(path: Path, column: str, label: str | None, encoding: str, kept: bool) -> Texts:
    labelled, row = label is None, None
    with open_text(path, marked(encoding)) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise DataError(f"{path}: line {number} is not JSON ({error})") from None
            if isinstance(row, dict) and column in row and not isinstance(row[column], str):
                kind = type(row[column]).__name__
                raise DataError(f"{path}: line {number} has no text {column!r}, but a {kind}")
            if not isinstance(row, dict) or column not in row:
                known = row if isinstance(row, dict) else ()
                raise DataError(
                    f"{path}: line {number} has no text {column!r}.{_remedy(column, known, column)}"
                )
            labelled = labelled or label in row
            yield _name(row.get(label) if label else None, number), row[column]
            if not kept:
                forget(file)
    if not labelled and row is not None:
        raise DataError(f"{path}: no line has a field {label!r}.{_remedy(str(label), row, column)}")


def _read_parquet(path: Path, column: str, label: str | None) -> Texts:
    """The rows of a Parquet file, some at a time."""
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise DataError(f"{path}: Parquet needs pyarrow: pip install pyarrow") from None
    with ParquetFile(path) as file:
        known = list(file.schema_arrow.names)
        for wanted in (column, label):
            if wanted is not None and wanted not in known:
                raise DataError(f"{path}: no column {wanted!r}.{_remedy(wanted, known, column)}")
        number = 0
        columns = [column, *([label] if label and label != column else [])]
        for batch in file.iter_batches(batch_size=1024, columns=columns):
            rows = batch.to_pydict()
            for place, text in enumerate(rows[column]):
                number += 1
                if text is not None and not isinstance(text, str):
                    kind = type(text).__name__
                    raise DataError(f"{path}: row {number} has no text {column!r}, but a {kind}")
                yield _name(rows[label][place] if label else None, number), text or ""
