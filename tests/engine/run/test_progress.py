"""Events of runs, the live line, and what it says while kernels are compiled."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import threading
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest

import pgbn
from pgbn import zoo
from pgbn.diagnostics import split_rhat
from pgbn.engine.run import progress
from pgbn.engine.run.progress import Event, compiling, live, worst_rhat
from tests.helpers.small_data import counts
from tests.helpers.streams import unwritable


def test_events_of_sample() -> None:
    events: list[Event] = []
    X = counts()
    network = zoo.pgbn([6, 4])
    network.sample({"x": X}, 3, 2, thin=2, chains=2, callback=events.append, progress=False)
    assert [(e.phase, e.sweep, e.sweeps) for e in events[:7]] == [
        ("burn_in", 1, 3), ("burn_in", 2, 3), ("burn_in", 3, 3),
        ("collect", 1, 4), ("collect", 2, 4), ("collect", 3, 4), ("collect", 4, 4),
    ]  # fmt: skip
    assert [e.done for e in events] == list(range(1, 15))
    assert {e.total for e in events} == {14}
    last = events[-1]
    assert last.chain.number == 1
    assert last.tokens == X.sum()
    assert last.tokens_per_second == pytest.approx(X.sum() / last.sweep_seconds)
    assert last.seconds >= sum(e.sweep_seconds for e in events) * 0.999
    received = last.chain.counts
    assert last.widths == tuple(int((received[f"theta{t}"].sum(axis=0) > 0).sum()) for t in (1, 2))
    assert last.log_likelihood == last.chain.log_likelihood() / X.sum()


def test_widths_of_any_network_with_layers() -> None:
    """The factors that have counts, though no node is called theta1. Reals have no tokens."""
    events: list[Event] = []
    zoo.bnbp(5).sample({"x": counts()}, 2, 1, callback=events.append, progress=False)
    received = events[-1].chain.counts["theta"]
    assert events[-1].widths == (int((received.sum(axis=0) > 0).sum()),)
    zoo.lda(5).sample({"x": counts()}, 2, 1, callback=events.append, progress=False)
    assert events[-1].widths == ()  # its topics are as many as were asked for
    reals = np.random.default_rng(0).gamma(1, 1, (5, 4))
    zoo.pgbn([3], link="gamma").sample({"x": reals}, 1, 1, callback=events.append)
    assert events[-1].tokens == 20
    assert np.isfinite(events[-1].log_likelihood)


def test_what_a_callback_raises_stops_the_run() -> None:
    def stop(event: Event) -> None:
        if event.sweep == 3:
            raise RuntimeError("enough")

    for parallel in (1, 2):
        with pytest.raises(RuntimeError, match="enough"):
            zoo.pfa(3).sample({"x": counts()}, 10, 1, chains=2, parallel=parallel, callback=stop)


# ---- the live line ----


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("rich", [True, False])
def test_terminal(monkeypatch: pytest.MonkeyPatch, rich: bool) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress.Meter, "every", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    if not rich:
        monkeypatch.setitem(sys.modules, "rich.console", None)
    pgbn.train_layerwise(counts(), 6, 2, burn_in=4, sweeps=2, min_width=1)
    shown = screen.getvalue()
    for part in ("preparing", "layer 2 collect 2/2", "widths 6-", "tokens/s", "log p -", "left"):
        assert part in shown, (part, shown)
    assert ("\x1b[" in shown) == rich
    screen.truncate(0)
    screen.seek(0)
    zoo.pfa(3).sample({"x": counts()}, 5, 5, progress=False)
    assert screen.getvalue() == ""


def test_words_do_not_command_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    progress.Line().put("layer \x1b[2J\r\n1", 0.5)
    assert screen.getvalue() == r"\r 50% layer \u001b[2J\u000d\n1".replace(r"\r ", "\r ", 1)


SCRIPT = """
import numpy as np, pgbn
rng = np.random.default_rng(0)
X = rng.poisson(rng.gamma(0.3, 1, (40, 5)) @ rng.dirichlet([0.1] * 50, 5) * 12)
"""


LINE = re.compile(
    r"layer 2 collect 20/20 · 0:00 left · widths \d+-\d+ · [\d.]+ [kM]? ?tokens/s · "
    r"log p -\d+\.\d+ per token"
)


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.parametrize("columns", [80, 140])
def test_real_terminal(columns: int) -> None:
    """A process whose standard error is a pseudo-terminal: every part of the line is shown whole,
    in two rows where the terminal is narrow, and nothing is left when the run is over."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    code = SCRIPT + "pgbn.train_layerwise(X, 6, 2, burn_in=20, sweeps=20, min_width=1)"
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("COLUMNS", None)
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=theirs, env=environment
    )
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # how the end of a pseudo-terminal is told
        while chunk := os.read(ours, 65536):
            shown += chunk
    os.close(ours)
    assert process.communicate()[0] == b""
    text = " ".join(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode()).split())
    assert LINE.search(text), text
    assert ("━ layer 2" in text) == (columns > 100)
    assert "\x1b[2K" in shown.decode().rpartition("token")[2]  # the line is wiped out


