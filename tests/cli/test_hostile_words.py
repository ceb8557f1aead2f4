"""Command lines of any words: never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("typer")
pytest.importorskip("sklearn")
from typer.testing import CliRunner

import pgbn
from pgbn.cli import app
from pgbn.errors import StorageError
from tests.helpers.hostile import campaign
from tests.helpers.hostile_commands import FAST, TEXT, command, ends_well, make_model


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("hostile"))


VALUES = ["0", "-1", "1000000000", "10" * 20, "2.5", "True", "a", "nan", "inf", "", "\ud800", "1,2",
          ",", "\x00", "1e400", "x" * 300]  # fmt: skip


FIT = ("--max-width", "--depth", "--eta", "--link", "--seed", "--threads", "--format", "--column",
       "--label", "--encoding", "--terms", "--min-df", "--max-df", "--max-features",
       "--stop-words", "--token-pattern", "--ngrams", "--minutes")  # fmt: skip


USE = [("topics", "--layer"), ("topics", "--top"), ("topics", "-n"), ("generate", "-n"),
       ("generate", "--length"), ("generate", "-c"), ("generate", "--seed"),
       ("explain", "--format"), ("perplexity", "--fraction"), ("transform", "--layer"),
       ("transform", "--seed"), ("transform", "--threads"), ("transform", "--encoding"),
       ("transform", "--terms")]  # fmt: skip


@campaign(250)
@given(st.sampled_from(FIT), st.sampled_from(VALUES), st.sampled_from(FIT), st.sampled_from(VALUES))
def test_options_of_fit(place: Path, one: str, value: str, other: str, second: str) -> None:
    ends_well("fit", place / "d.txt", "-o", place / "fitted", *FAST, one, value, other, second)


@campaign(150)
@given(st.sampled_from(USE), st.sampled_from(VALUES))
def test_options_of_other_commands(place: Path, use: tuple[str, str], value: str) -> None:
    data = [place / "d.txt"] if use[0] in ("perplexity", "transform") else []
    ends_well(use[0], place / "model", *data, use[1], value)


@pytest.mark.parametrize("path", ["\x00", "\ud800", "", "x" * 5000, "d.txt", "nowhere/x"])
def test_paths(place: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    for name in ("info", "topics", "generate", "explain", "resume"):
        code, line = command(name, path)
        assert code in (1, 2)
        assert line.startswith("pgbn: ")
        assert "a bug?" not in line
    ends_well("fit", path, "-o", "fitted", *FAST)
    ends_well("fit", "d.txt", "-o", path, *FAST)
    ends_well("report", "model", "-o", f"{path}")
    ends_well("transform", "model", "d.txt", "-o", f"{path}.csv")
    (place / "d.txt").write_text(TEXT, "utf-8")  # the report may have taken its place


def test_the_same_through_typer(place: Path) -> None:
    result = CliRunner().invoke(app, ["topics", str(place / "nowhere")])
    assert isinstance(result.exception, StorageError)
    assert CliRunner().invoke(app, ["fit"]).exit_code == 2
    assert CliRunner().invoke(app, ["--version"]).output == f"pgbn {pgbn.__version__}\n"


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["fit", "no", "-o", "m"], ["what"]])
def test_as_a_program(words: list[str], tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "pgbn", *words], cwd=tmp_path, text=True,
                          capture_output=True, env={**os.environ, "NO_COLOR": "1"})  # fmt: skip
    assert done.returncode == {"--help": 0, "--version": 0, "fit": 1, "what": 2}[words[0]]
    assert "Traceback" not in done.stderr
    assert done.stdout if done.returncode == 0 else done.stderr.startswith("pgbn: ")
