"""A kernel in a file and a cache of its own."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

__all__ = ["KERNEL", "hits", "kernel"]

KERNEL = """
from pgbn.samplers.compiled import njit

@njit(cache=True, nogil=True)
def twice(x):
    return 2 * x
"""


def kernel(cache: Path) -> Any:
    """The kernel as a new process would have it: read from the cache, or compiled."""
    found = importlib.util.spec_from_file_location("kernel", cache.parent / "kernel.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module.twice


def hits(kernel: Any) -> int:
    """How often the kernel was found in the cache."""
    return sum(kernel.stats.cache_hits.values())