def test_the_line_costs_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log likelihood is not computed at every sweep."""
    calls = 0

    def costly(chain: pgbn.Chain) -> float:
        nonlocal calls
        calls += 1
        return -1.0

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(pgbn.Chain, "log_likelihood", costly)
    with live() as meter:
        chain = zoo.pfa(3).chain({"x": counts()})
        for n in range(1, 200):
            meter(Event(chain, 1, "burn_in", n, 200, n, 200, n * 0.01, 0.01))
    assert calls == 1


# ---- what the line says ---------------------------------------------------------------------


def event(done: int = 30, total: int = 200, **fields: Any) -> Any:
    """An event with given numbers, without a chain."""
    known = {"stage": "layer 2 burn-in", "noted_likelihood": None, "sweep": done, "sweeps": total, "done": done,
             "total": total, "widths": (100, 63), "tokens": 600_000, "log_likelihood": -7.0,
             "sweep_seconds": 0.5}  # fmt: skip
    return SimpleNamespace(**known | fields)


@pytest.mark.parametrize(
    ("fields", "seconds", "likelihood", "line"),
    [
        (
            {}, 0.5, -6.9123,
            "layer 2 burn-in 30/200 · 1:25 left · widths 100-63 · 1.2 M tokens/s · "
            "log p -6.912 per token",
        ),
        ({"widths": ()}, 0.5, None, "layer 2 burn-in 30/200 · 1:25 left · 1.2 M tokens/s"),
        (
            {"stage": "layer 2 collect", "tokens": 90, "widths": (3,)}, 60.0, None,
            "layer 2 collect 30/200 · 2:50:00 left · widths 3 · 2 tokens/s",
        ),
        ({"widths": (), "tokens": 4 * 10**9}, 2.0, None,
         "layer 2 burn-in 30/200 · 5:40 left · 2.0 G tokens/s"),
    ],
)  # fmt: skip
def test_the_text(fields: Any, seconds: float, likelihood: float | None, line: str) -> None:
    assert progress.live_text(event(**fields), seconds, likelihood) == line


class Noting(progress.Meter):
    """A meter that notes what it would show."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[str, float]] = []

    def show(self, text: str, part: float) -> None:
        self.lines.append((text, part))


def test_a_line_is_shown_now_and_then_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    meter = Noting()
    for done in range(1, 11):
        meter(event(done, 10))
        now[0] += 0.1
    assert [part for _, part in meter.lines] == [0.1, 0.4, 0.7, 1.0]


