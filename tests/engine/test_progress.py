"""Events, the live line, and Ctrl-C."""

from __future__ import annotations

import errno
import io
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import checkpoint, zoo
from pgbn.engine.run import meters
from pgbn.engine.run.progress import Event, Interrupted, live, stop_gently
from pgbn.storage import archive, folders


def counts() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.poisson(rng.gamma(0.3, 1, (40, 5)) @ rng.dirichlet([0.1] * 50, 5) * 12)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


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


# ---- the line -------------------------------------------------------------------------


def test_quiet_without_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    zoo.pfa(3).sample({"x": counts()}, 5, 5)
    pgbn.train_layerwise(counts(), 4, 1, burn_in=3, collect=2)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("rich", [True, False])
def test_terminal(monkeypatch: pytest.MonkeyPatch, rich: bool) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(meters.Meter, "every", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    if not rich:
        monkeypatch.setitem(sys.modules, "rich.console", None)
    pgbn.train_layerwise(counts(), 6, 2, burn_in=4, collect=2, min_width=1)
    shown = screen.getvalue()
    for part in ("preparing", "layer 2 collect 2/2", "widths 6-", "tokens/s", "log p -", "left"):
        assert part in shown, (part, shown)
    assert ("\x1b[" in shown) == rich
    screen.truncate(0)
    screen.seek(0)
    zoo.pfa(3).sample({"x": counts()}, 5, 5, progress=False)
    assert screen.getvalue() == ""


SCRIPT = """
import numpy as np, pgbn
rng = np.random.default_rng(0)
X = rng.poisson(rng.gamma(0.3, 1, (40, 5)) @ rng.dirichlet([0.1] * 50, 5) * 12)
"""
LINE = re.compile(
    r"layer 2 collect 20/20 · 0:00 left · widths \d+-\d+ · [\d.]+ [kM]? ?tokens/s · "
    r"log p -\d+\.\d+ a token"
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
    code = SCRIPT + "pgbn.train_layerwise(X, 6, 2, burn_in=20, collect=20, min_width=1)"
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


def test_real_notebook(tmp_path: Path) -> None:
    """A notebook in a real kernel: one output that is replaced, and Ctrl-C stops the cell."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    cells = [
        SCRIPT + "model = pgbn.train_layerwise(X, 6, 2, burn_in=20, collect=20, min_width=1)",
        "model",
        "import os, signal\n"
        "def press(event):\n"
        "    if event.sweep == 3: os.kill(os.getpid(), signal.SIGINT)\n"
        "try:\n"
        "    pgbn.zoo.pfa(3).sample({'x': X}, 10, 1, callback=press)\n"
        "except KeyboardInterrupt as stop:\n"
        "    print(stop)",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    here = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=here).execute()
    [line] = notebook.cells[0].outputs
    assert LINE.search(line["data"]["text/plain"]), line
    assert line["data"]["text/plain"].startswith("█" * 30)
    assert "Layer 2" in notebook.cells[1].outputs[0]["data"]["text/html"]
    printed = "".join(o["text"] for o in notebook.cells[2].outputs if o.output_type == "stream")
    assert "stopped after sweep 3 of 11" in printed


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


# ---- Ctrl-C ---------------------------------------------------------------------------


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


def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path: Path) -> None:
    X, arguments = counts(), {"burn_in": 30, "collect": 10, "min_width": 1, "seed": 4}
    whole = pgbn.train_layerwise(X, 6, 2, **arguments)

    def press(event: Event) -> None:
        if event.done == 47:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match=r"sweep 47 of 80 and saved.*pgbn resume"):
        checkpoint.train(X, tmp_path / "m", 6, 2, callback=press, **arguments)
    with pytest.raises(pgbn.StorageError, match=r"pgbn\.resume"):
        pgbn.load(tmp_path / "m")
    seen: list[int] = []
    resumed = pgbn.resume(tmp_path / "m", callback=lambda event: seen.append(event.done))
    assert np.array_equal(resumed.deepest.phi[1], whole.deepest.phi[1])
    assert np.array_equal(resumed.deepest.r, whole.deepest.r)
    assert np.array_equal(pgbn.load(tmp_path / "m").deepest.r, whole.deepest.r)
    assert len(seen) == 33
    with pytest.raises(pgbn.StorageError, match="nothing to resume"):
        pgbn.resume(tmp_path / "m")


def test_ctrl_c_of_the_command(tmp_path: Path) -> None:
    """A real process and a real signal: exit code 130, a checkpoint, and the way to go on."""
    X = np.repeat(counts(), 20, axis=0)
    np.savez(tmp_path / "x.npz", X=X)
    command = [sys.executable, "-m", "pgbn"]
    process = subprocess.Popen(
        [*command, "fit", str(tmp_path / "x.npz"), "-o", str(tmp_path / "m"), "--depth", "1",
         "--burn-in", "2000", "--collect", "2", "--max-width", "10", "--minutes", "0.0001"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    end = time.monotonic() + 60
    while not (tmp_path / "m" / "model.json").exists() and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "pgbn resume" in errors.splitlines()[-1]
    at = checkpoint.read_checkpoint(tmp_path / "m").progress
    assert 1 <= at.sweep < 2000
    assert f"sweep {at.done} of 2002" in errors


# ---- checkpoints ----------------------------------------------------------------------


def test_the_cost_of_checkpoints_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write of 1 s in sweeps of 0.1 s: at most one in 20 s, whatever the user asks for."""
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    writer = checkpoint.Checkpoints(tmp_path, {}, sweeps=1, share=0.05)
    written: list[float] = []

    def write(*arguments: Any) -> dict[str, str]:
        clock[0] += 1.0
        written.append(clock[0])
        return {"data": "d", "model": "m"}

    monkeypatch.setattr(archive, "write", write)
    chain = zoo.pfa(3).chain({"x": counts()})
    from pgbn.training import Progress
    from pgbn.training.averages import Means, Trace

    for n in range(1, 1001):
        clock[0] += 0.1
        writer(Progress(chain, 1, "burn_in", n, 1000, n, 1000, 0.1 * n, 0.1, (), Trace(0), Means()))
    assert 4 <= len(written) <= 6
    assert min(np.diff(written)) >= 20.0


def test_a_full_disk_does_not_end_a_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, full = archive.write, [True]

    def write(*arguments: Any) -> Any:
        if full[0] and arguments[1] == "checkpoint":
            raise pgbn.StorageError("No space left on device")
        return real(*arguments)

    monkeypatch.setattr(archive, "write", write)
    options = {"burn_in": 3, "collect": 2, "sweeps": 1, "share": 1e9}
    with pytest.warns(pgbn.PgbnWarning, match="training goes on: No space left"):
        checkpoint.train(counts(), tmp_path / "m", 5, 1, **options)
    assert pgbn.load(tmp_path / "m").deepest.depth == 1


def test_a_full_disk_at_the_end_keeps_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result cannot be written: the error says how to get it all the same."""
    real, full = archive.write, [True]

    def write(*arguments: Any) -> Any:
        if full[0] and arguments[1] != "checkpoint":
            reason = OSError(errno.ENOSPC, "No space left on device")
            raise pgbn.StorageError("No space left on device") from reason
        return real(*arguments)

    monkeypatch.setattr(archive, "write", write)
    monkeypatch.setattr(folders, "write", write)
    options = {"burn_in": 3, "collect": 2, "seed": 3}
    with pytest.raises(pgbn.StorageError, match=r"make room, then go on.*pgbn resume"):
        checkpoint.train(counts(), tmp_path / "m", 5, 1, sweeps=2, share=1e9, **options)
    with pytest.raises(pgbn.StorageError, match=r"No space left on device$"):
        checkpoint.train(counts(), tmp_path / "n", 5, 1, **options)
    full[0] = False
    same(pgbn.resume(tmp_path / "m"), pgbn.train_layerwise(counts(), 5, 1, **options))


def test_a_bad_folder_is_noticed_before_training(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "model.json").write_text("{}")
    for path in (tmp_path / "file", tmp_path):
        with pytest.raises(pgbn.StorageError):
            checkpoint.train(counts(), path, 5, 1, callback=lambda event: pytest.fail("too late"))


def test_checkpoints_keep_files_that_do_not_change(tmp_path: Path) -> None:
    names: list[set[str]] = []

    def look(event: Event) -> None:
        if (tmp_path / "model.json").exists():
            names.append({path.name for path in tmp_path.iterdir()})

    checkpoint.train(counts(), tmp_path, 5, 2, burn_in=3, collect=2, min_width=1, sweeps=1,
                     share=1e9, callback=look)  # fmt: skip
    assert all(len(found) == 4 for found in names)
    assert len({name for found in names for name in found if name.startswith("data")}) == 1
    assert len({name for found in names for name in found if name.startswith("model-")}) == 2
    assert len({name for found in names for name in found if name.startswith("state")}) == 9


def test_every_place_of_a_training_can_be_resumed(tmp_path: Path) -> None:
    """Burn-in and collection, the first and the last sweep of each, inside an average, and with
    more sweeps for a network that is trained already."""
    X = counts()
    arguments = {
        "burn_in": 6,
        "collect": 5,
        "average": 3,
        "min_width": 1,
        "seed": 1,
        "trace_every": 2,
    }
    whole = pgbn.train_layerwise(X, 6, 2, keep_states=True, **arguments)
    more = pgbn.train_layerwise(X, 6, 2, start_from=whole, **arguments)

    def interrupted(at: int, **beginning: Any) -> pgbn.LayerwiseTraining:
        def stop(event: Event) -> None:
            if event.done == at + 1:
                raise RuntimeError

        with pytest.raises(RuntimeError):
            checkpoint.train(X, tmp_path, 6, 2, sweeps=1, share=1e9, callback=stop, threads=1,
                             **beginning, **arguments)  # fmt: skip
        return pgbn.resume(tmp_path, threads=2)

    for at in (1, 5, 6, 7, 8, 10, 11, 12, 17, 20, 21):
        same(interrupted(at, keep_states=True), whole)
    for at in (1, 3, 4):
        same(interrupted(at, start_from=whole), more)


def same(one: pgbn.LayerwiseTraining, two: pgbn.LayerwiseTraining) -> None:
    assert len(one.networks) == len(two.networks)
    for a, b in zip(one.networks, two.networks, strict=True):
        assert a.sweeps == b.sweeps
        for left, right in zip((*a.phi, a.r, a.c), (*b.phi, b.r, b.c), strict=True):
            assert np.array_equal(left, right)
        for mine, other in ((a.state, b.state), (a.traces, b.traces)):
            assert mine.keys() == other.keys()
            assert all(np.array_equal(mine[name], other[name]) for name in mine)
