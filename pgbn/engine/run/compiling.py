"""What the live line says while kernels are compiled.

numba tells of every function that it compiles, and not of those that it finds on disk. A kernel
compiles what it calls, so that only the outermost of them are counted.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any


@contextmanager
def compiling(show: Callable[[str], None], of: int = 0) -> Iterator[None]:
    """While it lasts, each kernel that is compiled is shown: "compiling kernel 7 of about 22 (crt),
    12 s". ``of`` is how many a run takes that finds none on disk, 0 if that is not known.

    Events are a private part of numba. A version without them shows nothing.
    """
    with ExitStack() as stack:
        with suppress(Exception):
            stack.enter_context(_listening(_Kernels(show, of)))
        yield


def _listening(kernels: Any) -> Any:
    from numba.core import event

    told: Any = event  # numba has no types

    class Listener(told.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            with suppress(Exception):
                kernels.on_start(event.data["dispatcher"].py_func.__name__)

        def on_end(self, event: Any) -> None:
            kernels.on_end()

    return told.install_listener("numba:compile", Listener())


class _Kernels:
    """Counts the kernels that this thread compiles, and the seconds that they take."""

    def __init__(self, show: Callable[[str], None], of: int) -> None:
        self.show, self.of, self.count, self.depth, self.seconds = show, of, 0, 0, 0.0
        self.began, self.thread = 0.0, threading.get_ident()

    def on_start(self, function: str) -> None:
        if threading.get_ident() != self.thread:
            return
        self.depth += 1
        if self.depth == 1:
            self.count, self.began = self.count + 1, time.monotonic()
            name = function.strip("_").replace("_", " ")
            number = f"{self.count}" + f" of about {self.of}" * (self.count <= self.of)
            self.show(f"first run: compiling kernel {number} ({name}), {self.seconds:.0f} s")

    def on_end(self) -> None:
        if threading.get_ident() == self.thread:
            self.depth -= 1
            if self.depth == 0:
                self.seconds += time.monotonic() - self.began
