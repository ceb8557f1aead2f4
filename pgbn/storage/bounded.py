"""Files, packed by gzip or not, that are read up to a limit.

A file of ten megabytes may unpack to ten gigabytes, by accident or on purpose. What would take
more than a quarter of the memory is refused as soon as so much has been read.
"""

from __future__ import annotations

import gzip
import io
import math
import os
import stat
from pathlib import Path
from typing import IO, Any

from pgbn.errors import DataError, StorageError
from pgbn.storage.memory import gigabytes, memory

__all__ = ["check_regular", "check_source", "forget", "is_packed", "open_bytes", "open_text"]


def check_regular(path: Path, most: float = math.inf, least: int = 0) -> None:
    """Refuse what is no file, before it is opened: a pipe would be waited for, a device never end;
    and a file of more than ``most`` bytes, or less than ``least``: files of the system, of which
    some are waited for too, say that they have none."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise StorageError(f"{path}: not a file, but a pipe, a device or a folder")
    if found.st_size < least:
        raise StorageError(f"{path}: damaged: it is empty")
    if found.st_size > most:
        raise StorageError(f"{path}: {found.st_size} bytes, but at most {most} are read")


def check_source(path: Path, once: bool = True) -> None:
    """Refuse a pipe that has a name, or a device, in the place of a file or folder; and, where it
    is read more than ``once``, what a shell passes on as a file, too."""
    mode = path.stat().st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return
    passed = stat.S_ISFIFO(mode) and not os.path.exists(os.path.realpath(path))  # /dev/fd/63
    if not passed or not once:
        twice = "; it is read more than once" if passed else ""
        raise DataError(f"{path}: not a file, but a pipe or a device{twice}; name a file")


def is_packed(path: Path) -> bool:
    """Whether the name says that the file is compressed."""
    return path.suffix.lower() == ".gz"


def open_bytes(path: Path) -> IO[bytes]:
    """The content of a file, unpacked."""
    check_source(path)
    file = gzip.open(path, "rb") if is_packed(path) else path.open("rb")  # noqa: SIM115
    return io.BufferedReader(_Bounded(file, path))


def open_text(path: Path, encoding: str, newline: str = "") -> io.TextIOWrapper:
    """The same as text; line ends are left as they are."""
    return io.TextIOWrapper(open_bytes(path), encoding=encoding, newline=newline)


def forget(file: Any) -> None:
    """What was read so far of an open file is not kept: it counts no more."""
    raw = getattr(file, "buffer", file).raw
    if isinstance(raw, _Bounded):
        raw.taken = 0


class _Bounded(io.RawIOBase):
    """Passes on what it reads, and counts it."""

    def __init__(self, file: Any, path: Path) -> None:
        self.file, self.path, self.limit, self.taken = file, path, memory() // 4, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.file.read(len(buffer))
        self.taken += len(data)
        if self.taken > self.limit:
            unpacked = "unpacked, it" if is_packed(self.path) else "it"
            raise DataError(
                f"{self.path}: {unpacked} has more than {gigabytes(self.limit)}, a quarter of the "
                "memory; give a part of it"
            )
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self.file.close()
        super().close()
