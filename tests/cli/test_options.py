"""The command line: its help, its options, words of any kind, as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import pgbn
from pgbn.cli import app
from pgbn.cli.options import Counting
from pgbn.errors import StorageError
from tests.cli import reference
from tests.helpers.commands import Capture, Patch, rejected, run
from tests.helpers.hostile import campaign
from tests.helpers.hostile_commands import FAST, TEXT, command, ends_well, make_model


@pytest.mark.parametrize("words", [
    ["transform", "MODEL", "TEXTS", "-o", "no/x.csv"], ["report", "MODEL", "-o", "no/x.html"],
    ["perplexity", "MODEL", "TEXTS", "--input-format", "xyz"],
])  # fmt: skip
def test_nothing_is_done_before_the_target_is_known_to_be_there(
    place: Path, tmp_path: Path, monkeypatch: Patch, words: list[str]
) -> None:
    def work(*arguments: Any, **options: Any) -> None:
        pytest.fail("the model was read")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pgbn.cli.models.open_model", work)
    known = {"MODEL": place / "model", "TEXTS": place / "texts"}
    assert run([known.get(word, word) for word in words]) in (1, 2)


@pytest.mark.parametrize("words", [
    ["fit", "COUNTS", "-o", ""], ["fit", ""], ["fit", "COUNTS", "--output="], ["topics", ""],
    ["corpus", "build", "COUNTS", "-o", ""], ["sample", "net.json", ""],
])  # fmt: skip
def test_an_empty_word_is_not_the_folder_one_is_in(
    place: Path, tmp_path: Path, monkeypatch: Patch, words: list[str],
    capsys: Capture,
) -> None:  # fmt: skip
    """``-o "$MODEL"`` with a variable that is not set wrote a model there."""
    monkeypatch.chdir(tmp_path)
    assert "an empty argument; is a variable" in rejected(
        capsys, [place / "counts.mtx" if word == "COUNTS" else word for word in words], 2
    )
    assert not list(tmp_path.iterdir())


def test_a_title_may_be_empty(place: Path, tmp_path: Path) -> None:
    page = ["-o", str(tmp_path / "page.html")]
    assert run(["report", place / "model", *page, "--title", ""]) == 0
    assert run(["report", place / "model", *page, "--title="]) == 0


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path: Path, capsys: Capture) -> None:
    """Editors of Windows write one; stop words lost their first word."""
    words = tmp_path / "words.txt"
    words.write_text("the\nand\n", "utf-8-sig")
    assert Counting(stop_words=str(words)).options()["stop_words"] == ["the", "and"]
    network = tmp_path / "net.json"
    network.write_text(pgbn.zoo.pfa(2).to_json(), "utf-8-sig")
    assert run(["explain", network]) == 0
    network.write_text(pgbn.zoo.pfa(2).to_json(), "utf-16")
    assert "net.json: not utf-8 at byte 0; it begins like utf-16" in rejected(
        capsys, ["explain", network]
    )


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_nothing_but_the_name_shows_the_help(capsys: Capture, words: list[str]) -> None:
    assert run(words) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("Usage: pgbn")
    assert "..." not in shown.out.partition("Commands:")[2]  # every command is told in full
    assert shown.err == ""


@pytest.mark.parametrize("command", [
    "demo", "fit", "resume", "info", "topics", "transform", "perplexity", "generate", "explain",
    "report", "sample", "infer", "warm",
])  # fmt: skip
def test_help_has_an_example(command: str, capsys: Capture) -> None:
    assert run([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert "Example" in text
    assert f"pgbn {command}" in text
    assert "--json" in text
    assert "--debug" in text


def test_the_page_of_the_command_line_is_that_of_the_commands() -> None:
    """``python -m tests.cli.reference`` writes it."""
    assert reference.PAGE.read_text("utf-8") == reference.page()


def test_options_are_completed() -> None:
    wanted = {
        "_PGBN_COMPLETE": "complete_bash",
        "COMP_WORDS": "pgbn topics --re",
        "COMP_CWORD": "2",
    }
    command = [sys.executable, "-m", "pgbn"]
    done = subprocess.run(
        command, env={**os.environ, **wanted}, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["--relevance"]


def test_as_a_process() -> None:
    command = [sys.executable, "-m", "pgbn"]
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"pgbn {pgbn.__version__}\n"
    done = subprocess.run([*command, "topics"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("pgbn: ")


def test_without_typer() -> None:
    code = (
        "import sys; sys.modules['typer'] = None; from pgbn.__main__ import main; sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "pgbn: the command needs typer: pip install 'pgbn[cli]'\n"


def test_versions(monkeypatch: Patch, capsys: Capture) -> None:
    shown = "pgbn 1\nnumpy 2"
    monkeypatch.setattr("pgbn.versions.show_versions", lambda: print(shown), raising=False)
    assert run(["--versions"]) == 0
    assert capsys.readouterr().out.strip() == shown


def test_the_help_waits_for_no_compiler() -> None:
    """The modules that take long to import are not needed for it."""
    code = (
        "import sys; from pgbn.cli import run_command; run_command(['fit', '--help'])\n"
        "print([name for name in ('numba', 'networkx', 'sklearn', 'pgbn.engine') "
        "if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.fixture(scope="module")
def hostile_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("hostile"))


VALUES = ["0", "-1", "1000000000", "10" * 20, "2.5", "True", "a", "nan", "inf", "", "\ud800", "1,2",
          ",", "\x00", "1e400", "x" * 300]  # fmt: skip

FIT = ("--max-width", "--depth", "--eta", "--link", "--seed", "--threads", "--input-format", "--text-column",
       "--name-column", "--encoding", "--terms", "--min-df", "--max-df", "--max-features",
       "--stop-words", "--token-pattern", "--ngrams", "--minutes")  # fmt: skip

USE = [("topics", "--layer"), ("topics", "--top"), ("topics", "-n"), ("generate", "-n"),
       ("generate", "--length"), ("generate", "-c"), ("generate", "--seed"),
       ("explain", "--format"), ("perplexity", "--fraction"), ("transform", "--layer"),
       ("transform", "--seed"), ("transform", "--threads"), ("transform", "--encoding"),
       ("transform", "--terms")]  # fmt: skip


@campaign(250)
@given(st.sampled_from(FIT), st.sampled_from(VALUES), st.sampled_from(FIT), st.sampled_from(VALUES))
def test_options_of_fit(hostile_place: Path, one: str, value: str, other: str, second: str) -> None:
    ends_well(
        "fit",
        hostile_place / "d.txt",
        "-o",
        hostile_place / "fitted",
        *FAST,
        one,
        value,
        other,
        second,
    )


@campaign(150)
@given(st.sampled_from(USE), st.sampled_from(VALUES))
def test_options_of_other_commands(hostile_place: Path, use: tuple[str, str], value: str) -> None:
    data = [hostile_place / "d.txt"] if use[0] in ("perplexity", "transform") else []
    ends_well(use[0], hostile_place / "model", *data, use[1], value)


@pytest.mark.parametrize("path", ["\x00", "\ud800", "", "x" * 5000, "d.txt", "nowhere/x"])
def test_paths(hostile_place: Path, path: str, monkeypatch: Patch) -> None:
    monkeypatch.chdir(hostile_place)
    for name in ("info", "topics", "generate", "explain", "resume"):
        code, line = command(name, path)
        assert code in (1, 2)
        assert line.startswith("pgbn: ")
        assert "a bug?" not in line
    ends_well("fit", path, "-o", "fitted", *FAST)
    ends_well("fit", "d.txt", "-o", path, *FAST)
    ends_well("report", "model", "-o", f"{path}")
    ends_well("transform", "model", "d.txt", "-o", f"{path}.csv")
    (hostile_place / "d.txt").write_text(
        TEXT, "utf-8"
    )  # the report may have taken its hostile_place


def test_the_same_through_typer(hostile_place: Path) -> None:
    result = CliRunner().invoke(app, ["topics", str(hostile_place / "nowhere")])
    assert isinstance(result.exception, StorageError)
    assert CliRunner().invoke(app, ["fit"]).exit_code == 2
    assert CliRunner().invoke(app, ["--version"]).output == f"pgbn {pgbn.__version__}\n"
