"""Check how much memory something would need before it is allocated; read files up to a limit.

An absurd size (``max_width=10**9``) would otherwise end with the process killed by the system. A
file of ten megabytes may unpack to ten gigabytes, by accident or on purpose: a file is rejected as
soon as more than a quarter of the memory has been read.
"""

from __future__ import annotations

import gzip
import io
import math
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeVar

from pgbn.errors import DataError, StorageError

T = TypeVar("T")
_UNKNOWN = 2**40  # bytes, if the system does not say


@cache
def memory() -> int:
    """The bytes of memory that this process may have: the machine's, or less if its container, a
    group that it is in (a job of a cluster, a service) or ``ulimit -v`` says so."""
    found = [_UNKNOWN, *_group_limits()]
    with suppress(ImportError, AttributeError, ValueError, OSError):  # not a POSIX system
        import resource

        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        found += [
            resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)
        ]
    return min(number for number in found if number > 0)  # -1 stands for no limit


def _group_limits(system: Path = Path("/")) -> Iterator[int]:
    """The limits of the control groups of this process and of all groups around them.

    A line of /proc/self/cgroup is number:controllers:path; version 2 has no controllers. In a
    container the path may be that of the host, and only the root is visible.
    """
    groups = system / "sys/fs/cgroup"
    places = {groups / "memory.max", groups / "memory/memory.limit_in_bytes"}
    with suppress(OSError, ValueError):
        for line in (system / "proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            inner = PurePosixPath(path.lstrip("/"))
            for above in (inner, *inner.parents):
                if not controllers:
                    places |= {root / above / "memory.max" for root in (groups, groups / "unified")}
                elif "memory" in controllers.split(","):
                    places.add(groups / "memory" / above / "memory.limit_in_bytes")
    for place in sorted(places):
        with suppress(OSError, ValueError):  # "max" is not a number
            yield int(place.read_text())


def gigabytes(size: int) -> str:
    """A number of bytes as people read it."""
    if size < 10**15:
        return f"{size / 1e9:,.1f} GB"
    return f"{size / 1e9:.3g} GB" if size < 10**300 else f"10^{len(str(size)) - 10} GB"


def check_bytes(what: str, need: int, remedy: str) -> None:
    """Reject what would not fit into memory."""
    if need > memory():
        raise DataError(
            f"{what} would need {gigabytes(need)} of memory, and there are {gigabytes(memory())}; "
            f"{remedy}"
        )


def within_memory(
    what: str, items: Iterable[T], size: Callable[[T], int], remedy: str
) -> Iterator[T]:
    """Pass on items that will all be kept, until their bytes do not fit into memory."""
    need = 0
    for item in items:
        need += size(item)
        if need > memory():
            check_bytes(what, need, remedy)
        yield item


# ---- files --------------------------------------------------------------------------------


def check_regular(path: Path, most: float = math.inf, least: int = 0) -> None:
    """Reject a path that is not a file before it is opened: a pipe would block, and a device never
    ends. Also reject a file of more than ``most`` or fewer than ``least`` bytes. Files of the
    system claim to be empty, and some of them block too."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise StorageError(f"{path}: not a file, but a pipe, a device or a folder")
    if found.st_size < least:
        raise StorageError(f"{path}: damaged: it is empty")
    if found.st_size > most:
        raise StorageError(f"{path}: {found.st_size} bytes, but at most {most} are read")


def check_source(path: Path, once: bool = True) -> None:
    """Reject a named pipe or a device in the place of a file or folder. If it is read more than
    ``once``, also reject a file descriptor that a shell passes as a file."""
    mode = path.stat().st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return
    passed = stat.S_ISFIFO(mode) and not os.path.exists(os.path.realpath(path))  # /dev/fd/63
    if not passed or not once:
        twice = "; it is read more than once" if passed else ""
        raise DataError(f"{path}: not a file, but a pipe or a device{twice}; name a file")


def is_packed(path: Path) -> bool:
    """Whether the name is that of a compressed file."""
    return path.suffix.lower() == ".gz"


def open_bytes(path: Path) -> IO[bytes]:
    """The content of a file, unpacked."""
    check_source(path)
    file = gzip.open(path, "rb") if is_packed(path) else path.open("rb")  # noqa: SIM115
    return io.BufferedReader(_Bounded(file, path))


def open_text(path: Path, encoding: str, newline: str = "") -> io.TextIOWrapper:
    """The same as text; line ends are not changed."""
    return io.TextIOWrapper(open_bytes(path), encoding=encoding, newline=newline)


def forget(file: Any) -> None:
    """Forget the bytes that were read so far: the reader does not keep them in memory."""
    getattr(file, "buffer", file).raw.taken = 0


class _Bounded(io.RawIOBase):
    """A reader that counts the bytes it passes on."""

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
