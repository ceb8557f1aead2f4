"""Save and load: `save` writes a folder of JSON and arrays, `load` returns the object.

    pgbn.save(model, "model", vocabulary=terms)
    model = pgbn.load("model")            # its lists of topics have the terms' names
    open_saved("model").names             # what else was saved with it

The folder is complete at every moment (see `pgbn.storage.archive`). Nothing in it is executed when
it is loaded: there are no pickles.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pgbn.checks import check_mapping, check_names, check_path, listed, validated
from pgbn.errors import DataError, PgbnError, StorageError, did_you_mean
from pgbn.storage.archive import (
    MANIFEST,
    FolderArrays,
    Group,
    Texts,
    check_form,
    check_loadable,
    decode,
    encode,
    encode_documents,
    read_manifest,
)
from pgbn.storage.arrays import InParts
from pgbn.storage.read_limits import check_bytes
from pgbn.storage.sparse import read_rows
from pgbn.storage.writing import write

KEPT = ("text", "date", "class")  # the columns of documents that a report can show

Kept = dict[str, list[str]]
Result = TypeVar("Result")


def check_kept(columns: Mapping[str, Sequence[Any]] | None, rows: int | None = None) -> Kept:
    """Columns as lists of texts, one entry for each of ``rows`` documents; None is an empty one."""
    if not isinstance(columns, Mapping | None):
        raise DataError(f"columns={columns!r:.60}: give a dict with the keys {', '.join(KEPT)}")
    out = {}
    for name, entries in (columns or {}).items():
        if name not in KEPT:
            raise DataError(f"columns: {name!r} is not one of them.{did_you_mean(name, KEPT)}")
        if isinstance(entries, str | bytes):
            raise DataError(f"columns[{name!r}] is one text; give a list of them")
        each = listed(f"columns[{name!r}]", entries, "give a list of texts")
        out[name] = ["" if entry is None else str(entry) for entry in each]
        rows = len(out[name]) if rows is None else rows
        if len(out[name]) != rows:
            raise DataError(f"columns[{name!r}]: {len(out[name])} entries for {rows} documents")
    return out


def kept_arrays(columns: Kept) -> Group:
    """The arrays of one file. JSON escapes everything but ASCII, also lone surrogates."""
    out = {}
    for name, entries in columns.items():
        data = json.dumps(entries, separators=(",", ":")).encode()
        out[name] = np.frombuffer(zlib.compress(data, 6), np.uint8)
        out[f"{name}_bytes"] = np.array([len(data)], np.int64)
    return out


def read_kept(arrays: Group) -> Kept:
    """Read the columns, checked."""
    out = {
        name: _read_column(name, arrays[name], arrays.get(f"{name}_bytes"))
        for name in KEPT
        if name in arrays
    }
    if len({len(entries) for entries in out.values()}) > 1:
        raise StorageError("damaged: the kept columns have different lengths")
    return out


def _read_column(name: str, data: Any, size: Any) -> list[str]:
    """The size that a file claims is trusted only if it fits into memory."""
    what = f"the kept column {name!r}"
    damaged = StorageError(f"damaged: {what} is not a list of texts")
    if data.dtype != np.uint8 or data.ndim != 1 or getattr(size, "shape", None) != (1,):
        raise damaged
    length = int(size[0]) if size.dtype.kind in "iu" else -1
    if length < 0:  # -1 + 1 bytes would be as many as there are
        raise damaged
    check_bytes(what, 8 * length, "it cannot be read here")
    unpacker = zlib.decompressobj()
    try:
        raw = unpacker.decompress(data.tobytes(), length + 1)
        if len(raw) != length or not unpacker.eof:
            raise damaged
        need = 4 * length + 100 * raw.count(b",")
        check_bytes(what, need, "it cannot be read here")
        found = json.loads(raw)
        check_form({name: found}, {name: Texts})
    except PgbnError:
        raise
    except (zlib.error, ValueError, RecursionError) as error:
        raise damaged from error
    return list(found)


# ---- folders ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Saved:
    """The content of a folder: the object and everything that was saved with it."""

    object: Any
    kind: str
    package: str
    written: str
    vocabulary: list[str] | None = None
    names: list[str] | None = None
    record: dict[str, Any] = field(default_factory=dict)
    data: Any = None
    columns: dict[str, list[str]] = field(default_factory=dict)


@validated
def save(
    value: Any,
    path: str | Path,
    *,
    vocabulary: Sequence[str] | Mapping[str, int] | None = None,
    names: Sequence[Any] | None = None,
    record: Mapping[str, Any] | None = None,
    data: Any = None,
    columns: Mapping[str, Sequence[Any]] | None = None,
) -> None:
    """Save a network, a chain, draws, a trained model or an estimator to a folder.

    The write is atomic: the old content of ``path`` stays until the new one is complete. Nothing is
    pickled.

    Parameters
    ----------
    value
        A Network, a Chain, Draws, a TrainedNetwork, the result of train_layerwise, an estimator,
        or an object of a type that `pgbn.extend.register_codec` knows.
    path
        The folder.
    vocabulary
        The names of the terms: a list, or a dict from names to columns. By default those that the
        model has. A model that is loaded lists its topics with them.
    names
        The names of the documents.
    record
        Any JSON that you want to keep, such as settings and times.
    data
        The documents × terms of the training, for the report. Masked cells are saved as 0.
    columns
        Columns of documents that the report shows: ``{"text": …, "date": …, "class": …}``.

    Raises
    ------
    pgbn.StorageError
        If the value cannot be saved, or the folder cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import pgbn
    >>> folder = tempfile.mkdtemp()
    >>> pgbn.save(pgbn.zoo.pfa(3), folder, record={"note": "a first try"})
    >>> pgbn.load(folder).observed
    ['x']
    """
    notes = check_mapping("record", record)
    kind, parts = encode(value)
    terms = parts.names if vocabulary is None else vocabulary
    content = {
        "object": parts.content,
        "vocabulary": None if terms is None else check_names("vocabulary", terms, parts.terms),
        "labels": None if names is None else check_names("names", names),
        "record": notes,
    }
    arrays: dict[str, Group | InParts] = dict(parts.arrays)
    if data is not None:
        arrays["documents"] = encode_documents(data)
    kept = check_kept(columns)
    if kept:
        arrays["columns"] = kept_arrays(kept)
    write(path, kind, content, arrays)


@validated
def load(path: str | Path, *, threads: int | None = None) -> Any:
    """Load the object that `pgbn.save` wrote.

    A chain continues as if it had never stopped. `pgbn.storage.open_saved` also returns what was
    saved with the object.

    Parameters
    ----------
    path
        The folder.
    threads
        The threads of a chain. By default all cores.

    Returns
    -------
    object
        The object, of the type that was saved.

    Raises
    ------
    pgbn.StorageError
        If there is no saved object, or it is damaged or unfinished.

    Examples
    --------
    >>> import tempfile
    >>> import pgbn
    >>> folder = tempfile.mkdtemp()
    >>> chain = pgbn.zoo.pfa(2).chain({"x": [[3, 1], [0, 2]]}, seed=0).sweep(5)
    >>> pgbn.save(chain, folder)
    >>> pgbn.load(folder).sweeps
    5
    """
    return open_saved(path, threads=threads).object


def open_saved(path: str | Path, *, threads: int | None = None) -> Saved:
    """Load an object and everything that was saved with it.

    Parameters
    ----------
    path
        The folder.
    threads
        The threads of a chain. By default all cores.

    Returns
    -------
    Saved
        The object with its ``vocabulary``, ``names``, ``record``, ``data`` and ``columns``.

    Examples
    --------
    >>> import tempfile
    >>> import pgbn
    >>> folder = tempfile.mkdtemp()
    >>> pgbn.save(pgbn.zoo.pfa(3), folder, record={"note": "a first try"})
    >>> pgbn.storage.open_saved(folder).record
    {'note': 'a first try'}
    """

    def read(body: Mapping[str, Any], files: Callable[[str], Any]) -> Saved:
        check_loadable(body["kind"], Path(path))  # for example, a checkpoint has other content
        content = check_content(body["content"])
        documents = read_rows(files("documents")) if "documents" in body["groups"] else None
        return Saved(
            decode(body["kind"], content["object"], files, threads, content.get("vocabulary")),
            body["kind"],
            str(body["package"]),
            str(body["written"]),
            content.get("vocabulary"),
            content.get("labels"),
            dict(content.get("record", {})),
            documents,
            read_kept(files("columns")) if "columns" in body["groups"] else {},
        )

    return read_folder(path, read)


def check_content(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Check that names are lists of texts, and that the record is an object, before they are
    used."""
    names = Texts | None
    check_form(content, {"object": dict}, {"vocabulary": names, "labels": names, "record": dict})
    check_form(content.get("record", {}), {}, {"arguments": dict, "vectorizer": dict})
    return content


def read_folder(
    path: str | Path, read: Callable[[Mapping[str, Any], FolderArrays], Result]
) -> Result:
    """Call ``read(manifest, files)`` for a folder; every failure becomes a clear error."""
    folder = check_path("path", path)
    folder = folder.parent if folder.name == MANIFEST else folder
    while True:
        body = read_manifest(folder)
        try:
            with saying_where(folder):
                # absolute, since the current folder may change before a group is read
                return read(body, FolderArrays(folder.absolute(), body))
        except StorageError:
            if read_manifest(folder)["files"] == body["files"]:
                raise
            # else a writer replaced the files while we read them


@contextmanager
def saying_where(place: object) -> Iterator[None]:
    """Turn any fault in the content of a folder into a `StorageError` that names the place."""
    try:
        yield
    except StorageError as error:
        if str(place) in str(error):
            raise
        raise StorageError(f"{place}: {error}") from error
    except PgbnError as error:
        # the checksums are right, so the files are as they were written
        raise StorageError(f"{place}: cannot be read here: {error}") from error
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError,
            AssertionError, RecursionError, MemoryError) as error:  # fmt: skip
        detail = f"{type(error).__name__}: {error}"
        raise StorageError(f"{place}: not what this pgbn can read ({detail})") from error
