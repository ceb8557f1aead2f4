"""How much memory something would take, asked before it is taken.

An absurd size (``max_width=10**9``) would otherwise end in a MemoryError from the depths, or with
the process killed by the system.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from pgbn.errors import DataError
from pgbn.nodes.base import Latent

if TYPE_CHECKING:
    from pgbn.network import Network

__all__ = ["check_bytes", "check_network", "gigabytes", "memory"]

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


def check_network(
    network: Network,
    sizes: Mapping[str, int],
    replicates: int = 1,
    data: bool = False,
    argument: str = "",
) -> None:
    """Refuse sizes at which the values and counts of the nodes would not fit into memory.

    ``data``: the observed nodes are drawn, as whole arrays. ``argument`` is what the user gave.
    """
    need = {
        node.name: 16 * replicates * prod(sizes.get(dim, 1) for dim in node.axes)  # two arrays
        for node in network
        if data or isinstance(node, Latent)
    }
    total = sum(need.values())
    if total <= memory():
        return
    worst = network.nodes[max(need, key=lambda name: need[name])]
    shape = ", ".join(f"{dim}={sizes.get(dim, 1)}" for dim in worst.axes)
    largest = max(worst.axes, key=lambda dim: sizes.get(dim, 1), default="replicates")
    check_bytes(f"{argument}{worst.name} [{shape}]", total, f"make {largest} smaller")
