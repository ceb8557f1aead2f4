"""Ctrl-C, SIGTERM and SIGHUP."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from pgbn import zoo
from pgbn.engine.run.chain import Interrupted, stop_gently
from pgbn.engine.run.progress import Event
from tests.helpers.own_executor import Backwards
from tests.helpers.small_data import counts
from tests.helpers.streams import unwritable


class Pressed(Backwards):
    """Ctrl-C is pressed in the middle of the next sweep."""

    pressed = False

    def rows(self, kernel: Callable[..., Any], rows: int, key: int, *args: Any) -> None:
        super().rows(kernel, rows, key, *args)
        if self.pressed:
            self.pressed = False
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("n", [1, 50])
def test_a_chain_is_stopped_after_a_sweep(n: int, capsys: pytest.CaptureFixture[str]) -> None:
    """It was left in the middle of one, and went on as another chain."""
    executor, data = Pressed(), {"x": counts()}
    chain, whole = zoo.pfa(3).chain(data, executor=executor), zoo.pfa(3).chain(data)
    before = signal.getsignal(signal.SIGINT)
    chain.sweep(2)
    executor.pressed = True
    with pytest.raises(KeyboardInterrupt, match="after sweep 3 "):
        chain.sweep(n)
    assert "stopping after this sweep" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is before
    assert np.array_equal(chain.sweep(4).values["phi1"], whole.sweep(7).values["phi1"])


@pytest.mark.parametrize(("name", "again"), [
    ("SIGINT", "Ctrl-C again"), ("SIGTERM", "a second signal"), ("SIGHUP", "a second signal"),
])  # fmt: skip
def test_sampling_is_stopped_after_a_sweep(
    name: str, again: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As Ctrl-C, docker stop, Slurm or a closed terminal do it; the handlers are as before."""
    swept, number = [], getattr(signal, name)
    before = signal.getsignal(number)

    def press(event: Event) -> None:
        swept.append(event.sweep)
        if event.sweep == 3:
            os.kill(os.getpid(), number)

    with pytest.raises(Interrupted, match=r"sweep 3 of 11.*pgbn\.save") as stopped:
        zoo.pfa(3).sample({"x": counts()}, 10, 1, callback=press)
    assert swept == [1, 2, 3]
    assert stopped.value.chain is not None
    assert (stopped.value.chain.sweeps, stopped.value.signal) == (3, number)
    assert f"stopping after this sweep ({again}: at once)" in capsys.readouterr().err
    assert signal.getsignal(number) is before


def test_a_second_press_stops_at_once() -> None:
    with stop_gently() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        assert stop.requested
        with pytest.raises(KeyboardInterrupt) as stopped:
            signal.raise_signal(signal.SIGINT)
        assert not isinstance(stopped.value, Interrupted)


TWICE = """
import signal, sys
from pgbn.engine.run.chain import stop_gently
first, second, wait = sys.argv[1:]
with stop_gently() as stop:
    signal.raise_signal(signal.Signals[first])
    assert stop.requested
    import time; time.sleep(float(wait))
    signal.raise_signal(signal.Signals[second])
    print("goes on")
"""


@pytest.mark.parametrize(("first", "second", "wait", "ends"), [
    ("SIGTERM", "SIGTERM", 0, True), ("SIGINT", "SIGTERM", 0, True), ("SIGHUP", "SIGHUP", 1.1, True),
    ("SIGHUP", "SIGHUP", 0, False),  # the shell and the system both tell of a closed terminal
])  # fmt: skip
def test_a_second_signal_ends_the_process(first: str, second: str, wait: float, ends: bool) -> None:
    done = subprocess.run([sys.executable, "-c", TWICE, first, second, str(wait)], check=False,
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == (-getattr(signal, second) if ends else 0), done.stderr
    assert done.stdout == ("" if ends else "goes on\n")


def test_ctrl_c_while_signals_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is heard as long as others are still ours: SIGTERM stayed with a run that was over."""
    given, true = [], signal.signal

    def note(number: int, handler: Any) -> Any:
        given.append(number)
        return true(number, handler)

    with stop_gently():
        monkeypatch.setattr(signal, "signal", note)
    assert given[-1] == signal.SIGINT
    assert len(given) > 1


def test_signals_of_others_are_left_to_them() -> None:
    """nohup ignores SIGHUP, servers handle SIGTERM."""
    received: list[int] = []
    theirs = {"SIGHUP": signal.SIG_IGN, "SIGTERM": lambda number, frame: received.append(number)}
    before = {name: signal.signal(getattr(signal, name), do) for name, do in theirs.items()}
    try:
        with stop_gently() as stop:
            for name, handler in theirs.items():
                assert signal.getsignal(getattr(signal, name)) is handler
                os.kill(os.getpid(), getattr(signal, name))
            assert not stop.requested
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)
    assert received == [signal.SIGTERM]


FORKED = """
import multiprocessing, time
from pgbn.engine.run.chain import stop_gently
with stop_gently() as stop:
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    child.start()
    time.sleep(0.2)
    child.terminate()
    child.join(30)
    print(child.exitcode, stop.requested)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs os.fork")
def test_a_process_that_a_callback_forks_can_be_ended() -> None:
    """`multiprocessing` ends its workers by SIGTERM, and waits for them."""
    done = subprocess.run(
        [sys.executable, "-c", FORKED], check=True, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == (f"{-signal.SIGTERM} False\n", "")


def test_outside_the_main_thread() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    during: list[object] = []

    def look(event: Event) -> None:
        during.extend(signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM))

    with ThreadPoolExecutor(1) as pool:
        draws = pool.submit(zoo.pfa(3).sample, {"x": counts()}, 0, 1, callback=look).result()
    assert draws["r"].shape == (1, 1, 3)
    assert during == before


@pytest.mark.parametrize("stream", [None, "closed", "full"])
def test_a_stop_that_cannot_be_announced(
    stream: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", unwritable(stream))

    def end(event: Event) -> None:
        if event.done == 3:
            os.kill(os.getpid(), signal.SIGINT)

    def show(message: Warning | str, *rest: object) -> None:  # as Python does
        if sys.stderr is not None:
            with suppress(OSError):
                sys.stderr.write(str(message))

    monkeypatch.setattr("warnings.showwarning", show)
    draws = zoo.pfa(3).sample({"x": counts()}, 1, 5, callback=end)
    assert draws["r"].shape == (1, 2, 3)
