"""Progress: what callbacks get after every sweep, the live line, and stopping by a signal.

    def log(event: pgbn.Event) -> None:
        print(event.sweep, event.widths, event.log_likelihood)

    network.sample(data, callback=log)

An `Event` computes its costly parts when they are asked for. The line (see `meters`) is shown in
a terminal or a notebook; elsewhere there is none.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from types import FrameType
from typing import Any, Protocol

from pgbn.checks import check_flag
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.compiling import compiling
from pgbn.engine.run.meters import Silent, choose_meter
from pgbn.errors import DataError
from pgbn.network.layers import layers_above

__all__ = [
    "Callback",
    "Clock",
    "Event",
    "Interrupted",
    "Stop",
    "check_callback",
    "live",
    "stop_gently",
]


@dataclass(frozen=True)
class Event:
    """The end of a sweep: number ``sweep`` of ``sweeps`` in this ``phase``, ``done`` of ``total``
    in all, ``sweep_seconds`` long, ``seconds`` after the start. ``depth`` counts the layers."""

    chain: Chain
    depth: int
    phase: str
    sweep: int
    sweeps: int
    done: int
    total: int
    seconds: float
    sweep_seconds: float

    @cached_property
    def tokens(self) -> int:
        """The total count of the data; of reals, the number of cells that are not zero."""
        cells = self.chain.program.cells.values()
        return sum(c.sum() if c.is_whole else c.size for c in cells)

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / max(self.sweep_seconds, 1e-9)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The factors with counts in each layer of positive scores, from the data up (those above
        the first data node); empty if the network has none. Scores that sum to one, as in a plain
        topic model, share a budget that is given."""
        program, network, widths = self.chain.program, self.chain.network, []
        for layer in layers_above(network, network.observed[0]):
            heard = [counts for pair, counts in program.counts.items() if pair[1] == layer.scores]
            if not heard or network[layer.scores].simplex is not None:
                break
            axis = program.storage[layer.scores].index(layer.dim) + 1
            others = tuple(i for i in range(heard[0].ndim) if i != axis)
            widths.append(int((sum(counts.sum(axis=others) for counts in heard) > 0).sum()))
        return tuple(widths)

    @property
    def stage(self) -> str:
        """What the live line calls the part of the run that this sweep belongs to."""
        return self.phase.replace("_", "-")

    @property
    def noted_likelihood(self) -> float | None:
        """A recent `log_likelihood` that was computed anyway, if there is one."""
        return None

    @cached_property
    def log_likelihood(self) -> float:
        """The log density of the data given the latent values, for each token."""
        return self.chain.log_likelihood() / max(self.tokens, 1)


class Callback(Protocol):
    """Anything that takes an event; what it raises stops the chain after this sweep."""

    def __call__(self, event: Any, /) -> None: ...


def check_callback(callback: Any) -> None:
    """What is called after every sweep must be a function."""
    if callback is not None and not callable(callback):
        raise DataError(f"callback={callback!r}: give a function of one argument, a pgbn.Event")


class Clock:
    """Counts sweeps and seconds of a run."""

    def __init__(self, total: int) -> None:
        self.total, self.done = total, 0
        self.start = self.last = time.monotonic()

    def tick(self) -> dict[str, Any]:
        """One sweep more: the fields of an `Event` that count and time."""
        now = time.monotonic()
        took, self.last = now - self.last, now
        self.done += 1
        return {"done": self.done, "total": self.total, "seconds": now - self.start,
                "sweep_seconds": took}  # fmt: skip


# ---- stopping -------------------------------------------------------------------------


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

    def check(self, event: Event) -> None:
        """Raise `Interrupted` if a stop was asked for."""
        if self.requested:
            raise self.interrupted(
                f"stopped after sweep {event.done} of {event.total}; this exception has the chain: "
                "pgbn.save(error.chain, path) keeps it, and error.chain.sweep(n) goes on",
                event.chain,
            )


# Ctrl-C; docker stop, Slurm and the system going down; a terminal that is closed.
_STOPS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
_ECHO = 1.0  # seconds: both the shell and the system tell that a terminal was closed


@contextmanager
def stop_gently() -> Iterator[Stop]:
    """Let Ctrl-C, SIGTERM and SIGHUP stop after the current sweep; a second one, at once.

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

    before = {number: signal.getsignal(number) for number in _STOPS}
    ours = [number for number, handler in before.items() if handler is _as_python_begins(number)]
    for number in ours:
        signal.signal(number, heed)
    try:
        yield stop
    finally:
        for number in ours:
            signal.signal(number, before[number])


def _as_python_begins(number: int) -> Any:
    return signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL


def _say(text: str) -> None:
    """To whoever watches: in a handler nothing may fail, nor what it interrupted be touched."""
    with suppress(OSError, ValueError, AttributeError, RuntimeError):
        sys.stderr.write(text)
        sys.stderr.flush()


# ---- the live line --------------------------------------------------------------------


@contextmanager
def live(show: bool = True, kernels: int = 0) -> Iterator[Callback]:
    """A callback that shows where a run stands, or does nothing where nobody would see it; a first
    run compiles about so many ``kernels``."""
    meter = choose_meter() if check_flag("progress", show) else Silent()
    meter.put("preparing", 0.0)
    try:
        with compiling(lambda text: meter.put(text, 0.0), kernels):
            yield meter
    finally:
        meter.end()
