"""Options are checked before any work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer")
pytest.importorskip("sklearn")
from pgbn.cli import run_command as run


@pytest.mark.parametrize("words", [
    ["transform", "MODEL", "TEXTS", "-o", "no/x.csv"], ["report", "MODEL", "-o", "no/x.html"],
    ["perplexity", "MODEL", "TEXTS", "--format", "xyz"],
])  # fmt: skip
def test_nothing_is_done_before_the_target_is_known_to_be_there(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    def work(*arguments: Any, **options: Any) -> None:
        pytest.fail("the model was read")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pgbn.cli.models.open_model", work)
    known = {"MODEL": place / "model", "TEXTS": place / "texts"}
    assert run([str(known.get(word, word)) for word in words]) in (1, 2)


def test_choices_are_listed_once(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", str(place / "model"), "--format", "word"]) == 2
    assert capsys.readouterr().err.count("markdown") == 1
    assert run(["explain", str(place / "model"), "--format", "latx"]) == 2
    assert "Did you mean 'latex'?" in capsys.readouterr().err
