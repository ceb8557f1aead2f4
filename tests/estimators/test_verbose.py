"""The lines of ``verbose``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("sklearn")

import pgbn
from pgbn.estimators.verbose import Reporter


def test_a_line_is_one_line_and_commands_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    chain = SimpleNamespace(network=pgbn.zoo.pgbn([3, 2]))
    event: Any = SimpleNamespace(chain=chain, depth=2, phase="\x1b[2J\n", sweep=5, sweeps=5)
    Reporter(1)(event)
    assert capsys.readouterr().out == "[pgbn] layer 2, \\u001b[2J\\n 5/5, width 2\n"
    Reporter(0)(event)
    assert capsys.readouterr().out == ""
