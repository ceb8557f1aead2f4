"""A group of arrays of which several files have the rows, each written by whoever has them.

    state-….npz     what all rows share
    state-….npz     the rows 0 to 511 of the other arrays
    state-….npz     the rows from 512 on

The manifest names them under ``parts``, with the axes of the rows, and a reader gets whole arrays:
who wrote a group, and in how many parts, makes no difference to what is read. A part is written by
a worker, perhaps on another machine, under a name that nobody else uses; the driver, which has
the lock of the folder, lets the parts take their names and writes the manifest last.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import randbits
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import is_integral
from pgbn.errors import StorageError
from pgbn.storage.npz import Arrays, file_digest, write_npz

__all__ = ["InParts", "WrittenPart", "are_there", "join_parts", "new_probe", "parts_are_named",
           "write_file", "write_part"]  # fmt: skip

ROWS = "rows of this part"  # from which to which, an array of every part


class WrittenPart(NamedTuple):
    """A file that was written but has not taken its name yet."""

    file: str
    sha256: str
    bytes: int


@dataclass(frozen=True)
class InParts:
    """A group whose rows are with others. ``here`` has what all rows share. ``write(probe, stem)``
    lets the others write their parts beside the ``probe``, or returns None where one of them does
    not see it; then ``whole()`` is written. ``axes`` has the axis of the rows of each array where
    it is not the first."""

    here: Arrays
    axes: Mapping[str, int]
    write: Callable[[Path, str], Sequence[WrittenPart] | None]
    whole: Callable[[], Arrays]


def new_probe(folder: Path) -> Path:
    """An empty file that shows whether somebody sees the folder."""
    probe = _unnamed(folder.absolute(), "probe")
    probe.write_bytes(b"")
    return probe


def write_part(probe: Path, stem: str, rows: tuple[int, int], arrays: Arrays) -> WrittenPart | None:
    """Write the rows of some arrays into the folder of the probe; None if it cannot be seen here,
    since the folder is on another machine."""
    if not probe.is_file():
        return None
    part = _unnamed(probe.parent, stem)
    try:
        return WrittenPart(part.name, *write_file(part, {**arrays, ROWS: np.array(rows)}))
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def are_there(folder: Path, parts: Sequence[WrittenPart]) -> bool:
    """Whether files that others say they wrote are seen here."""
    with suppress(OSError):
        return all((folder / part.file).stat().st_size == part.bytes for part in parts)
    return False


def write_file(path: Path, arrays: Arrays) -> tuple[str, int]:
    """Arrays in a file that is on the disk; its checksum and size."""
    with path.open("wb+") as file:
        write_npz(file, arrays)
        file.flush()
        os.fsync(file.fileno())
        return file_digest(file)


def _unnamed(folder: Path, stem: str) -> Path:
    """A name that nobody else has, of those that are removed if their writer is killed."""
    return folder / f".{stem}.npz-{randbits(63)}.part"


# ---- reading --------------------------------------------------------------------------


def parts_are_named(parts: Any, files: Mapping[str, Any]) -> bool:
    """Whether the ``parts`` of a manifest are well formed; no file is named twice, which would make
    much of little."""
    return isinstance(parts, dict) and all(
        isinstance(each, dict)
        and isinstance(names := each.get("files"), list)
        and all(isinstance(name, str) and name in files for name in names)
        and 0 < len(names) == len(set(names))
        and isinstance(axes := each.get("axes"), dict)
        and all(is_integral(axis) for axis in axes.values())
        for each in parts.values()
    )


def join_parts(
    axes: Mapping[str, int], parts: Sequence[Mapping[str, NDArray[Any]]]
) -> dict[str, NDArray[Any]]:
    """The arrays of all rows."""
    end, names = 0, list(parts[0])
    for part in parts:
        first, last = (int(row) for row in part.get(ROWS, (-1, -1)))
        if first != end or last < first or list(part) != names:
            raise StorageError(f"damaged: a part has the rows {first} to {last}, not from {end} on")
        end = last
    return {
        name: np.concatenate([part[name] for part in parts], axis=axes.get(name, 0))
        for name in names
        if name != ROWS
    }
