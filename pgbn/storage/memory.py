"""How much memory something would take, asked before it is taken.

An absurd size (``max_width=10**9``) would otherwise end in a MemoryError from the depths, or with
the process killed by the system.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

from pgbn.errors import DataError

__all__ = ["check_bytes", "gigabytes", "memory"]

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_UNKNOWN = 2**40  # bytes, where the system does not tell


@cache
def memory() -> int:
    """The bytes of memory that this process may have: the machine's, or its container's."""
    found = [_UNKNOWN]
    with suppress(AttributeError, ValueError, OSError):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for path in _LIMITS:
        with suppress(OSError, ValueError):
            found.append(int(Path(path).read_text()))
    return min(number for number in found if number > 0)


def gigabytes(size: int) -> str:
    """A number of bytes as people read it."""
    return f"{size / 1e9:,.1f} GB" if size < 1e15 else f"{size / 1e9:.3g} GB"


def check_bytes(what: str, need: int, remedy: str) -> None:
    """Refuse what would not fit into memory."""
    if need > memory():
        raise DataError(
            f"{what} would need {gigabytes(need)} of memory, and there are {gigabytes(memory())}; "
            f"{remedy}"
        )
