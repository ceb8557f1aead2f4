"""A checkpoint says where it was written, and resuming it elsewhere says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import checkpoint
from pgbn.training.checkpoints import another_machine, this_machine
from tests.helpers.saved import forge
from tests.helpers.short_training import QUICK, X


def stopped(folder: Path) -> Path:
    def fail(event: pgbn.Progress) -> None:
        if event.done == 3:
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        checkpoint.train(X, folder, 6, 1, sweeps=1, share=1e9, callback=fail, **QUICK)
    return folder


def test_only_what_changes_bits_is_said() -> None:
    here = this_machine()
    assert another_machine(here) == another_machine(None) == another_machine([1]) == ""
    assert another_machine({**here, "processor": "another", "numpy": "0", "libc": "musl"}) == ""
    assert another_machine({**here, "machine": "arm64"}).startswith("machine was 'arm64' and is")
    assert "pgbn was '9.9'" in another_machine({**here, "pgbn": "9.9"})
    assert "\x1b" not in another_machine({**here, "pgbn": "\x1b[2J" * 99})


def test_resumed_elsewhere(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    folder = stopped(tmp_path / "m")
    assert checkpoint.read_checkpoint(folder).machine == this_machine()

    def moved(body: Any) -> None:
        body["content"]["object"]["machine"]["machine"] = "arm64"

    forge(folder, moved)
    recwarn.clear()
    with pytest.warns(pgbn.errors.PgbnWarning, match="machine was 'arm64'"):
        pgbn.resume(folder, progress=False)


def test_an_update_of_libraries_while_training_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files that tell versions were read at each checkpoint: where they, or the interpreter's
    own, were gone, or too many were open, training ended."""
    this_machine.cache_clear()

    def gone(*_: Any, **__: Any) -> Any:
        raise FileNotFoundError(2, "No such file or directory")

    def update(event: pgbn.Progress) -> None:
        monkeypatch.setattr("importlib.metadata.distribution", gone)
        monkeypatch.setattr("platform.libc_ver", gone)

    checkpoint.train(X, tmp_path, 6, 1, sweeps=1, share=1e9, callback=update, **QUICK)
    assert this_machine()["numpy"] == np.__version__
