"""A checkpoint says where it was written, and resuming it elsewhere says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pgbn
from pgbn import checkpoint
from pgbn.training.checkpoints.machine import another_machine, this_machine
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
        body["content"]["machine"]["machine"] = "arm64"

    forge(folder, moved)
    recwarn.clear()
    with pytest.warns(pgbn.errors.PgbnWarning, match="machine was 'arm64'"):
        pgbn.resume(folder, progress=False)
