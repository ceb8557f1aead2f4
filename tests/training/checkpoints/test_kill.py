"""A training that is killed at any moment loses nothing but the sweeps since its last checkpoint."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("random_kills", [8, pytest.param(30, marks=pytest.mark.long)])
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs os.pidfd_open")
def test_kills(tmp_path: Path, random_kills: int) -> None:
    """SIGKILL in each system call of a write, and at random moments: the last complete checkpoint
    loads, is a state of the uninterrupted chain, and the end is the uninterrupted one's."""
    script = Path(__file__).parents[2] / "helpers" / "killed_trainer.py"
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "model"), str(random_kills), "1"],
        capture_output=True, text=True, timeout=300, env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["wrong"] == []
    assert (
        report["kills"] >= 18 + random_kills * 2 // 3
    )  # a run may come to its end first, on a fast machine
    assert report["loaded"] >= 18
    assert report["mid_write"] >= 15
    assert report["finished"] >= 1
