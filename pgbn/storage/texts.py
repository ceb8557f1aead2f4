"""Texts in files, one after another: folders, lines, tables, JSON and Parquet.

Each reader is a generator of (name, text): whoever keeps none of the texts can read a corpus that
is larger than memory.
"""

from __future__ import annotations

import codecs
import csv
import json
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pgbn.errors import DataError, did_you_mean
from pgbn.storage.bounded import forget, open_text

__all__ = ["TABLES", "check_encoding", "marked", "read_texts", "readable", "text_lines"]

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
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: not {encoding} at byte {error.start}; give the encoding, e.g. latin-1"
        ) from None
    except (LookupError, UnicodeError) as error:
        raise DataError(f"{path}: encoding={encoding!r}: {error}") from None
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        raise DataError(f"{path}: cannot be read ({error})") from None


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
    files = sorted(p for p in path.rglob("*") if p.is_file() and not p.name.startswith("."))
    texts = [p for p in files if p.suffix.lower() in (".txt", ".md", ".rst", ".text")] or files
    for file in texts:
        try:
            with open_text(file, marked(encoding)) as opened:
                yield str(file.relative_to(path)), opened.read()
        except UnicodeDecodeError as error:
            raise DataError(
                f"{file}: not {encoding} at byte {error.start}; give the encoding, e.g. latin-1"
            ) from None


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
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    tabs = ".tsv" in [suffix.lower() for suffix in path.suffixes]
    with open_text(path, marked(encoding)) as file:
        reader = csv.DictReader(file, delimiter="\t" if tabs else ",")
        known = [name for name in reader.fieldnames or [] if name]
        for wanted in (column, label):
            if wanted is not None and wanted not in known:
                raise DataError(f"{path}: no column {wanted!r}.{_remedy(wanted, known, column)}")
        for number, row in enumerate(reader, 1):
            yield str(row[label] if label else number), row[column] or ""
            if not kept:
                forget(file)


def _read_json(path: Path, column: str, label: str | None, encoding: str, kept: bool) -> Texts:
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
            yield str(row.get(label, number)) if label else str(number), row[column]
            if not kept:
                forget(file)


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
                yield str(rows[label][place] if label else number), text or ""
