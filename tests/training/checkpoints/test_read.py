"""Going on from a checkpoint is the training without the stop."""

from __future__ import annotations

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
from pgbn import checkpoint
from pgbn.engine.run.progress import Event
from pgbn.storage import folders
from pgbn.storage.stopping import Interrupted
from tests.helpers.saved import same_networks as same
from tests.helpers.small_data import counts


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
        checkpoint.read_checkpoint(tmp_path / "m")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_while_the_result_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """All sweeps are done: the result is saved, and the caller hears of the signal."""
    save = folders.save

    def signalled(*arguments: Any, **more: Any) -> None:
        os.kill(os.getpid(), getattr(signal, name))
        save(*arguments, **more)

    monkeypatch.setattr(folders, "save", signalled)
    with pytest.raises(Interrupted, match="training was done; it is saved") as stopped:
        checkpoint.train(counts(), tmp_path / "m", 4, 1, burn_in=3, collect=2)
    assert stopped.value.signal == getattr(signal, name)
    assert pgbn.load(tmp_path / "m").deepest.depth == 1


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_to_the_command(tmp_path: Path, name: str, code: int) -> None:
    """A real process and a real signal: its exit code, a checkpoint, and the way to go on."""
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
    os.kill(process.pid, getattr(signal, name))
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    assert "pgbn resume" in errors.splitlines()[-1]
    at = checkpoint.read_checkpoint(tmp_path / "m").progress
    assert 1 <= at.sweep < 2000
    assert f"sweep {at.done} of 2002" in errors


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
