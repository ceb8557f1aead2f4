"""When checkpoints are written, and to which files."""

from __future__ import annotations

import errno
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import checkpoint
from pgbn.engine.run.progress import Event
from pgbn.storage import folders, runner
from tests.helpers.saved import same_networks as same
from tests.helpers.small_data import counts


def test_the_cost_of_checkpoints_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write of 1 s in sweeps of 0.1 s: at most one in 20 s, whatever the user asks for."""
    clock, real = [0.0], runner.write
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    written: list[float] = []

    def write(*arguments: Any) -> dict[str, str]:
        clock[0] += 1.0
        written.append(clock[0])
        return real(*arguments)

    def sweep(event: Event) -> None:
        clock[0] += 0.1

    monkeypatch.setattr(runner, "write", write)
    checkpoint.train(counts(), tmp_path, 3, 1, burn_in=999, collect=1, sweeps=1, share=0.05,
                     callback=sweep, progress=False)  # fmt: skip
    assert 4 <= len(written) <= 6
    assert min(np.diff(written)) >= 20.0


def test_a_full_disk_does_not_end_a_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, full = runner.write, [True]

    def write(*arguments: Any) -> Any:
        if full[0] and arguments[1] == "checkpoint":
            raise pgbn.StorageError("No space left on device")
        return real(*arguments)

    monkeypatch.setattr(runner, "write", write)
    options = {"burn_in": 3, "collect": 2, "sweeps": 1, "share": 1e9}
    with pytest.warns(pgbn.PgbnWarning, match="the run goes on: No space left"):
        checkpoint.train(counts(), tmp_path / "m", 5, 1, **options)
    assert pgbn.load(tmp_path / "m").deepest.depth == 1


def test_a_full_disk_at_the_end_keeps_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result cannot be written: the error says how to get it all the same."""
    real, full = runner.write, [True]

    def write(*arguments: Any) -> Any:
        if full[0] and arguments[1] != "checkpoint":
            reason = OSError(errno.ENOSPC, "No space left on device")
            raise pgbn.StorageError("No space left on device") from reason
        return real(*arguments)

    monkeypatch.setattr(runner, "write", write)
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


def test_kept_columns_survive_a_stop(tmp_path: Path) -> None:
    """They are in every checkpoint, written once, and in the result."""
    columns = {"text": [f"text {j}" for j in range(len(counts()))]}
    names = set()

    def stop(event: Event) -> None:
        names.update(path.name for path in (tmp_path / "m").glob("columns-*.npz"))
        if event.done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        checkpoint.train(counts(), tmp_path / "m", 5, 1, burn_in=3, collect=3, sweeps=1, share=1e9,
                         columns=columns, callback=stop)  # fmt: skip
    pgbn.resume(tmp_path / "m")
    assert folders.open_saved(tmp_path / "m").columns == columns
    assert len(names) == 1
    with pytest.raises(pgbn.DataError, match=r"columns\['text'\]: 1 entries for"):
        checkpoint.train(counts(), tmp_path / "n", 5, 1, columns={"text": ["a"]})
