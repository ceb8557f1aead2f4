"""The cases by name; the modules that `cases` imports fill it."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass

from .digest import digest

__all__ = ["CASES", "Case", "case"]


@dataclass(frozen=True)
class Case:
    """A value to be hashed. ``run`` takes the number of threads, one after another of
    ``threads``, which must not change the value."""

    name: str
    run: Callable[[int], object]
    threads: tuple[int, ...]
    everywhere: bool = False

    def hashes(self) -> dict[int, str]:
        """The hash for each number of threads."""
        return {threads: digest(self.run(threads)) for threads in self.threads}


CASES: dict[str, Case] = {}
# computed from draws by numpy, whose last digits are those of the machine
_LOCAL = ("estimator/", "evaluate/", "report/", "saved estimator/", "testing/")


def case(name: str, run: Callable[[int], object], threads: tuple[int, ...] = (1, 2)) -> None:
    """Register a value; what is drawn has the same bits on every x86-64 machine."""
    everywhere = not name.startswith(_LOCAL) and platform.machine() in ("x86_64", "AMD64")
    if name in CASES:
        raise ValueError(f"two cases are called {name!r}")
    CASES[name] = Case(name, run, threads, everywhere)
