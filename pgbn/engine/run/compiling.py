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

from numba.core import event

__all__ = ["compiling"]


@contextmanager
def compiling(show: Callable[[str], None]) -> Iterator[None]:
    """While it lasts, each kernel that is compiled is shown: "compiling kernel 7 (crt), 12 s"."""
    listener, told = _Listener(show), cast(Any, event)  # numba has no types
    told.register("numba:compile", listener)
    try:
        yield
    finally:
        told.unregister("numba:compile", listener)


class _Listener(event.Listener):  # type: ignore[misc, unused-ignore]
    """Counts the kernels that this thread compiles, and the seconds that they take."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self.show, self.count, self.depth, self.seconds = show, 0, 0, 0.0
        self.began, self.thread = 0.0, threading.get_ident()

    def on_start(self, event: Any) -> None:
        if threading.get_ident() != self.thread:
            return
        self.depth += 1
        if self.depth == 1:
            self.count, self.began = self.count + 1, time.monotonic()
            name = event.data["dispatcher"].py_func.__name__.strip("_").replace("_", " ")
            self.show(f"first run: compiling kernel {self.count} ({name}), {self.seconds:.0f} s")

    def on_end(self, event: Any) -> None:
        if threading.get_ident() == self.thread:
            self.depth -= 1
            if self.depth == 0:
                self.seconds += time.monotonic() - self.began
