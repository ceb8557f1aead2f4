"""What the live line says while kernels are compiled.

numba tells of every function that it compiles, and not of those that it finds on disk. A kernel
compiles what it calls, so that only the outermost of them are counted.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from pgbn.samplers.from_numba import event

__all__ = ["compiling"]


@contextmanager
def compiling(show: Callable[[str], None], of: int = 0) -> Iterator[None]:
    """While it lasts, each kernel that is compiled is shown: "compiling kernel 7 of about 22 (crt),
    12 s". ``of`` is how many a run takes that finds none on disk, 0 if that is not known."""
    listener, told = _Listener(show, of), cast(Any, event)  # numba has no types
    told.register("numba:compile", listener)
    try:
        yield
    finally:
        told.unregister("numba:compile", listener)


class _Listener(event.Listener):  # type: ignore[misc, unused-ignore]
    """Counts the kernels that this thread compiles, and the seconds that they take."""

    def __init__(self, show: Callable[[str], None], of: int) -> None:
        self.show, self.of, self.count, self.depth, self.seconds = show, of, 0, 0, 0.0
        self.began, self.thread = 0.0, threading.get_ident()

    def on_start(self, event: Any) -> None:
        if threading.get_ident() != self.thread:
            return
        self.depth += 1
        if self.depth == 1:
            self.count, self.began = self.count + 1, time.monotonic()
            name = event.data["dispatcher"].py_func.__name__.strip("_").replace("_", " ")
            number = f"{self.count}" + f" of about {self.of}" * (self.count <= self.of)
            self.show(f"first run: compiling kernel {number} ({name}), {self.seconds:.0f} s")

    def on_end(self, event: Any) -> None:
        if threading.get_ident() == self.thread:
            self.depth -= 1
            if self.depth == 0:
                self.seconds += time.monotonic() - self.began