def test_the_time_left_is_that_of_a_usual_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first sweep had to compile; the median does not care."""
    monkeypatch.setattr(Noting, "every", 0.0)
    meter = Noting()
    for done, seconds in enumerate([60.0, 1.0, 1.0], 1):
        meter(event(done, 10, sweep_seconds=seconds))
    assert "0:07 left" in meter.lines[-1][0]


def test_a_likelihood_that_training_has_noted_is_not_computed_again() -> None:
    meter = Noting()
    meter(event(10, 10, noted_likelihood=-2.0, log_likelihood=None))
    assert "log p -2.000 per token" in meter.lines[0][0]


def test_a_kernel_with_a_class_of_its_own_is_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """Colab's shell is called Shell: there was no line."""
    jupyter = type("ZMQInteractiveShell", (), {})
    for shell in (jupyter, type("Shell", (jupyter,), {})):
        module = SimpleNamespace(get_ipython=shell)
        monkeypatch.setitem(sys.modules, "IPython", module)
        assert isinstance(progress.choose_meter(), progress.Notebook)
    module = SimpleNamespace(get_ipython=type("TerminalInteractiveShell", (), {}))
    monkeypatch.setitem(sys.modules, "IPython", module)
    assert not isinstance(progress.choose_meter(), progress.Notebook)


def test_an_output_of_a_notebook_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def display(line: Any, **options: Any) -> Any:
        shown.append(line["text/plain"])
        return SimpleNamespace(update=lambda line, raw: shown.append(line["text/plain"]))

    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    meter = progress.Notebook()
    meter.put("one", 0.5)
    meter.put("two", 1.0)
    assert shown == ["█" * 15 + "░" * 15 + " one", "█" * 30 + " two"]


@pytest.mark.parametrize("rich", [True, False])
@pytest.mark.parametrize("stream", [None, "closed", "full"])
def test_a_training_does_not_die_of_its_line(
    monkeypatch: pytest.MonkeyPatch, rich: bool, stream: str | None
) -> None:
    monkeypatch.setattr(progress.Meter, "every", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    if not rich:
        monkeypatch.setitem(sys.modules, "rich.console", None)
    settings = {"burn_in": 3, "sweeps": 2, "seed": 1}
    expected = pgbn.train_layerwise(counts(), 4, 1, **settings, progress=False)
    monkeypatch.setattr(sys, "stderr", unwritable(stream))
    found = pgbn.train_layerwise(counts(), 4, 1, **settings)
    assert np.array_equal(found.deepest.phi[0], expected.deepest.phi[0])


def test_the_lines_are_lines_and_the_last_ones_are_true(monkeypatch: pytest.MonkeyPatch) -> None:
    r"""They were one line with "\n" in it, and a chain that another was shown before stood still."""
    meter = Noting()
    monkeypatch.setattr(Noting, "every", 3600.0)  # each chain is shown once in an hour
    monkeypatch.setattr(progress, "choose_meter", lambda: meter)
    zoo.pfa(3).sample({"x": counts()}, 2, 8, chains=2, parallel=2, threads=2)
    lines = meter.lines[-1][0].split("\n")
    assert [line.partition(" ·")[0] for line in lines[:2]] == [
        "chain 0: collect 8/8", "chain 1: collect 8/8",
    ]  # fmt: skip
    assert lines[2].startswith("R-hat at most")


def test_rhat_of_the_draws_that_all_chains_have() -> None:
    rng = np.random.default_rng(0)
    good, bad = rng.normal(size=(2, 50)), rng.normal(size=(2, 50))
    bad[1] += 5
    traces = [{"a": list(good[n]), "b": [*bad[n], *[0.0] * n]} for n in range(2)]
    assert worst_rhat(traces) == (split_rhat(bad), "b")
    for few in ([{"a": [1.0]}, {"a": [2.0]}], [{"a": [1.0]}, {}], []):
        assert worst_rhat(few) is None


# ---- while kernels are compiled ----


def kernel():
    @numba.njit
    def inner(x):
        return x + 1

    @numba.njit
    def outer_kernel(x):
        return inner(x) * 2

    return outer_kernel


def test_each_outermost_kernel_of_this_thread_is_told_once() -> None:
    told: list[str] = []
    with compiling(told.append, of=1):
        first, second = kernel(), kernel()
        assert first(1) == second(1) == 4
        assert first(2) == 6  # compiled already
        other = threading.Thread(target=lambda: kernel()(1))
        other.start()
        other.join()
    kernel()(1)  # nobody listens any more
    assert [re.sub(r"\d+ s$", "", text) for text in told] == [
        "first run: compiling kernel 1 of about 1 (outer kernel), ",
        "first run: compiling kernel 2 (outer kernel), ",
    ]
