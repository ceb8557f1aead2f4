"""Events, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest

import pgbn
from pgbn import zoo
from pgbn.engine.run.progress import Event, Interrupted, stop_gently
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
    heard = last.chain.counts
    assert last.widths == tuple(int((heard[f"theta{t}"].sum(axis=0) > 0).sum()) for t in (1, 2))
    assert last.log_likelihood == last.chain.log_likelihood() / X.sum()


def test_events_of_other_networks() -> None:
    """Reals have no tokens, and not every network has layers."""
    events: list[Event] = []
    network = zoo.pgds(2)
    data = network.generate(1, sizes={"term": 4, "time": 5})
    network.sample({"x": data["x"]}, 1, 1, callback=events.append)
    assert events[-1].widths == ()
    assert np.isfinite(events[-1].log_likelihood)
    network = zoo.pgbn([3], link="gamma")
    network.sample(
        {"x": np.random.default_rng(0).gamma(1, 1, (5, 4))}, 1, 1, callback=events.append
    )
    assert events[-1].tokens == 20


def test_widths_of_any_network_with_layers() -> None:
    """The factors that have counts, though no node is called theta1."""
    events: list[Event] = []
    zoo.bnbp(5).sample({"x": counts()}, 2, 1, callback=events.append, progress=False)
    heard = events[-1].chain.counts["theta"]
    assert events[-1].widths == (int((heard.sum(axis=0) > 0).sum()),)
    zoo.lda(5).sample({"x": counts()}, 2, 1, callback=events.append, progress=False)
    assert events[-1].widths == ()  # its topics are as many as were asked for


def test_what_the_line_calls_a_sweep() -> None:
    """A training tells the layer, a network that is sampled has none to tell."""
    sampled: list[Event] = []
    trained: list[pgbn.Progress] = []
    zoo.pfa(3).sample({"x": counts()}, 1, 1, callback=sampled.append, progress=False)
    pgbn.train_layerwise(counts(), 3, 1, burn_in=1, collect=1, trace_every=1,
                         callback=trained.append, progress=False)  # fmt: skip
    assert [event.stage for event in sampled] == ["burn-in", "collect"]
    assert [event.stage for event in trained] == ["layer 1 burn-in", "layer 1 collect"]
    assert sampled[0].noted_likelihood is None
    assert trained[-1].noted_likelihood == pytest.approx(trained[-1].log_likelihood)


def test_a_callback_does_not_change_the_chain() -> None:
    def look(event: Event) -> None:
        assert event.widths
        assert np.isfinite(event.log_likelihood)

    network, data = zoo.pgbn([6, 4]), {"x": counts()}
    one = network.sample(data, 5, 3, layer1="collapsed", callback=look)
    two = network.sample(data, 5, 3, layer1="collapsed")
    for name in network.latent:
        assert np.array_equal(one[name], two[name])


def test_events_of_training() -> None:
    events: list[pgbn.Progress] = []
    pgbn.train_layerwise(
        counts(), 6, 2, burn_in=[4, 3], collect=[2, 1], min_width=1, callback=events.append
    )
    assert [e.done for e in events] == list(range(1, 11))
    assert [e.depth for e in events] == [1] * 6 + [2] * 4
    assert {e.total for e in events} == {10}
    assert [e.phase for e in events][-2:] == ["burn_in", "collect"]


def test_what_a_callback_raises_stops_the_run() -> None:
    def stop(event: Event) -> None:
        if event.sweep == 3:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        zoo.pfa(3).sample({"x": counts()}, 10, 1, callback=stop)


def test_stopping_after_the_sweep(capsys: pytest.CaptureFixture[str]) -> None:
    swept = []

    def press(event: Event) -> None:
        swept.append(event.sweep)
        if event.sweep == 3:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted, match=r"sweep 3 of 11.*pgbn\.save") as stopped:
        zoo.pfa(3).sample({"x": counts()}, 10, 1, callback=press)
    assert swept == [1, 2, 3]
    assert stopped.value.chain is not None
    assert stopped.value.chain.sweeps == 3
    assert "stopping after this sweep" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_press_stops_at_once() -> None:
    with stop_gently() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        assert stop.requested
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert stop.requested


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_stopping_by_another_signal(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As docker stop, Slurm or a closed terminal do it; afterwards the handlers are as before."""
    number = getattr(signal, name)

    def end(event: Event) -> None:
        if event.sweep == 3:
            os.kill(os.getpid(), number)

    with pytest.raises(Interrupted, match="sweep 3 of 11") as stopped:
        zoo.pfa(3).sample({"x": counts()}, 10, 1, callback=end)
    assert stopped.value.signal == number
    assert "a second signal: at once" in capsys.readouterr().err
    assert signal.getsignal(number) is signal.SIG_DFL


TWICE = """
import signal, sys
from pgbn.engine.run.progress import stop_gently
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


def test_signals_of_others_are_left_to_them() -> None:
    """nohup ignores SIGHUP, servers handle SIGTERM."""
    heard: list[int] = []
    theirs = {"SIGHUP": signal.SIG_IGN, "SIGTERM": lambda number, frame: heard.append(number)}
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
    assert heard == [signal.SIGTERM]


FORKED = """
import multiprocessing, time
from pgbn.engine.run.progress import stop_gently
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
