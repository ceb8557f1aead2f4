"""A folder of JSON and arrays that is whole at every moment, whatever happens to the writer.

    model.json                  the manifest: what it is, and the SHA-256 of every array file
    state-1f2e3d4c5b6a7988.npz  arrays, named after their content; never changed once written

New array files are written beside the old ones; then the new manifest takes the place of the
old one in a single rename, and only then are old arrays removed. A reader sees the old or the
new content, never a mixture. Nothing is pickled and no name in a file is used as a path.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import is_integral
from pgbn.errors import PgbnError, StorageError
from pgbn.storage.bounded import check_regular
from pgbn.storage.memory import check_bytes
from pgbn.storage.npz import Arrays, file_digest, read_npz, write_npz
from pgbn.storage.part_files import PART, new_file, part_of, sync_folder

__all__ = [
    "MANIFEST",
    "check_writable",
    "is_archive",
    "read_arrays",
    "read_manifest",
    "write",
]

FORMAT, VERSION, MANIFEST = "pgbn-model", 1, "model.json"
LARGEST_MANIFEST = 2**28  # bytes; read and checked in seconds

Entry = dict[str, Any]  # {"sha256": …, "bytes": …}

_NAME = re.compile(r"[a-z]{1,20}-[0-9a-f]{16}\.npz")


def is_archive(folder: str | Path) -> bool:
    """Whether there is a manifest, good or bad."""
    return (Path(folder) / MANIFEST).is_file()


# ---- writing --------------------------------------------------------------------------


def write(
    folder: str | Path,
    kind: str,
    content: Mapping[str, Any],
    arrays: Mapping[str, Arrays],
    keep: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Write groups of arrays and what they mean; returns the file name of each group.

    ``keep`` names groups whose files, written before, are still right.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder):
            try:
                return _write(folder, kind, content, arrays, keep or {})
            except BaseException:
                with suppress(OSError, StorageError):  # what is of no use takes no room
                    _sweep_up(folder, read_manifest(folder)["files"] if is_archive(folder) else {})
                raise
    except (OSError, ValueError, TypeError, RecursionError) as error:
        if isinstance(error, StorageError):
            raise
        reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        before = "; what was saved there before is intact" if is_archive(folder) else ""
        raise StorageError(f"{folder}: could not be written ({reason}){before}") from error


def check_writable(folder: str | Path) -> None:
    """Complain now, before long work, if a model could not be written to a folder."""
    folder = Path(folder)
    if is_archive(folder):
        read_manifest(folder)  # what is not ours is not written over
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part = part_of(folder / MANIFEST)
        part.write_bytes(b"")
        part.unlink()
    except OSError as error:
        raise StorageError(f"{folder}: could not be written ({error.strerror})") from error


def _write(
    folder: Path,
    kind: str,
    content: Mapping[str, Any],
    arrays: Mapping[str, Arrays],
    keep: Mapping[str, str],
) -> dict[str, str]:
    from pgbn.versions import __version__

    old = read_manifest(folder)["files"] if is_archive(folder) else {}
    _sweep_up(folder, old)
    if not set(keep.values()) <= set(old):
        raise StorageError(f"{folder}: files that were written before are gone")
    files = {name: old[name] for name in keep.values()}
    groups = dict(keep)
    for group, members in arrays.items():
        groups[group], entry = _write_arrays(folder, group, members)
        files[groups[group]] = entry
    body = {
        "kind": kind,
        "package": __version__,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "content": content,
        "groups": groups,
        "files": files,
    }
    text = as_json(body)
    if len(text) > LARGEST_MANIFEST:
        raise StorageError(
            f"{folder}: could not be written: the names and the record take {len(text)} bytes, but "
            f"at most {LARGEST_MANIFEST} can be read again; give shorter labels"
        )
    manifest = {"format": FORMAT, "version": VERSION, "sha256": _digest(json.loads(text))}
    head = json.dumps(manifest)[:-1]
    with new_file(folder / MANIFEST, through=False) as file:
        file.write(f'{head}, "body": {text}}}'.encode())
    sync_folder(folder)
    _sweep_up(folder, files)
    return groups


def _write_arrays(folder: Path, group: str, arrays: Arrays) -> tuple[str, Entry]:
    """One .npz file, named after its content."""
    part = part_of(folder / f"{group}.npz")
    try:
        with part.open("wb+") as file:
            write_npz(file, arrays)
            file.flush()
            os.fsync(file.fileno())
            digest, size = file_digest(file)
        name = f"{group}-{digest[:16]}.npz"
        part.replace(folder / name)
    finally:
        with suppress(OSError):
            part.unlink()
    return name, {"sha256": digest, "bytes": size}


def _sweep_up(folder: Path, files: Mapping[str, Entry]) -> None:
    """Remove what writers that were killed, or older states, have left."""
    for path in folder.iterdir():
        if path.name not in files and (_NAME.fullmatch(path.name) or PART.fullmatch(path.name)):
            path.unlink(missing_ok=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One writer at a time; the lock goes with the process."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StorageError(f"{folder}: another process is writing there") from None
        yield
    finally:
        os.close(handle)


def as_json(value: Any) -> str:
    """The text that is written; what cannot be is a TypeError, ValueError or RecursionError."""
    return json.dumps(value, default=_plain, allow_nan=True)


def _plain(value: Any) -> Any:
    """Numbers of numpy as numbers of JSON."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON")


# ---- reading --------------------------------------------------------------------------


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """The manifest, checked: its format, version and checksum, and the names in it."""
    folder = Path(folder)
    path = folder if folder.name == MANIFEST else folder / MANIFEST
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
        check_regular(path, LARGEST_MANIFEST)
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
    if version != VERSION:
        raise StorageError(
            f"{path}: format version {version!r}, but this pgbn reads version {VERSION}; "
            "install a newer pgbn"
        )
    body = document.get("body")
    try:
        good = isinstance(body, dict) and document.get("sha256") == _digest(body)
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
    )
    if not good:
        raise StorageError(f"{path}: not a manifest of pgbn: a name or an entry is not allowed")


def read_arrays(folder: str | Path, body: Mapping[str, Any], group: str) -> dict[str, NDArray[Any]]:
    """The arrays of one group, after its checksum was compared."""
    if group not in body["groups"]:
        raise StorageError(f"{folder}: damaged: it has no arrays {group!r}")
    name = body["groups"][group]
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


def _digest(body: Any) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
