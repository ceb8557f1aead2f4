"""How much memory something would take, asked before it is taken.

An absurd size (``max_width=10**9``) would otherwise end in a MemoryError from the depths, or with
the process killed by the system.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path, PurePosixPath

from pgbn.errors import DataError

__all__ = ["check_bytes", "gigabytes", "memory"]

_UNKNOWN = 2**40  # bytes, where the system does not tell


@cache
def memory() -> int:
    """The bytes of memory that this process may have: the machine's, or less if its container, a
    group that it is in (a job of a cluster, a service) or ``ulimit -v`` says so."""
    found = [_UNKNOWN, *_process_limits(), *_group_limits()]
    with suppress(AttributeError, ValueError, OSError):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(number for number in found if number > 0)


def _process_limits() -> Iterator[int]:
    """What ``ulimit`` has set; -1 stands for no limit."""
    try:
        import resource
    except ImportError:  # not a POSIX system
        return
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        with suppress(OSError, ValueError):
            yield resource.getrlimit(kind)[0]


def _group_limits(system: Path = Path("/")) -> Iterator[int]:
    """The limits of the control groups of this process and of all groups around them.

    A line of /proc/self/cgroup is number:controllers:path; version 2 has no controllers. In a
    container the path may be that of the host, of which only the root is seen.
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
        with suppress(OSError, ValueError):  # "max" is no number
            yield int(place.read_text())


def gigabytes(size: int) -> str:
    """A number of bytes as people read it."""
    if size < 10**15:
        return f"{size / 1e9:,.1f} GB"
    return f"{size / 1e9:.3g} GB" if size < 10**300 else f"10^{len(str(size)) - 10} GB"


def check_bytes(what: str, need: int, remedy: str) -> None:
    """Refuse what would not fit into memory."""
    if need > memory():
        raise DataError(
            f"{what} would need {gigabytes(need)} of memory, and there are {gigabytes(memory())}; "
            f"{remedy}"
        )
