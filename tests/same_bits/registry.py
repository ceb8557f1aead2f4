"""The cases by name; the modules that `cases` imports fill it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .digest import digest

__all__ = ["CASES", "Case", "case", "text"]


@dataclass(frozen=True)
class Case:
    """A value to be hashed. ``run`` takes the number of threads, one after another of
    ``threads``, which must not change the value; texts are the same on every machine."""

    name: str
    run: Callable[[int], object]
    threads: tuple[int, ...]
    everywhere: bool = False

    def hashes(self) -> dict[int, str]:
        """The hash for each number of threads."""
        return {threads: digest(self.run(threads)) for threads in self.threads}


CASES: dict[str, Case] = {}


def case(name: str, run: Callable[[int], object], threads: tuple[int, ...] = (1, 2)) -> None:
    """Register a value whose bits are those of this machine."""
    _add(Case(name, run, threads))


def text(name: str, run: Callable[[], str]) -> None:
    """Register a text that is the same on every machine."""
    _add(Case(name, lambda threads: str(run()), (1,), everywhere=True))


def _add(new: Case) -> None:
    if new.name in CASES:
        raise ValueError(f"two cases are called {new.name!r}")
    CASES[new.name] = new
