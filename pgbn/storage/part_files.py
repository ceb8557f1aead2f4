"""Files that are there whole or not at all: written under another name, then renamed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import IO

__all__ = ["new_file", "part_of", "sync_folder"]

_LONGEST = 200  # bytes of a name; most disks allow 255, and some is added


@contextmanager
def new_file(target: Path, through: bool = True) -> Iterator[IO[bytes]]:
    """A file that takes its name when it is complete and on the disk.

    What a link points to is replaced, not the link, and a device or a pipe is written to as it is:
    nothing can take the place of /dev/null. ``through=False``, for a file that belongs to others
    in its folder, replaces whatever has the name.
    """
    if through:
        if target.exists() and not (target.is_file() or target.is_dir()):
            with target.open("wb") as file:
                yield file
            return
        target = Path(os.path.realpath(target))
    part = part_of(target)
    try:
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        try:
            sync_folder(target.parent)  # the arrays that a manifest names are there before it is
        except PermissionError:
            if not through:  # one file alone may be put into a folder that cannot be read
                raise
        part.replace(target)
    finally:
        with suppress(OSError):
            part.unlink()


def part_of(target: Path) -> Path:
    """Where a file is written before it takes its name: beside it, one for each process. A name
    that is as long as names may be stands for itself by its checksum."""
    name = target.name
    if len(os.fsencode(name)) > _LONGEST:
        name = sha256(os.fsencode(name)).hexdigest()
    return target.with_name(f".{name}-{os.getpid()}.part")


def sync_folder(folder: Path) -> None:
    """Wait until the names of a folder are on the disk."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
