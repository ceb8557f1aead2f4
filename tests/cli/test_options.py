"""Options are checked before any work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer")
pytest.importorskip("sklearn")
import pgbn
from pgbn.cli import run_command as run
from pgbn.cli.options import Counting


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


@pytest.mark.parametrize("words", [
    ["fit", "COUNTS", "-o", ""], ["fit", ""], ["fit", "COUNTS", "--output="], ["topics", ""],
    ["corpus", "build", "COUNTS", "-o", ""], ["sample", "net.json", ""],
])  # fmt: skip
def test_an_empty_word_is_not_the_folder_one_is_in(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """``-o "$MODEL"`` with a variable that is not set wrote a model there."""
    monkeypatch.chdir(tmp_path)
    assert run([str(place / "counts.mtx") if word == "COUNTS" else word for word in words]) == 2
    assert "an empty argument; is a variable" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_title_may_be_empty(place: Path, tmp_path: Path) -> None:
    page = ["-o", str(tmp_path / "page.html")]
    assert run(["report", str(place / "model"), *page, "--title", ""]) == 0
    assert run(["report", str(place / "model"), *page, "--title="]) == 0


def test_a_byte_order_mark_is_no_part_of_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Editors of Windows write one; stop words lost their first word."""
    words = tmp_path / "words.txt"
    words.write_text("the\nand\n", "utf-8-sig")
    assert Counting(stop_words=str(words)).options()["stop_words"] == ["the", "and"]
    network = tmp_path / "net.json"
    network.write_text(pgbn.zoo.pfa(2).to_json(), "utf-8-sig")
    assert run(["explain", str(network)]) == 0
    network.write_text(pgbn.zoo.pfa(2).to_json(), "utf-16")
    assert run(["explain", str(network)]) == 1
    assert "net.json: not utf-8 at byte 0; it begins like utf-16" in capsys.readouterr().err
