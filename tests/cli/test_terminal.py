"""A stranger's words do not command a terminal, in whatever command they are shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("typer")
import pgbn
from pgbn.cli import run_command
from pgbn.errors import printable
from tests.helpers.trained import X, model_of

EVIL = "\x1b[31m\x07\x7f\x9b2J\u202e\r"


@pytest.mark.parametrize("words", [["topics"], ["generate"], ["info"], ["explain"], ["resume"]])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_commands(
    words: list[str], form: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"{EVIL}{v}" for v in range(12)]
    folder = tmp_path / "model\x1b[31m"
    model = model_of().with_labels({(1, 0): EVIL})
    pgbn.save(model, folder, vocabulary=names, record={"note": EVIL}, data=X)
    run_command([*words, str(folder), *form])
    shown = capsys.readouterr()
    for text in (shown.out, shown.err):
        assert not set(EVIL) & set(text) - set("[31m2J")
    if form and words == ["topics"]:
        assert set(json.loads(shown.out)[0]["terms"]) <= set(names)


def test_errors_and_notes() -> None:
    assert str(pgbn.DataError(f"file {EVIL}")).isprintable()
    assert printable("a\nb\tc", one_line=True) == r"a\nb\tc"
    assert printable("Größe ñ 漢") == "Größe ñ 漢"
