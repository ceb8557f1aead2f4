"""Texts, dates and classes of documents, kept with a model for its report.

A column is a JSON list of texts, compressed by zlib, in one array of bytes:

    kept = check_kept({"text": texts, "date": dates}, 60)
    read_kept(kept_arrays(kept)) == kept

What a file says of its size is believed only as far as the memory reaches.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pgbn.checks import listed
from pgbn.errors import DataError, StorageError, did_you_mean
from pgbn.storage.codecs import Group
from pgbn.storage.memory import check_bytes

__all__ = ["KEPT", "Kept", "check_kept", "kept_arrays", "read_kept"]

KEPT = ("text", "date", "class")  # what a report can show of documents

Kept = dict[str, list[str]]


def check_kept(columns: Mapping[str, Sequence[Any]] | None, rows: int | None = None) -> Kept:
    """Columns as lists of texts, one entry for each of ``rows`` documents; None is an empty one."""
    if not isinstance(columns, Mapping | None):
        raise DataError(f"columns={columns!r:.60}: give a dict with the keys {', '.join(KEPT)}")
    out = {}
    for name, entries in (columns or {}).items():
        if name not in KEPT:
            raise DataError(f"columns: {name!r} is not known.{did_you_mean(name, KEPT)}")
        if isinstance(entries, str | bytes):
            raise DataError(f"columns[{name!r}] is one text; give a list of them")
        each = listed(f"columns[{name!r}]", entries, "give a list of texts")
        out[name] = ["" if entry is None else str(entry) for entry in each]
        rows = len(out[name]) if rows is None else rows
        if len(out[name]) != rows:
            raise DataError(f"columns[{name!r}]: {len(out[name])} entries for {rows} documents")
    return out


def kept_arrays(columns: Kept) -> Group:
    """The arrays of one file. JSON escapes all but ASCII, half characters too."""
    out = {}
    for name, entries in columns.items():
        data = json.dumps(entries, separators=(",", ":")).encode()
        out[name] = np.frombuffer(zlib.compress(data, 6), np.uint8)
        out[f"{name}_bytes"] = np.array([len(data)], np.int64)
    return out


def read_kept(arrays: Group) -> Kept:
    """The columns again, checked."""
    out = {}
    for name in KEPT:
        if name in arrays:
            out[name] = _read(name, arrays[name], arrays.get(f"{name}_bytes"))
    if len({len(entries) for entries in out.values()}) > 1:
        raise StorageError("damaged: the kept columns have different lengths")
    return out


def _read(name: str, data: Any, size: Any) -> list[str]:
    damaged = StorageError(f"damaged: the kept column {name!r} is not a list of texts")
    if data.dtype != np.uint8 or data.ndim != 1 or getattr(size, "shape", None) != (1,):
        raise damaged
    length = int(size[0]) if size.dtype.kind in "iu" else -1
    if length < 0:  # -1 + 1 bytes would be as many as there are
        raise damaged
    check_bytes(f"the kept column {name!r}", 8 * length, "it cannot be read here")
    unpacker = zlib.decompressobj()
    try:
        raw = unpacker.decompress(data.tobytes(), length + 1)
        if len(raw) != length or not unpacker.eof:
            raise damaged
        check_bytes(f"the kept column {name!r}", 4 * length + 100 * raw.count(b","),
                    "it cannot be read here")  # fmt: skip
        entries = json.loads(raw)
    except (zlib.error, ValueError, RecursionError) as error:
        raise damaged from error
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        raise damaged
    return entries
