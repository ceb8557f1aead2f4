"""Tables with a line for each row."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")
from pgbn.cli.models import named_rows, print_table, save_rows

TABLE = np.array([[1.0, 2.5], [1 / 3, np.nan]])


def test_a_name_of_several_lines_is_one_line_in_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_table(TABLE[:1], ["c", "d"], ["e\npgbn: all is well"], "doc")
    assert capsys.readouterr().out == "doc,c,d\ne\\npgbn: all is well,1,2.5\n"


def test_files_have_names_as_they_are(tmp_path: Path) -> None:
    save_rows(tmp_path / "t.csv", ["doc", "a,b", "c\x1b"], named_rows(["one", "zwö"], TABLE))
    text = (tmp_path / "t.csv").read_text("utf-8")
    assert text == 'doc,"a,b",c\x1b\none,1,2.5\nzwö,0.333333,nan\n'


@pytest.mark.parametrize("terminal", [False, True])
def test_a_terminal_is_not_commanded(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    print_table(TABLE[:1], ["c\x1b", "d"], ["e\x1b"], "doc")
    shown = capsys.readouterr().out
    assert shown == (
        "doc,c\\u001b,d\ne\\u001b,1,2.5\n" if terminal else "doc,c\x1b,d\ne\x1b,1,2.5\n"
    )
