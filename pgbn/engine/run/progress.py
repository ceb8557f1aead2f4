"""Progress: the events for callbacks after every sweep, and the live line.

    def log(event: pgbn.Event) -> None:
        print(event.sweep, event.widths, event.log_likelihood)

    network.sample(data, callback=log)

An `Event` computes its costly parts when they are asked for. The live line is shown in a terminal
or a notebook; elsewhere there is none.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from shutil import get_terminal_size
from statistics import median
from typing import Any, Protocol

import numpy as np

from pgbn.checks import check_flag
from pgbn.diagnostics import split_rhat
from pgbn.engine.run.chain import Chain
from pgbn.errors import DataError, printable
from pgbn.network.layers import layers_above

Traces = Mapping[str, Sequence[float]]


# ---- the live line: a bar with rich, plain text without it, an output in a notebook ----


def choose_meter() -> Meter:
    """The display of the line: in a kernel of Jupyter, of which Colab and others have a class of
    their own, or in a terminal. Without a console the standard error is None, or may be closed."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if any(each.__name__ == "ZMQInteractiveShell" for each in type(shell).__mro__):
        return Notebook()
    try:
        return Bar() if sys.stderr.isatty() else Silent()
    except (AttributeError, ValueError):
        return Silent()
    except ImportError:
        return Line()


def live_text(event: Event, seconds: float, log_likelihood: float | None) -> str:
    """burn-in 30/200 · 0:41 left · widths 100-63 · 1.2 M tokens/s · log p -6.912 per token.

    ``seconds`` is the time of a sweep.
    """
    parts = [f"{event.stage} {event.sweep}/{event.sweeps}"]
    parts.append(f"{_clock(seconds * (event.total - event.done))} left")
    if event.widths:
        parts.append("widths " + "-".join(map(str, event.widths)))
    parts.append(f"{_short(event.tokens / max(seconds, 1e-9))} tokens/s")
    if log_likelihood is not None:
        parts.append(f"log p {log_likelihood:.3f} per token")
    return " · ".join(parts)


def _short(number: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number:.0f}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


class Meter:
    """Shows an event a few times a second; the log likelihood at most for 2 % of the time.

    The run continues without the line if it can no longer be shown (a closed terminal, a full
    disk).
    """

    every = 0.25
    lost = False
    between = "\n"  # lines

    def __init__(self) -> None:
        self.shown = self.measured = self.cost = 0.0
        self.likelihood: float | None = None
        # The median of the last sweeps: one that had to compile would spoil the mean.
        self.recent: deque[float] = deque(maxlen=50)

    def __call__(self, event: Event, /) -> None:
        self.recent.append(event.sweep_seconds)
        now = time.monotonic()
        if self.lost or (now - self.shown < self.every and event.done < event.total):
            return
        self.shown = now
        if (noted := event.noted_likelihood) is not None:
            self.likelihood = noted
        elif now - self.measured > max(2.0, 50 * self.cost):
            self.likelihood = event.log_likelihood
            self.measured = time.monotonic()
            self.cost = self.measured - now
        text = live_text(event, median(self.recent), self.likelihood)
        self.put(text, event.done / event.total)

    def put(self, text: str, part: float, *below: str) -> None:
        """`show` a line, and those below it, as long as the output is open."""
        if self.lost:
            return
        lines = [printable(line, one_line=True) for line in (text, *below)]
        self._attempt(lambda: self.show(self.between.join(lines), part))

    def end(self) -> None:
        """`close`, even if the terminal is gone."""
        self._attempt(self.close)

    def _attempt(self, write: Callable[[], None]) -> None:
        try:
            write()
        except (OSError, ValueError, AttributeError):  # an error; closed; None
            self.lost = True

    def show(self, text: str, part: float) -> None:
        """Show this text, and the part of the run that is done."""
        raise NotImplementedError

    def close(self) -> None:
        """The run is over."""


class Silent(Meter):
    """No display: there is no terminal, or the user wants none."""

    lost = True


