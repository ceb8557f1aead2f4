"""Checkpoints: what is written, when, and what Ctrl-C or a full disk leaves."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import checkpoint, zoo
from pgbn.engine.run.progress import Event, Interrupted
from pgbn.training.checkpoints import write as checkpoint_writer
from tests.helpers.small_data import counts


def test_events_of_training() -> None:
    events: list[pgbn.Progress] = []
    pgbn.train_layerwise(
        counts(), 6, 2, burn_in=[4, 3], collect=[2, 1], min_width=1, callback=events.append
    )
    assert [e.done for e in events] == list(range(1, 11))
    assert [e.depth for e in events] == [1] * 6 + [2] * 4
    assert {e.total for e in events} == {10}
    assert [e.phase for e in events][-2:] == ["burn_in", "collect"]


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


def test_the_cost_of_checkpoints_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write of 1 s in sweeps of 0.1 s: at most one in 20 s, whatever the user asks for."""
    clock = [0.0]
    monkeypatch.setattr(checkpoint_writer.time, "monotonic", lambda: clock[0])
    writer = checkpoint.Checkpoints(tmp_path, {}, sweeps=1, share=0.05)
    written: list[float] = []

    def write(*arguments: Any) -> dict[str, str]:
        clock[0] += 1.0
        written.append(clock[0])
        return {"data": "d", "model": "m"}

    monkeypatch.setattr(checkpoint_writer.archive, "write", write)
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
    real, full = checkpoint_writer.archive.write, [True]

    def write(*arguments: Any) -> Any:
        if full[0] and arguments[1] == "checkpoint":
            raise pgbn.StorageError("No space left on device")
        return real(*arguments)

    monkeypatch.setattr(checkpoint_writer.archive, "write", write)
    options = {"burn_in": 3, "collect": 2, "sweeps": 1, "share": 1e9}
    with pytest.warns(pgbn.PgbnWarning, match="training goes on: No space left"):
        checkpoint.train(counts(), tmp_path / "m", 5, 1, **options)
    assert pgbn.load(tmp_path / "m").deepest.depth == 1


def test_a_full_disk_at_the_end_keeps_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result cannot be written: the error says how to get it all the same."""
    real, full = checkpoint_writer.archive.write, [True]

    def write(*arguments: Any) -> Any:
        if full[0] and arguments[1] != "checkpoint":
            reason = OSError(errno.ENOSPC, "No space left on device")
            raise pgbn.StorageError("No space left on device") from reason
        return real(*arguments)

    monkeypatch.setattr(checkpoint_writer.archive, "write", write)
    monkeypatch.setattr(checkpoint_writer.folders, "write", write)
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
