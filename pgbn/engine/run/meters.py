"""The live line of a run: a bar with rich, plain text without it, an output in a notebook."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable
from importlib import import_module
from shutil import get_terminal_size
from statistics import median
from typing import TYPE_CHECKING, Any

from pgbn.errors import printable

if TYPE_CHECKING:
    from pgbn.engine.run.progress import Event

__all__ = ["Meter", "Silent", "choose_meter", "live_text"]


def choose_meter() -> Meter:
    """What shows the line here."""
    if _in_notebook():
        return Notebook()
    if not _is_watched():
        return Silent()
    try:
        return Bar()
    except ImportError:
        return Line()


def _is_watched() -> bool:
    """Whether the standard error is a terminal; without a console it is None, or may be closed."""
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


def _in_notebook() -> bool:
    """Whether there is a kernel of Jupyter. Colab and others have a class of their own for it."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return any(each.__name__ == "ZMQInteractiveShell" for each in type(shell).__mro__)


def live_text(event: Event, seconds: float, log_likelihood: float | None) -> str:
    """burn-in 30/200 · 0:41 left · widths 100-63 · 1.2 M tokens/s · log p -6.912 per token.

    ``seconds`` is what a sweep takes.
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

    Where a line can no longer be shown (a terminal that was closed, a full disk) the run goes on
    without.
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
        if self.lost:
            return
        if now - self.shown < self.every and event.done < event.total:
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
        """`show` a line, and those below it, as long as there is somewhere to."""
        lines = [printable(line, one_line=True) for line in (text, *below)]
        self._attempt(lambda: self.show(self.between.join(lines), part))

    def end(self) -> None:
        """`close`, whatever has become of the terminal."""
        self._attempt(self.close)

    def _attempt(self, write: Callable[[], None]) -> None:
        try:
            write()
        except (OSError, ValueError, AttributeError):  # an error; closed; None
            self.lost = True

    def show(self, text: str, part: float) -> None:
        """Put this text, and this part of the whole, before somebody's eyes."""
        raise NotImplementedError

    def close(self) -> None:
        """The run is over."""


class Silent(Meter):
    """Where nobody looks, or nobody wants to."""

    def __call__(self, event: Event, /) -> None:
        pass

    def show(self, text: str, part: float) -> None:
        pass


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
    """A bar with rich where the text leaves room for it; a long text takes two lines."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn
        from rich.table import Column

        super().__init__()
        self.bar = BarColumn(24)
        self.text = TextColumn("{task.description}", markup=False, table_column=Column())
        # Drawn by `show` alone: errors of a thread that draws would be nobody's to catch.
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
        finally:  # what rich prints above the bar, and leaves so where it fails
            for name in ("stdout", "stderr"):
                stream = getattr(sys, name)
                setattr(sys, name, getattr(stream, "rich_proxied_file", stream))
