"""Running commands, and reading what they print."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

pytest.importorskip("typer")
pytest.importorskip("sklearn")
from pgbn.cli import run_command

FAST = ["--burn-in", "20", "--sweeps", "10", "--max-width", "8", "--depth", "2"]


Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch


def run(words: Iterable[object]) -> int:
    """The exit code of a command."""
    return run_command([str(word) for word in words])


def rejected(capsys: Capture, words: Iterable[object], code: int = 1) -> str:
    """What a command that fails says."""
    capsys.readouterr()
    assert run(words) == code
    return capsys.readouterr().err


def ask(capsys: Capture, *words: object) -> Any:
    """The JSON that a command prints."""
    capsys.readouterr()
    code = run([*words, "--json"])
    shown = capsys.readouterr()
    assert code == 0, shown.err
    return json.loads(shown.out)
