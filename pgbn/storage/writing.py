"""Writing a folder of `pgbn.storage.archive`, so that it is complete at every moment.

1. New arrays, then the manifest that names them, are written under temporary names (.part).
2. When all of them are on the disk, the arrays take their names, which come from their content.
3. The new manifest replaces the old one, in a single rename.
4. The arrays that only the old manifest names are removed.

A writer that is killed leaves .part files, and perhaps arrays that its .part of a manifest names:
the next one removes these, and nothing else in the folder.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from pgbn.checks import check_path, check_place
from pgbn.errors import StorageError
from pgbn.storage.archive import (
    FORMAT,
    LARGEST_MANIFEST,
    MANIFEST,
    VERSIONS,
    Entry,
    body_digest,
    is_archive,
    read_manifest,
)
from pgbn.storage.arrays import Arrays, InParts, WrittenPart, write_file
from pgbn.storage.atomic_files import locked, part_of, sync_folder

_PART = re.compile(r"\.(model\.json|[a-z]{1,20}[0-9]*\.npz)-[0-9]+\.part")


def write(
    folder: str | Path,
    kind: str,
    content: Mapping[str, Any],
    arrays: Mapping[str, Arrays | InParts],
    keep: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Write groups of arrays and what they mean; returns the file name of each group. The files of
    "draws/theta/0" and other groups of draws are called draws-….npz.

    ``keep`` names groups whose earlier files are still valid. Workers write the rows of a group
    that is `InParts`.
    """
    folder = check_path("path", folder)
    try:
        with locked(folder):
            return _write(folder, kind, content, arrays, keep or {})
    except (OSError, ValueError, TypeError, RecursionError) as error:
        if isinstance(error, StorageError):
            raise
        reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        before = "; what was saved there before is intact" if is_archive(folder) else ""
        raise StorageError(f"{folder}: could not be written ({reason}){before}") from error


@contextmanager
def writing(folder: str | Path, kind: str = "") -> Iterator[None]:
    """Reserve a folder for the result of long work: check before that it can be written, and lock
    it. Folders that were made for it are removed if there is no result."""
    folder = check_place("path", folder)
    new = [path for path in (folder, *folder.parents) if not os.path.exists(path)]
    with locked(folder):
        try:
            if is_archive(folder):
                _check_replaced(folder, read_manifest(folder), kind)  # other files stay
            try:
                part = part_of(folder / MANIFEST)
                part.write_bytes(b"")
                part.unlink()
            except OSError as error:
                raise StorageError(f"{folder}: could not be written ({error.strerror})") from error
            yield
        finally:
            with suppress(OSError):  # not empty
                for path in new:
                    path.rmdir()


def _check_replaced(folder: Path, body: Mapping[str, Any], kind: str) -> None:
    """Reject a folder with a corpus: its data may be the only copy, so no model replaces it."""
    if body["kind"] == "corpus" != kind:
        raise StorageError(f"{folder}: holds a corpus; name another folder for what is saved")


def still_there(folder: Path, groups: Mapping[str, str]) -> dict[str, str]:
    """The groups whose files are named in the manifest and still exist."""
    try:
        body = read_manifest(folder)
    except StorageError:
        return {}
    files, found = body["files"], {}
    for group, name in groups.items():
        every = [name, *body.get("parts", {}).get(group, {}).get("files", ())]
        with suppress(OSError):
            if all(n in files and (folder / n).stat().st_size == files[n]["bytes"] for n in every):
                found[group] = name
    return found


