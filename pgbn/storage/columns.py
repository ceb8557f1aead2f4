"""Columns of a table that stand beside its texts, such as dates and classes.

    check_columns("news.jsonl", "jsonl", {"--date": "published"}, "utf-8")  # before all else
    read_columns("news.jsonl", "jsonl", ["published"], "utf-8")             # {"published": […]}

All entries are texts; where a row has none, it is empty. The rows are those that
`pgbn.storage.texts.read_texts` gives.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from pgbn.errors import DataError
from pgbn.storage.bounded import open_text
from pgbn.storage.text_tables import TextTable
from pgbn.storage.texts import TABLES, marked, readable

__all__ = ["check_columns", "read_columns"]

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
