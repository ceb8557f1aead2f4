"""What the command says when something is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer")
pytest.importorskip("sklearn")
import pgbn
from pgbn.cli import run_command as run
from pgbn.cli.console import Output, guarded, output
from tests.helpers.commands import FAST


@pytest.mark.parametrize(("words", "code", "says"), [
    (["topics", "nowhere"], 1, "nowhere: no saved model there"),
    (["topics", "MODEL", "--layer", "9"], 1, "layers are numbered from 1 to 2"),
    (["topics", "MODEL", "--layer", "x"], 2, "layer"),
    (["topics", "MODEL", "--top", "0"], 2, "top"),
    (["topic"], 2, "topic"),
    (["fit"], 2, "see pgbn fit --help"),
    (["fit", "TEXTS", "-o", "MODEL"], 1, "there is a model already"),
    (["fit", "TEXTS", "-o", "NEW", "--burn-in", "many"], 2, "--burn-in 'many'"),
    (["fit", "TEXTS", "-o", "NEW", "--burn-in", "5,5"], 2, "--burn-in=[5, 5]: give one number, or one for each of 3 layers"),
    (["fit", "TEXTS", "-o", "NEW", "--eta", "1,1,1,1"], 2, "--eta=[1.0, 1.0, 1.0, 1.0]: give one number"),
    (["fit", "TEXTS", "-o", "NEW", "--minutes", "-1"], 2, "minutes': -1 is not"),
    (["fit", "TEXTS", "-o", "NEW", "--minutes", "nan"], 2, "minutes': nan is not"),
    (["fit", "TEXTS", "-o", "NEW", "--column", "review"], 1, "column='review'"),
    (["fit", "PLAIN", "-o", "NEW", "--label", "id"], 1, "label='id'"),
    (["fit", "TEXTS", "-o", "NEW", "--terms", "PLAIN"], 1, "has texts"),
    (["fit", "COUNTS", "-o", "NEW", "--max-features", "9"], 1, "--max-features: only for texts"),
    (["fit", "COUNTS", "-o", "NEW", "--stop-words", "none"], 1, "--stop-words: only for texts"),
    (["fit", "TEXTS", "-o", "NEW", "--collect", "0"], 2, "--collect=0 must be an integer of at least 1"),
    (["fit", "TEXTS", "-o", "NEW", "--ngrams", "0"], 2, "'--ngrams'"),
    (["transform", "MODEL", "TEXTS", "--samples", "0"], 2, "'--samples'"),
    (["resume", "MODEL", "--minutes", "nan"], 2, "minutes': nan is not"),
    (["demo", "-o", "MODEL"], 1, "not of the demo"),
    (["demo", "-o", "NEW", "--sweeps", "0"], 2, "'--sweeps'"),
    (["report", "MODEL", "MODEL"], 1, "the same chain as"),
    (["fit", "TEXTS", "-o", "NEW", "--depth", "0"], 2, "'--depth'"),
    (["fit", "TEXTS", "-o", "NEW", "--max-width", "-3"], 2, "--max-width=-3 must be an integer"),
    (["fit", "TEXTS", "-o", "NEW", "--max-width", "9,0"], 2, "--max-width=[9, 0] must hold integers"),
    (["fit", "TEXTS", "-o", "NEW", "--eta", "-1"], 2, "--eta=-1.0 must be positive and finite"),
    (["fit", "TEXTS", "-o", "NEW", "--link", "cauchy"], 2, "--link='cauchy'"),
    (["fit", "TEXTS", "-o", "NEW", "--seed", "-1"], 2, "seed=-1"),
    (["fit", "TEXTS", "-o", "NEW", "--threads", "0"], 2, "'--threads'"),
    (["fit", "TEXTS", "-o", "NEW", "--min-df", "lots"], 2, "--min-df 'lots'"),
    (["fit", "TEXTS", "-o", "NEW", "--stop-words", "klingon"], 2, "--stop-words klingon"),
    (["fit", "TEXTS", "-o", "NEW", "--stop-words", "deutsch"], 2, "finnish, french, german, "),
    (["report", "MODEL", "-o", "x.csv"], 2, "must end in .html"),
    (["fit", "nowhere", "-o", "NEW"], 1, "no such file"),
    (["fit", "nowhere", "-o", "PLAIN"], 1, "plain.txt is a file); name a folder"),
    (["fit", "nowhere", "-o", "PLAIN/new"], 1, "plain.txt is a file); name a folder"),
    (["transform", "MODEL", "TEXTS", "-o", "x.doc"], 2, "must end in .csv"),
    (["transform", "MODEL", "TEXTS", "--layer", "1", "--concat"], 2, "--layer 1 is one layer"),
    (["transform", "MODEL", "TEXTS", "-o", "no/x.csv"], 1, "no/x.csv: could not be written (no"),
    (["transform", "MODEL", "TEXTS", "--layer", "0"], 2, "'--layer'"),
    (["transform", "MODEL", "TEXTS", "--format", "xyz"], 2, "'xyz' is none of the choices. Known: csv, folder"),
    (["perplexity", "MODEL", "TEXTS", "--encoding", "nonsense"], 2, "unknown encoding: nonsense"),
    (["topics", "MODEL", "--layer", "0"], 2, "'--layer'"),
    (["perplexity", "MODEL", "TEXTS", "--fraction", "2"], 2, "fraction': 2 does not lie between 0 and 1"),
    (["generate", "MODEL", "--c", "mode"], 2, "'mode' is none of the choices"),
    (["explain", "MODEL", "--format", "word"], 2, "'word' is none of the choices. Known: html, latex"),
    (["explain", "PLAIN"], 1, "plain.txt"),
    (["report", "MODEL", "-o", "nowhere/r.html"], 1, "nowhere/r.html: could not be written (no"),
    (["report", "MODEL", "-o", "."], 1, "it is a folder"),
    (["fit", "TEXTS", "-o", "NEW", "--eta", "inf"], 2, "--eta=inf must be positive and finite"),
    (["fit", "TEXTS", "-o", "NEW", "--token-pattern", "["], 2, "'[' is no regular expression"),
    (["fit", "TEXTS", "-o", "NEW", "--min-df", "0"], 2, "--min-df 0: give a number of documents"),
    (["fit", "TEXTS", "-o", "NEW", "--max-df", "0.0"], 2, "--max-df 0.0 leaves out all terms"),
])  # fmt: skip
def test_errors_in_one_line(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
                            words: list[str], code: int, says: str,
                            monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    known = {"MODEL": place / "model", "TEXTS": place / "texts", "NEW": tmp_path / "new",
             "PLAIN": place / "plain.txt", "COUNTS": place / "counts.npz", "PLAIN/new": place / "plain.txt" / "new"}  # fmt: skip
    arguments = [str(known.get(word, word)) for word in words]
    capsys.readouterr()
    assert run(arguments) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    last = shown.err.strip().splitlines()[-1]
    assert last.startswith("pgbn: ")
    assert says in last
    assert "Traceback" not in shown.err
    assert run([*arguments, "--json"]) == code
    assert says in json.loads(capsys.readouterr().out)["error"]


def test_debug_shows_the_traceback() -> None:
    with pytest.raises(pgbn.StorageError):
        run(["topics", "nowhere", "--debug"])


def test_a_bug_is_one_line_too(capsys: pytest.CaptureFixture[str], place: Path,
                               monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    def broken(*arguments: Any) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("pgbn.evaluation.topics", broken)
    assert run(["topics", str(place / "model")]) == 1
    assert capsys.readouterr().err == "pgbn: ZeroDivisionError: oops (a bug? --debug shows where)\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("words", [["topics", "MODEL"], ["info", "MODEL", "--json"], ["--help"]])
def test_a_full_disk_behind_standard_output(place: Path, words: list[str]) -> None:
    arguments = [str(place / "model") if word == "MODEL" else word for word in words]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-m", "pgbn", *arguments], stdout=full,
                              stderr=subprocess.PIPE, text=True, check=False)  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "pgbn: [Errno 28] No space left on device\n"


def silenced(words: list[object], redirection: str) -> subprocess.CompletedProcess[str]:
    """A command of a shell, with its streams redirected."""
    line = f'exec "$@" {redirection}'
    command = ["sh", "-c", line, "sh", sys.executable, "-m", "pgbn", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize(("redirection", "code"), [
    (">&-", 1), (">/dev/full 2>/dev/full", 1), (">&- 2>&-", 1), ("2>&-", 0), ("2>/dev/full", 0),
])  # fmt: skip
def test_output_that_cannot_be_written(place: Path, redirection: str, code: int) -> None:
    """Without results a command has failed; without its notes it has not."""
    done = silenced(["info", place / "model"], redirection)
    assert done.returncode == code, done.stderr
    assert ("training" in done.stdout) == (code == 0)
    assert "Traceback" not in done.stderr
    if redirection == ">&-":
        assert "the standard output is closed" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="descriptors of POSIX")
def test_notes_without_a_standard_error_are_not_among_results(place: Path) -> None:
    done = silenced(["resume", place / "model", "--json"], "2>&-")
    assert done.returncode == 0
    assert json.loads(done.stdout)["model"] == str(place / "model")


@pytest.mark.skipif(os.name != "posix", reason="descriptors of POSIX")
@pytest.mark.parametrize("buffered", ["", "1"])
def test_a_reader_that_has_left(place: Path, buffered: str) -> None:
    """As in `pgbn topics model | head -1`: the code of SIGPIPE, and no words."""
    command = [sys.executable, "-m", "pgbn", "topics", str(place / "model")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "PYTHONUNBUFFERED": buffered}) as process:  # fmt: skip
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize(("redirection", "code"), [("2>/dev/full", 0), (">/dev/full 2>&-", 1)])
def test_a_training_is_saved_whatever_can_be_printed(
    place: Path, tmp_path: Path, redirection: str, code: int
) -> None:
    words = ["fit", place / "texts", "-o", tmp_path / "m", *FAST]
    assert silenced(words, redirection).returncode == code
    assert pgbn.load(tmp_path / "m").deepest.depth == 2


def test_a_table_in_a_pipe_has_a_line_for_each_row(capsys: pytest.CaptureFixture[str]) -> None:
    output.table("title", ("n", "words"), [(1, "a " * 200), (20, "b\nc")])
    assert capsys.readouterr().out.splitlines() == [
        "title", " n  words", " 1  " + ("a " * 200).rstrip(), "20  b\\nc",
    ]  # fmt: skip
    output.table("", ("", ""), [("key", "value")])
    assert capsys.readouterr().out == "\nkey  value\n"


@pytest.mark.parametrize("words", ["fit d.txt -o m --k 5", "fit d.txt --num-topics=5", "demo -k 5",
                                   "fit d.txt --n_components 5"])  # fmt: skip
def test_the_number_of_topics_by_other_names(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words.split()) == 2
    assert "is no option of pgbn" in (said := capsys.readouterr().err)
    assert "--max-width 100,30,10" in said


def test_the_end_of_a_file_is_no_interruption(capsys: pytest.CaptureFixture[str]) -> None:
    """typer takes an EOFError for Ctrl-D at a question; no command asks one."""

    def ended() -> None:
        try:
            raise EOFError("the file ended")
        except EOFError as error:
            raise Abort from error

    class Abort(RuntimeError):
        pass

    def stopped() -> None:
        raise Abort

    assert guarded(ended, Output()) == 1
    assert "EOFError: the file ended (a bug?" in capsys.readouterr().err
    assert guarded(stopped, Output()) == 130