def _write(
    folder: Path,
    kind: str,
    content: Mapping[str, Any],
    arrays: Mapping[str, Arrays | InParts],
    keep: Mapping[str, str],
) -> dict[str, str]:
    from pgbn.versions import __version__

    before: dict[str, Any] = {"kind": "", "files": {}}
    before = read_manifest(folder) if is_archive(folder) else before
    _check_replaced(folder, before, kind)
    old: dict[str, Entry] = before["files"]
    _sweep_up(folder, old)
    if not set(keep.values()) <= set(old):
        raise StorageError(f"{folder}: files that were written before are missing")
    spread = {g: each for g, each in before.get("parts", {}).items() if g in keep}
    kept = [*keep.values(), *(name for each in spread.values() for name in each["files"])]
    files, groups = {name: old[name] for name in kept}, dict(keep)
    parts: dict[Path, str] = {}  # what is written, and the names that it will take

    def add(part: Path, stem: str, digest: str, size: int) -> str:
        name = parts[part] = f"{stem}-{digest[:16]}.npz"
        files[name] = {"sha256": digest, "bytes": size}
        return name

    try:
        for number, (group, members) in enumerate(arrays.items()):
            stem = group.partition("/")[0]
            here, others = _by_others(folder, stem, members)
            part = part_of(folder / f"{stem}{number}.npz")
            parts[part] = part.name  # until its content gives it another
            groups[group] = add(part, stem, *write_file(part, here))
            names = [add(folder / each.file, stem, each.sha256, each.bytes) for each in others]
            if isinstance(members, InParts) and names:
                spread[group] = {"files": names, "axes": dict(members.axes)}
        body = {
            "kind": kind,
            "package": __version__,
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            "content": content,
            "groups": groups,
            "files": files,
            **({"parts": spread} if spread else {}),
        }
        manifest = part_of(folder / MANIFEST)
        parts[manifest] = MANIFEST
        _write_manifest(manifest, body)
        sync_folder(folder)
        for part, name in parts.items():  # the manifest last
            if name == MANIFEST:
                sync_folder(folder)
            part.replace(folder / name)
    except BaseException:  # free the space of useless files
        with suppress(OSError, StorageError):
            now = read_manifest(folder)["files"] if is_archive(folder) else {}
            new = {*parts.values(), *(part.name for part in parts)}
            _remove(folder, new - {*now, MANIFEST})
        raise
    sync_folder(folder)
    _remove(folder, set(old) - set(files))
    return groups


def _by_others(
    folder: Path, stem: str, members: Arrays | InParts
) -> tuple[Arrays, Sequence[WrittenPart]]:
    """The arrays of a group that remain to be written here, and the parts that workers wrote."""
    if not isinstance(members, InParts):
        return members, ()
    probe = part_of(folder.absolute() / "probe.npz")  # shows whether a worker sees the folder
    probe.write_bytes(b"")
    try:
        written = members.write(probe, stem)
    finally:
        probe.unlink(missing_ok=True)
    if written is not None:
        with suppress(OSError):  # the files that workers wrote are not visible here
            if all((folder / each.file).stat().st_size == each.bytes for each in written):
                return members.here, written
    _remove(folder, [each.file for each in written or ()])
    return members.whole(), ()


def _write_manifest(part: Path, body: Mapping[str, Any]) -> None:
    text = as_json(body)
    if len(text) > LARGEST_MANIFEST:
        raise StorageError(
            f"{part.parent}: could not be written: names and record take {len(text)} bytes, "
            f"but at most {LARGEST_MANIFEST} can be read again; give shorter labels"
        )
    version = VERSIONS["parts" in body]
    manifest = {"format": FORMAT, "version": version, "sha256": body_digest(json.loads(text))}
    head = json.dumps(manifest)[:-1]
    with part.open("wb") as file:
        file.write(f'{head}, "body": {text}}}'.encode())
        file.flush()
        os.fsync(file.fileno())


def _sweep_up(folder: Path, files: Mapping[str, Entry]) -> None:
    """Remove the files of writers that were killed, but no folder of the same name."""
    parts = [
        path for path in folder.iterdir()
        if _PART.fullmatch(path.name) and (path.is_symlink() or not path.is_dir())
    ]  # fmt: skip
    for path in parts:
        with suppress(StorageError):  # it was killed before any array took its name
            if path.name.startswith(f".{MANIFEST}"):
                _remove(folder, set(read_manifest(folder, path.name)["files"]) - set(files))
    _remove(folder, [path.name for path in parts])


def _remove(folder: Path, names: Iterable[str]) -> None:
    for name in names:
        (folder / name).unlink(missing_ok=True)


def as_json(value: Any) -> str:
    """The value as JSON text; a TypeError, ValueError or RecursionError if it cannot be written."""
    return json.dumps(value, default=_plain, allow_nan=True)


def _plain(value: Any) -> Any:
    """Numbers of numpy as numbers of JSON."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON")
