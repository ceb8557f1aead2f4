"""Stopping by a signal: after the current sweep, with a complete state.

with stop_gently() as stop:
    while not stop.requested:
        chain.sweep()
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any


class Interrupted(KeyboardInterrupt):
    """A signal, raised after a sweep. The text says how to continue; ``chain`` is the chain at its
    current state and ``signal`` the number of the signal."""

    chain: Any = None
    signal: int = signal.SIGINT


class Stop:
    """Whether a signal asked for a stop, and which: 0 for none yet."""

    signal = 0

    @property
    def requested(self) -> bool:
        return bool(self.signal)

    def interrupted(self, text: str, chain: Any = None) -> Interrupted:
        """What is raised after the sweep."""
        stop = Interrupted(text)
        stop.chain, stop.signal = chain, self.signal
        return stop


# Ctrl-C; docker stop, Slurm and the system going down; a terminal that is closed.
_STOPS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
_ECHO = 1.0  # seconds: both the shell and the system signal that a terminal was closed


@contextmanager
def stop_gently(*numbers: int) -> Iterator[Stop]:
    """Let Ctrl-C, SIGTERM and SIGHUP, or those that are given, stop after the current sweep; a
    second signal stops at once.

    Signals with another handler, and ignored ones (nohup), are not touched. Only the main thread
    may handle signals, so nothing changes in other threads. The earlier handlers are restored
    afterwards. A process that a callback forks uses them, too: its parent ends it by SIGTERM, and
    waits.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    first, process = 0.0, os.getpid()

    def heed(number: int, frame: FrameType | None) -> None:
        nonlocal first
        if os.getpid() != process:
            signal.signal(number, before[number])
            signal.raise_signal(number)
            return
        now = time.monotonic()
        if not stop.requested:
            stop.signal, first = number, now
            again = "Ctrl-C again" if number == signal.SIGINT else "a second signal"
            _say(f"\nstopping after this sweep ({again}: at once)\n")
        elif number == signal.SIGINT:
            raise KeyboardInterrupt
        elif number == signal.SIGTERM or now - first > _ECHO:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
            os._exit(128 + number)  # the first process of a container survives its signals

    before = {number: signal.getsignal(number) for number in numbers or _STOPS}
    begun: dict[int, Any] = {signal.SIGINT: signal.default_int_handler}  # as Python begins
    ours = [n for n, handler in before.items() if handler is begun.get(n, signal.SIG_DFL)]
    for number in ours:
        signal.signal(number, heed)
    try:
        yield stop
    finally:
        for number in reversed(ours):  # Ctrl-C last: it interrupts nothing until then
            signal.signal(number, before[number])


def _say(text: str) -> None:
    """Write to the terminal. In a handler nothing may fail, and nothing that it interrupted may be
    touched."""
    with suppress(OSError, ValueError, AttributeError, RuntimeError):
        sys.stderr.write(text)
        sys.stderr.flush()
