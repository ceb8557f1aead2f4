"""The command as a whole: its help, its versions, as a process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("sklearn")
import pgbn
from pgbn.cli import run_command as run


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_nothing_but_the_name_shows_the_help(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert run(words) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("Usage: pgbn")
    assert "..." not in shown.out.partition("Commands:")[2]  # every command is told in full
    assert shown.err == ""


@pytest.mark.parametrize("command", [
    "demo", "fit", "resume", "info", "topics", "transform", "perplexity", "generate", "explain",
    "report", "sample", "infer", "warm",
])  # fmt: skip
def test_help_has_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert "Example" in text
    assert f"pgbn {command}" in text


def test_as_a_process(place: Path) -> None:
    """`python -m pgbn`, its exit codes, and a reader that closes the pipe early."""
    command = [sys.executable, "-m", "pgbn"]
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"pgbn {pgbn.__version__}\n"
    done = subprocess.run([*command, "topics"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    pipe = f"{sys.executable} -m pgbn transform {place / 'model'} {place / 'texts'} | head -1"
    done = subprocess.run(["sh", "-c", pipe], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("document,")
    assert "Traceback" not in done.stderr


def test_without_typer() -> None:
    code = (
        "import sys; sys.modules['typer'] = None; from pgbn.__main__ import main; sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "pgbn: the command needs typer: pip install 'pgbn[cli]'\n"


def test_versions(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
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
