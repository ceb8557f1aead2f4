"""Work that Ctrl-C does not cut off."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C is heeded when this is left, as often as it was pressed, by whoever heeds it here.

    For the compiler: stopped anywhere, it leaves objects of LLVM that are half made or half
    deleted, and the interpreter ends when somebody meets them, minutes later.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    pressed: list[FrameType | None] = []
    signal.signal(signal.SIGINT, lambda number, frame: pressed.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        for frame in pressed:
            handler(signal.SIGINT, frame)
