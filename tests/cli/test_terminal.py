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


def test_a_term_of_several_lines_forges_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"{v}\npgbn: all\tis well" for v in range(12)]
    pgbn.save(model_of(), tmp_path / "model", vocabulary=names, data=X)
    for command in ("topics", "generate"):
        assert run_command([command, str(tmp_path / "model")]) == 0
        shown = capsys.readouterr().out
        assert "\\npgbn: all\\tis well" in shown
        assert "\npgbn" not in shown
        assert "\t" not in shown


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_commands_that_read_documents(
    form: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Labels, terms and paths of a stranger: fit, transform, perplexity, report, demo."""
    pytest.importorskip("sklearn")
    table, model = tmp_path / "texts\x1b[31m.csv", tmp_path / "model\x1b[31m"
    texts = ["ship wave storm sail", "butter flour oven", "ship sail butter", "flour oven storm"]
    rows = "".join(f'"{EVIL}{n}","{text} {EVIL}x"\n' for n, text in enumerate(texts))
    table.write_bytes(f"{EVIL.rstrip()}id,text\n{rows}".encode())
    few = ["--label", f"{EVIL.rstrip()}id", "--burn-in", "2", "--collect", "1", "--max-width", "3",
           "--depth", "1", "--min-df", "1", "--max-df", "1.0",
           "--token-pattern", r"(?u)\S+"]  # fmt: skip
    label = ["--label", f"{EVIL.rstrip()}id"]
    codes = [
        run_command([*words, *form])
        for words in (
            ["fit", str(table), "-o", str(model), *few],
            ["transform", str(model), str(table), *label, "-o", str(tmp_path / "h\x1b[2J.csv")],
            ["perplexity", str(model), str(table), *label],
            ["report", str(model), "-o", str(tmp_path / "page\x1b[2J.html")],
            ["demo", "-o", str(table)],  # a file where a folder is to be
            ["demo", EVIL],
            ["topics", str(model)],
        )
    ]
    shown = capsys.readouterr()
    assert codes[0] == codes[-1] == 0
    assert len([code for code in codes if code]) == 2
    for text in (shown.out, shown.err):
        assert not set(EVIL) & set(text) - set("[31m2J")
    assert "\\u001b[31m" in shown.out + shown.err


def test_errors_and_notes() -> None:
    assert str(pgbn.DataError(f"file {EVIL}")).isprintable()
    assert str(pgbn.DataError("half \ud800")) == r"half \ud800"  # that can be printed
    assert printable("a\nb\tc", one_line=True) == r"a\nb\tc"
    assert printable("Größe ñ 漢") == "Größe ñ 漢"
