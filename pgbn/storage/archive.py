"""A folder of JSON and arrays that is whole at every moment, whatever happens to the writer.

    model.json                  the manifest: what it is, and the SHA-256 of every array file
    state-1f2e3d4c5b6a7988.npz  arrays, named after their content; never changed once written

A group of arrays is a file, or several that have a part of the rows each (`pgbn.storage.in_parts`,
version 2 of the format).

A reader sees the old or the new content, never a mixture: `pgbn.storage.writing` says how. Nothing
is pickled and no name in a file is used as a path.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from pgbn.checks import check_path, is_integral
from pgbn.errors import PgbnError, StorageError
from pgbn.storage.bounded import check_regular
from pgbn.storage.in_parts import join_parts, parts_are_named
from pgbn.storage.memory import check_bytes
from pgbn.storage.npz import file_digest, read_npz

__all__ = ["MANIFEST", "FolderArrays", "body_digest", "is_archive", "read_arrays",
           "read_manifest"]  # fmt: skip

FORMAT, MANIFEST = "pgbn-model", "model.json"
VERSIONS = (1, 2)  # without, and with groups in parts
LARGEST_MANIFEST = 2**28  # bytes; read and checked in seconds

Entry = dict[str, Any]  # {"sha256": …, "bytes": …}

_NAME = re.compile(r"[a-z]{1,20}-[0-9a-f]{16}\.npz")


def is_archive(folder: str | Path) -> bool:
    """Whether there is a manifest, good or bad, that can be seen."""
    try:
        return (Path(folder) / MANIFEST).is_file()
    except PermissionError:  # who may not look into a folder cannot write there either
        return False


# ---- reading --------------------------------------------------------------------------


def read_manifest(folder: str | Path, name: str = MANIFEST) -> dict[str, Any]:
    """The manifest, checked: its format, version and checksum, and the names in it."""
    folder = check_path("path", folder)
    path = folder if folder.name == MANIFEST else folder / name
    missing = StorageError(
        f"{folder}: no saved model there (no {MANIFEST}); pgbn.save(model, path) and the command "
        "pgbn fit write one"
    )
    try:
        os.fsencode(path)
    except UnicodeError:  # what no file can be called
        raise missing from None
    if "\0" in str(path):
        raise missing
    try:
        check_regular(path, LARGEST_MANIFEST, least=1)
        text = path.read_bytes()
        parts = sum(text.count(sign) for sign in b",[{:")  # each an object at most
        check_bytes(f"{path}: it", 4 * len(text) + 100 * parts, "is it a manifest of pgbn?")
        document = json.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        raise missing from None
    except OSError as error:
        raise StorageError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        if isinstance(error, PgbnError):
            raise StorageError(str(error)) from None
        raise StorageError(f"{path}: damaged or not of pgbn: it is not JSON ({error})") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise StorageError(f"{path}: this file was not written by pgbn")
    version = document.get("version")
    if not isinstance(version, int):
        raise StorageError(f"{path}: damaged: it does not tell the version of its format")
    if version not in VERSIONS:
        raise StorageError(
            f"{path}: format version {version!r}, but this pgbn reads versions up to "
            f"{VERSIONS[-1]}; install a newer pgbn"
        )
    body = document.get("body")
    try:
        good = isinstance(body, dict) and document.get("sha256") == body_digest(body)
    except (RecursionError, ValueError):
        good = False
    if not good:
        raise StorageError(f"{path}: damaged (its checksum is wrong); use a copy or save anew")
    assert isinstance(body, dict)
    _check_body(path, body)
    return body


def _check_body(path: Path, body: Mapping[str, Any]) -> None:
    files, groups = body.get("files"), body.get("groups")
    good = (
        isinstance(body.get("kind"), str)
        and isinstance(body.get("content"), dict)
        and isinstance(files, dict)
        and isinstance(groups, dict)
        and all(_NAME.fullmatch(name) for name in files)
        and all(isinstance(name, str) and name in files for name in groups.values())
        and all(isinstance(e, dict) and is_integral(e.get("bytes")) for e in files.values())
        and parts_are_named(body.get("parts", {}), files)
    )
    if not good:
        raise StorageError(f"{path}: not a manifest of pgbn: a name or an entry is not allowed")


def read_arrays(folder: str | Path, body: Mapping[str, Any], group: str) -> dict[str, NDArray[Any]]:
    """The arrays of one group, after checksums were compared."""
    if group not in body["groups"]:
        raise StorageError(f"{folder}: damaged: it has no arrays {group!r}")
    found, parts = _read_file(folder, body, body["groups"][group]), body.get("parts", {}).get(group)
    if parts is None:
        return found
    rows = [_read_file(folder, body, name) for name in parts["files"]]
    return {**found, **join_parts(parts["axes"], rows)}


@dataclass(frozen=True)
class FolderArrays:
    """The groups of a folder, each read when it is asked for."""

    folder: Path
    body: Mapping[str, Any]

    def __call__(self, group: str) -> dict[str, NDArray[Any]]:
        return read_arrays(self.folder, self.body, group)


def _read_file(folder: str | Path, body: Mapping[str, Any], name: str) -> dict[str, NDArray[Any]]:
    path, entry = Path(folder) / name, body["files"][name]
    try:
        check_regular(path)
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size != entry["bytes"]:
                raise StorageError(f"{path}: damaged: not of {entry['bytes']} bytes; use a copy")
            if file_digest(file)[0] != entry.get("sha256"):
                raise StorageError(f"{path}: damaged (its checksum is wrong); use a copy")
            return read_npz(path, file)
    except FileNotFoundError:
        raise StorageError(f"{path}: this file of the model is missing") from None
    except OSError as error:
        raise StorageError(f"{path}: cannot be read ({error.strerror})") from error


def body_digest(body: Any) -> str:
    """The checksum of a manifest, whatever the order of its entries."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
