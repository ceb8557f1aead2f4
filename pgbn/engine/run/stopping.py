"""Stopping by a signal: after the current sweep, with a state that is whole.

with stop_gently() as stop:
    while not stop.requested:
        chain.sweep()
"""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any

from pgbn.checks import check_integer, is_finite_number
from pgbn.errors import DataError, StorageError, notify

if TYPE_CHECKING:
    from pgbn.engine.run.chain import Chain


class Interrupted(KeyboardInterrupt):
    """A signal, heeded after a sweep; the text says how to go on, ``chain`` is where it stands and
    ``signal`` the number of the signal."""

    chain: Chain | None = None
    signal: int = signal.SIGINT


class Stop:
    """Whether a signal asked for a stop, and which: 0 for none yet."""

    signal = 0

    @property
    def requested(self) -> bool:
        return bool(self.signal)

    def interrupted(self, text: str, chain: Chain | None = None) -> Interrupted:
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
    ours = [number for number, handler in before.items() if handler is _as_python_begins(number)]
    for number in ours:
        signal.signal(number, heed)
    try:
        yield stop
    finally:
        for number in reversed(ours):  # Ctrl-C last: it is heard, and cuts nothing off, until then
            signal.signal(number, before[number])


def _as_python_begins(number: int) -> Any:
    return signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL


def _say(text: str) -> None:
    """To whoever watches: in a handler nothing may fail, nor what it interrupted be touched."""
    with suppress(OSError, ValueError, AttributeError, RuntimeError):
        sys.stderr.write(text)
        sys.stderr.flush()


# ---- saving -------------------------------------------------------------------------------------
#
# When a run that is saved now and then writes its next checkpoint: for trainings and sampling.


@dataclass(frozen=True)
class Timing:
    """When checkpoints are written: every ``minutes``, or every ``sweeps``.

    Writing takes at most ``share`` > 0 of the time: where a checkpoint took long, the next one
    waits; a share of more than 1 sets no limit.
    """

    minutes: float | None = 5.0
    sweeps: int | None = None
    share: float = 0.05

    def __post_init__(self) -> None:
        minutes = self.minutes
        number = is_finite_number(minutes) or (isinstance(minutes, float) and minutes > 0)
        if minutes is not None and not (number and float(minutes) >= 0.0):
            raise DataError(
                f"minutes={minutes!r:.60}: give a number of at least 0, or None for no checkpoints "
                "by time"
            )
        if self.sweeps is not None:
            check_integer("sweeps", self.sweeps, 1)
        if not is_finite_number(self.share) or not self.share > 0:
            raise DataError(
                f"share={self.share!r}: give the part of the time that writing may take, above 0"
            )


class Rhythm:
    """Writes when it is time to. A disk that is full ends no long run: the next one may succeed."""

    def __init__(self, timing: Timing) -> None:
        self.timing = timing
        self.written, self.cost, self.count = time.monotonic(), 0.0, 0
        self._took = math.inf  # the last one
        self.failed = False  # the last time

    def tick(self, save: Callable[[], None]) -> None:
        """After a sweep: ``save`` if it is due."""
        self.count += 1
        if not self._due():
            return
        try:
            self.now(save)
        except StorageError as error:
            self.written, self.failed = time.monotonic(), True
            notify(f"no checkpoint was written, the run goes on: {error}")

    def now(self, save: Callable[[], None]) -> None:
        """``save``, whether it is due or not, and note what it cost: the less of the last two. One
        in which the process was stopped for the night (docker pause, a suspended job) would put
        off the next for days."""
        start = time.monotonic()
        save()
        self.count, self.written, self.failed = 0, time.monotonic(), False
        took = self.written - start
        self.cost, self._took = min(took, self._took), took

    def _due(self) -> bool:
        waited = time.monotonic() - self.written
        if waited * self.timing.share < self.cost:
            return False
        minutes, sweeps = self.timing.minutes, self.timing.sweeps
        late = minutes is not None and waited >= 60 * minutes
        return late or (sweeps is not None and self.count >= sweeps)
