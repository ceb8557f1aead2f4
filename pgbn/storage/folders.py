"""Saving and loading: `save` writes a folder of JSON and arrays, `load` gives the object back.

    pgbn.save(model, "model", vocabulary=terms)
    model = pgbn.load("model")            # its lists of topics have the terms' names
    open_saved("model").labels            # what else was saved beside it

The folder is whole at every moment (see `pgbn.storage.archive`). Nothing in it is executed when it
is loaded: there are no pickles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pgbn.checks import check_mapping, check_names, check_path
from pgbn.errors import PgbnError, StorageError
from pgbn.storage.archive import MANIFEST, FolderArrays, read_manifest
from pgbn.storage.codecs import Group, check_loadable, decode, encode, encode_documents
from pgbn.storage.in_parts import InParts
from pgbn.storage.kept_columns import check_kept, kept_arrays, read_kept
from pgbn.storage.sparse import read_rows
from pgbn.storage.writing import write

__all__ = ["Saved", "check_content", "load", "open_saved", "read_folder", "save", "saying_where"]

Result = TypeVar("Result")


@dataclass(frozen=True)
class Saved:
    """What a folder holds: the object and what was saved beside it."""

    object: Any
    kind: str
    package: str
    written: str
    vocabulary: list[str] | None = None
    labels: list[str] | None = None
    record: dict[str, Any] = field(default_factory=dict)
    data: Any = None
    columns: dict[str, list[str]] = field(default_factory=dict)


def save(
    value: Any,
    path: str | Path,
    *,
    vocabulary: Sequence[str] | Mapping[str, int] | None = None,
    labels: Sequence[Any] | None = None,
    record: Mapping[str, Any] | None = None,
    data: Any = None,
    columns: Mapping[str, Sequence[Any]] | None = None,
) -> None:
    """Save a Network, a Chain, Draws, a TrainedNetwork, a result of train_layerwise, an estimator.

    ``vocabulary`` names the terms (a list, or a dict from names to columns; if left out, the names
    that the model was loaded with, or those of the data frame that an estimator was fitted to):
    a trained model that is loaded again lists its topics with them. ``labels`` name the documents,
    ``record`` is any JSON (settings, times, …), ``data`` the documents × terms that the model was
    trained on, for the report (masked cells are saved as 0), ``columns`` what else it shows of
    them: {"text": …, "date": …, "class": …}. What was at ``path`` before stays whole until all of
    the new is on the disk.
    """
    notes = check_mapping("record", record)
    kind, parts = encode(value)
    names = parts.names if vocabulary is None else vocabulary
    content = {
        "object": parts.content,
        "vocabulary": None if names is None else check_names("vocabulary", names, parts.terms),
        "labels": None if labels is None else check_names("labels", labels),
        "record": notes,
    }
    arrays: dict[str, Group | InParts] = dict(parts.arrays)
    if data is not None:
        arrays["documents"] = encode_documents(data)
    kept = check_kept(columns)
    if kept:
        arrays["columns"] = kept_arrays(kept)
    write(path, kind, content, arrays)


def load(path: str | Path, *, threads: int | None = None) -> Any:
    """The object that `save` wrote; a chain goes on as if it had never stopped. What was saved
    beside the object is in `pgbn.storage.folders.open_saved`."""
    return open_saved(path, threads=threads).object


def open_saved(path: str | Path, *, threads: int | None = None) -> Saved:
    """The object and everything that was saved beside it."""

    def read(body: Mapping[str, Any], files: Callable[[str], Any]) -> Saved:
        check_loadable(body["kind"], Path(path))  # a checkpoint, say, holds something else
        content = check_content(body["content"])
        documents = read_rows(files("documents")) if "documents" in body["groups"] else None
        return Saved(
            decode(body["kind"], content["object"], files, threads, content["vocabulary"]),
            body["kind"],
            str(body["package"]),
            str(body["written"]),
            content["vocabulary"],
            content["labels"],
            dict(content["record"]),
            documents,
            read_kept(files("columns")) if "columns" in body["groups"] else {},
        )

    return read_folder(path, read)


def check_content(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Names are lists of texts, and the record is an object, before anybody uses them."""
    for name in ("vocabulary", "labels"):
        names = content[name]
        listed = isinstance(names, list) and all(isinstance(each, str) for each in names)
        if names is not None and not listed:
            raise StorageError(f"damaged: {name} is {type(names).__name__}, not a list of texts")
    record = content["record"]
    for name, value in (("object", content["object"]), ("record", record), *(
        (f"record[{key!r}]", record[key]) for key in ("arguments", "vectorizer")
        if isinstance(record, dict) and key in record
    )):  # fmt: skip
        if not isinstance(value, dict):
            raise StorageError(f"damaged: {name} is {type(value).__name__}, not an object")
    return content


def read_folder(
    path: str | Path, read: Callable[[Mapping[str, Any], Callable[[str], Any]], Result]
) -> Result:
    """``read(manifest, files)`` of a folder, with every failure in words."""
    folder = check_path("path", path)
    folder = folder.parent if folder.name == MANIFEST else folder
    while True:
        body = read_manifest(folder)
        try:
            with saying_where(folder):
                # absolute: what is read when it is asked for is asked for from any folder
                return read(body, FolderArrays(folder.absolute(), body))
        except StorageError:
            if read_manifest(folder)["files"] == body["files"]:
                raise
            # else a writer replaced the files while we read them


@contextmanager
def saying_where(place: object) -> Iterator[None]:
    """Whatever is wrong with what a folder holds, as a `StorageError` that names the place."""
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
