"""Running commands, and reading what they print."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("typer")
pytest.importorskip("sklearn")
from pgbn.cli import run_command as run

FAST = ["--burn-in", "20", "--collect", "10", "--max-width", "8", "--depth", "2"]


def ask(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    """The JSON that a command prints."""
    capsys.readouterr()
    code = run([*map(str, words), "--json"])
    shown = capsys.readouterr()
    assert code == 0, shown.err
    return json.loads(shown.out)
