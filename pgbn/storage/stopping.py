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
    """A signal, heeded after a sweep; the text says how to continue, ``chain`` is where it stands
    and ``signal`` the number of the signal."""

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
_ECHO = 1.0  # seconds: both the shell and the system tell that a terminal was closed


@contextmanager
def stop_gently(*numbers: int) -> Iterator[Stop]:
    """Let Ctrl-C, SIGTERM and SIGHUP stop after the current sweep, or those of them that are given;
    a second one, at once.

    A signal that somebody else handles, or that is ignored (nohup), is left to them; so are all
    outside the main thread, which alone may handle them. Afterwards all is as it was, and so it is
    in a process that a callback forks: its parent ends it by SIGTERM, and waits.
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
        for number in reversed(ours):  # Ctrl-C last: it is heard, and cuts nothing off, until then
            signal.signal(number, before[number])


def _say(text: str) -> None:
    """To whoever watches: in a handler nothing may fail, nor what it interrupted be touched."""
    with suppress(OSError, ValueError, AttributeError, RuntimeError):
        sys.stderr.write(text)
        sys.stderr.flush()
