"""Progress: what callbacks get after every sweep, the live line, and stopping with Ctrl-C.

    def log(event: pgbn.Event) -> None:
        print(event.sweep, event.widths, event.log_likelihood)

    network.sample(data, callback=log)

An `Event` computes its costly parts when they are asked for. The line is shown with rich where
that is installed, in a terminal or a notebook; elsewhere there is none.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from types import FrameType
from typing import Any, Protocol

from pgbn.chain import Chain

__all__ = ["Callback", "Clock", "Event", "Interrupted", "Stop", "live", "stop_gently"]


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
        return sum(
            int(c.values.sum()) if c.values.dtype.kind == "i" else c.values.size for c in cells
        )

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / max(self.sweep_seconds, 1e-9)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The factors with counts in each layer theta1, theta2, …; empty for other networks."""
        program, widths = self.chain.program, []
        for layer in range(1, len(self.chain.network.latent) + 1):
            name, topic = f"theta{layer}", f"topic{layer}"
            heard = [counts for pair, counts in program.counts.items() if pair[1] == name]
            if not heard or topic not in program.storage[name]:
                break
            axis = program.storage[name].index(topic) + 1
            others = tuple(i for i in range(heard[0].ndim) if i != axis)
            widths.append(int((sum(counts.sum(axis=others) for counts in heard) > 0).sum()))
        return tuple(widths)

    @cached_property
    def log_likelihood(self) -> float:
        """The log density of the data given the latent values, a number a token."""
        return self.chain.log_likelihood() / max(self.tokens, 1)


class Callback(Protocol):
    """Anything that takes an event; what it raises stops the chain after this sweep."""

    def __call__(self, event: Any, /) -> None: ...


class Clock:
    """Counts sweeps and seconds of a run; ``before`` sweeps were done in an earlier one."""

    def __init__(self, total: int, before: int = 0) -> None:
        self.total, self.done = total, before
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
    """Ctrl-C, heeded after a sweep; the text says how to go on, ``chain`` is where it stands."""

    chain: Chain | None = None


class Stop:
    """Whether Ctrl-C was pressed."""

    requested = False

    def check(self, event: Event) -> None:
        """Raise `Interrupted` if it was."""
        if self.requested:
            stop = Interrupted(
                f"stopped after sweep {event.done} of {event.total}; this exception has the chain: "
                "pgbn.save(error.chain, path) keeps it, and error.chain.sweep(n) goes on"
            )
            stop.chain = event.chain
            raise stop


@contextmanager
def stop_gently() -> Iterator[Stop]:
    """Let Ctrl-C stop after the current sweep; pressed again, at once."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = signal.getsignal(signal.SIGINT)

    def heed(number: int, frame: FrameType | None) -> None:
        if stop.requested:
            raise KeyboardInterrupt
        stop.requested = True
        sys.stderr.write("\nstopping after this sweep (Ctrl-C again: at once)\n")
        sys.stderr.flush()

    if before is not signal.default_int_handler:  # somebody else handles it: leave it to them
        yield stop
        return
    signal.signal(signal.SIGINT, heed)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


# ---- the live line --------------------------------------------------------------------


@contextmanager
def live(show: bool = True) -> Iterator[Callback]:
    """A callback that shows where a run stands, or does nothing where nobody would see it."""
    meter = _choose() if show else _Silent()
    try:
        yield meter
    finally:
        meter.close()


def _choose() -> _Meter:
    if _in_notebook():
        return _Notebook()
    if not sys.stderr.isatty():
        return _Silent()
    try:
        return _Bar()
    except ImportError:
        return _Line()


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def describe(event: Event, speed: float, log_likelihood: float | None) -> str:
    """layer 2, sweep 30/200 · widths 100-63 · 1.2 M tokens/s · log p −6.91 a token."""
    parts = [f"layer {event.depth}, {event.phase} {event.sweep}/{event.sweeps}"]
    if event.widths:
        parts.append("widths " + "-".join(map(str, event.widths)))
    parts.append(f"{_short(speed)} tokens/s")
    if log_likelihood is not None:
        parts.append(f"log p {log_likelihood:.3f} a token")
    return " · ".join(parts)


def _short(number: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number:.0f}"


class _Meter:
    """Shows an event a few times a second; the log likelihood at most for 2 % of the time."""

    every = 0.25

    def __init__(self) -> None:
        self.shown = self.measured = self.cost = 0.0
        self.likelihood: float | None = None
        self.begin: tuple[int, float] | None = None

    def __call__(self, event: Event, /) -> None:
        if self.begin is None:
            self.begin = (event.done - 1, event.seconds - event.sweep_seconds)
        now = time.monotonic()
        if now - self.shown < self.every and event.done < event.total:
            return
        self.shown = now
        noted = getattr(getattr(event, "trace", None), "rows", [])
        if noted:  # training has computed it anyway
            self.likelihood = noted[-1][1] / max(event.tokens, 1)
        elif now - self.measured > max(2.0, 50 * self.cost):
            self.likelihood = event.log_likelihood
            self.measured = time.monotonic()
            self.cost = self.measured - now
        sweeps, seconds = event.done - self.begin[0], event.seconds - self.begin[1]
        left = seconds / sweeps * (event.total - event.done)
        text = describe(event, event.tokens_per_second, self.likelihood)
        self.show(event, text, left)

    def show(self, event: Event, text: str, left: float) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """The run is over."""


class _Silent(_Meter):
    def __call__(self, event: Event, /) -> None:
        pass


class _Line(_Meter):
    """One line of text that is written over."""

    width = 0

    def show(self, event: Event, text: str, left: float) -> None:
        line = f"{event.done}/{event.total} · {text} · {left:.0f} s left"
        sys.stderr.write("\r" + line.ljust(self.width))
        sys.stderr.flush()
        self.width = len(line)

    def close(self) -> None:
        if self.width:
            sys.stderr.write("\n")


class _Notebook(_Meter):
    """One output that is replaced."""

    every = 1.0
    handle: Any = None

    def show(self, event: Event, text: str, left: float) -> None:
        display = import_module("IPython.display").display
        part = round(30 * event.done / event.total)
        bar = "█" * part + "░" * (30 - part)
        line = {"text/plain": f"{bar} {event.done}/{event.total} · {text} · {left:.0f} s left"}
        if self.handle is None:
            self.handle = display(line, raw=True, display_id=True)
        else:
            self.handle.update(line, raw=True)


class _Bar(_Meter):
    """A bar with rich."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        super().__init__()
        self.progress = Progress(
            BarColumn(24), MofNCompleteColumn(), TextColumn("{task.fields[left]}"),
            TextColumn("{task.description}"), console=Console(stderr=True), transient=True,
        )  # fmt: skip
        self.task: Any = None

    def show(self, event: Event, text: str, left: float) -> None:
        minutes, seconds = divmod(round(left), 60)
        remaining = f"{minutes}:{seconds:02d} left"
        if self.task is None:
            self.task = self.progress.add_task(text, total=event.total, left=remaining)
            self.progress.start()
        self.progress.update(
            self.task, completed=event.done, description=text, left=remaining, refresh=True
        )

    def close(self) -> None:
        if self.task is not None:
            self.progress.stop()