class Line(Meter):
    """One line of text that is written over."""

    between = " | "
    width = 0

    def show(self, text: str, part: float) -> None:
        line = f"{part:4.0%} {text}"[: get_terminal_size().columns - 1]
        sys.stderr.write("\r" + line.ljust(self.width))
        sys.stderr.flush()
        self.width = len(line)

    def close(self) -> None:
        sys.stderr.write("\n")


class Notebook(Meter):
    """One output that is replaced."""

    every = 1.0
    handle: Any = None

    def show(self, text: str, part: float) -> None:
        display = import_module("IPython.display").display
        done = round(30 * part)
        line = {"text/plain": f"{'█' * done}{'░' * (30 - done)} {text}"}
        if self.handle is None:
            self.handle = display(line, raw=True, display_id=True)
        else:
            self.handle.update(line, raw=True)


class Bar(Meter):
    """A bar with rich if the text leaves space for it; a long text takes two lines."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn
        from rich.table import Column

        super().__init__()
        self.bar = BarColumn(24)
        self.text = TextColumn("{task.description}", markup=False, table_column=Column())
        # Drawn by `show` alone: nobody could catch the errors of a thread that draws.
        self.progress = Progress(
            self.text, console=Console(stderr=True), transient=True, auto_refresh=False
        )
        self.task = self.progress.add_task("", total=1.0)

    def show(self, text: str, part: float) -> None:
        self.progress.start()
        room = self.progress.console.width - len(text) - 2
        self.bar.bar_width = min(room, 24)
        self.progress.columns = (self.bar, self.text) if room >= 6 else (self.text,)
        self.progress.update(self.task, completed=part, description=text, refresh=True)

    def close(self) -> None:
        try:
            self.progress.stop()
        finally:  # rich redirects output above the bar, and does not undo this if it fails
            for name in ("stdout", "stderr"):
                stream = getattr(sys, name)
                setattr(sys, name, getattr(stream, "rich_proxied_file", stream))


def worst_rhat(traces: Sequence[Traces]) -> tuple[float, str] | None:
    """The largest R̂ and its node, over the draws that all chains have; None as long as they are
    too few."""
    found = []
    for name in traces[0] if traces else ():
        length = min(len(each.get(name, ())) for each in traces)
        rhat = split_rhat([list(each[name])[:length] for each in traces]) if length else np.nan
        if np.isfinite(rhat):
            found.append((float(rhat), name))
    return max(found) if found else None


class ManyLines:
    """The latest sweep of every parallel chain, through the meter of one line, and how well the
    chains agree: R̂ of their label-free ``traces``, by number."""

    def __init__(self, meter: Meter, chains: int, traces: Mapping[int, Traces]) -> None:
        self.meter, self.chains, self.traces = meter, chains, traces
        self.lines: dict[int, str] = {}
        self.shown: dict[int, float] = {}

    def __call__(self, event: Event, /) -> None:
        number, now = event.chain.number, time.monotonic()
        last = event.phase == "collect" and event.sweep == event.sweeps
        waited = now - self.shown.get(number, -math.inf)
        if self.meter.lost or (waited < self.meter.every and not last):
            return
        self.shown[number] = now
        self.lines[number] = f"chain {number}: {live_text(event, event.sweep_seconds, None)}"
        first, *others = [self.lines[each] for each in sorted(self.lines)]
        if len(self.traces) == self.chains and (worst := worst_rhat(list(self.traces.values()))):
            others.append(f"R-hat at most {worst[0]:.3f} ({worst[1]})")
        self.meter.put(first, event.done / event.total, *others)


# ---- the line while kernels are compiled ----
# numba reports every function that it compiles, but not those that it finds on disk. A kernel
# compiles what it calls, so that only the outermost of them are counted.


@contextmanager
def compiling(show: Callable[[str], None], of: int = 0) -> Iterator[None]:
    """A context in which each kernel that is compiled is shown: "compiling kernel 7 of about 22
    (crt), 12 s". ``of`` is the number of kernels of a run that finds none on disk, 0 if unknown.

    Events are a private part of numba. A version without them shows nothing.
    """
    with ExitStack() as stack:
        with suppress(Exception):
            events: Any = import_module("numba.core.event")
            listener = _listener(events.Listener, show, of)
            stack.enter_context(events.install_listener("numba:compile", listener))
        yield


def _listener(kind: Any, show: Callable[[str], None], of: int) -> Any:
    """A listener of numba that shows the kernels that this thread compiles, their number and the
    seconds that they took so far."""
    thread = threading.get_ident()

    class Kernels(kind):  # type: ignore[misc]
        count, depth, seconds, began = 0, 0, 0.0, 0.0

        def on_start(self, event: Any) -> None:
            if threading.get_ident() != thread:
                return
            self.depth += 1
            if self.depth == 1:
                self.count, self.began = self.count + 1, time.monotonic()
                number = f"{self.count}" + f" of about {of}" * (self.count <= of)
                with suppress(Exception):
                    name = event.data["dispatcher"].py_func.__name__.strip("_").replace("_", " ")
                    show(f"first run: compiling kernel {number} ({name}), {self.seconds:.0f} s")

        def on_end(self, event: Any) -> None:
            if threading.get_ident() == thread:
                self.depth -= 1
                self.seconds += 0.0 if self.depth else time.monotonic() - self.began

    return Kernels()


# ---- events ----


@dataclass(frozen=True)
class Event:
    """The end of a sweep, as a callback receives it.

    Parameters
    ----------
    chain
        The chain in its current state.
    depth
        The number of layers of a network that is trained layer by layer, else 1.
    phase
        "burn_in" or "collect".
    sweep, sweeps
        The number of this sweep in the phase, and the sweeps of the phase.
    done, total
        The same for the whole run.
    seconds, sweep_seconds
        Seconds since the start, and of this sweep.

    Examples
    --------
    >>> import pgbn as pg
    >>> seen = []
    >>> draws = pg.zoo.pfa(2).sample({"x": [[2, 0, 1]]}, 1, 2, callback=seen.append)
    >>> [(event.phase, event.sweep, event.sweeps, event.done) for event in seen]
    [('burn_in', 1, 1, 1), ('collect', 1, 2, 2), ('collect', 2, 2, 3)]
    >>> seen[-1].tokens
    3
    """

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
        cells = self.chain._program.cells.values()
        return sum(c.sum() if c.is_integer else c.size for c in cells)

    @property
    def tokens_per_second(self) -> float:
        """The tokens that this sweep drew in a second."""
        return self.tokens / max(self.sweep_seconds, 1e-9)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The factors with counts in each layer of positive scores, from the data up (those above
        the first data node); empty if the network has none. Scores that sum to one, as in a plain
        topic model, have a fixed width."""
        program, network, widths = self.chain._program, self.chain.network, []
        for layer in layers_above(network, network.observed[0]):
            received = [
                counts for pair, counts in program.counts.items() if pair[1] == layer.scores
            ]
            if not received or network[layer.scores].simplex is not None:
                break
            axis = program.storage[layer.scores].index(layer.dim) + 1
            others = tuple(i for i in range(received[0].ndim) if i != axis)
            widths.append(int((sum(counts.sum(axis=others) for counts in received) > 0).sum()))
        return tuple(widths)

    @property
    def stage(self) -> str:
        """The name, in the live line, of the part of the run that this sweep belongs to."""
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
    """Anything that takes an event; an exception from it stops the chain after this sweep."""

    def __call__(self, event: Any, /) -> None: ...


def check_callback(callback: Any) -> None:
    """Check that a callback is a function."""
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


@contextmanager
def live(show: bool = True, kernels: int = 0) -> Iterator[Meter]:
    """A callback that shows the progress of a run, or does nothing without a display. A first run
    compiles about ``kernels`` kernels."""
    meter = choose_meter() if check_flag("progress", show) else Silent()
    meter.put("preparing", 0.0)
    try:
        with compiling(lambda text: meter.put(text, 0.0), kernels):
            yield meter
    finally:
        meter.end()
