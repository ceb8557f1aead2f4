"""What is printed: errors in one line, tables, streams that are closed, harmless words."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn.cli.console import Output, Result, give, guarded, output
from pgbn.errors import printable
from tests.helpers.commands import FAST, Capture, Patch, run
from tests.helpers.trained import X, model_of

FIT = {  # wrong options of fit, told before anything is read
    "--burn-in many": "--burn-in 'many'", "--sweeps 0": "--sweeps=0 must be an integer",
    "--burn-in 5,5": "--burn-in=[5, 5]: give one number, or 3 of them, one for each layer",
    "--eta 1,1,1,1": "--eta=[1.0, 1.0, 1.0, 1.0]: give one number",
    "--eta -1": "--eta=-1.0 must be positive and finite", "--eta inf": "--eta=inf must be positive",
    "--minutes -1": "minutes': -1 is not", "--minutes nan": "minutes': nan is not",
    "--ngrams 0": "'--ngrams'", "--depth 0": "'--depth'", "--depth 101": "'--depth'",
    "--max-width -3": "--max-width=-3 must be an", "--max-width 9,0": "--max-width=[9, 0] must hold",
    "--link cauchy": "--link='cauchy'", "--seed -1": "seed=-1", "--threads 0": "'--threads'",
    "--keep-draws -1": "'--keep-draws'", "--keep-draws 201": "--keep-draws=201 must be at most",
    "--stop-words klingon": "--stop-words klingon", "--stop-words deutsch": "french, german, ",
    "--token-pattern [": "'[' is not a regular expression", "--token-pattern (a)(b)": "has 2 groups",
    "--min-df lots": "--min-df 'lots'", "--min-df 0": "--min-df 0: give a number of documents",
    "--min-df 1.5": "--min-df 1.5", "--min-df nan": "--min-df nan", "--min-df -1": "--min-df -1",
    "--max-df 0.0": "--max-df 0.0 omits all terms", "--max-df 0": "--max-df 0",
    "--max-features 0": "'--max-features'", "--encoding hex": "'--encoding'",
}  # fmt: skip
WRONG = [(f"fit TEXTS -o NEW {words}", 2, says) for words, says in FIT.items()] + [
    ("topics nowhere", 1, "nowhere: no saved model there"),
    ("topics MODEL --layer 9", 1, "layer=9: the model has 2 layers; give an integer from 1 to 2"),
    ("topics MODEL --layer x", 2, "'--layer'"), ("topics MODEL --top 0", 2, "'--top'"),
    ("topic", 2, "Did you mean 'topics'? See pgbn --help"),
    ("train TEXTS", 2, "No such command 'train'. Did you mean 'fit'?"),
    ("fit TEXTS -o NEW --depth deep", 2, "'--depth': give an integer"), ("fit", 2, "see pgbn fit --help"),
    ("fit TEXTS -o MODEL", 1, "there is a model already"),
    ("fit TEXTS -o NEW --text-column review", 1, "text_column='review'"),
    ("fit PLAIN -o NEW --name-column id", 1, "name_column='id'"), ("fit TEXTS -o NEW --terms PLAIN", 1, "has texts"),
    ("fit COUNTS -o NEW --max-features 9", 1, "--max-features: only for texts"),
    ("fit nowhere -o NEW", 1, "no such file"),
    ("fit nowhere -o PLAIN", 1, "plain.txt is a file); name a folder"),
    ("fit nowhere -o PLAIN/new", 1, "plain.txt is a file); name a folder"),
    ("resume MODEL --minutes nan", 2, "minutes': nan is not"),
    ("demo -o MODEL", 1, "not of the demo"), ("demo -o NEW --sweeps 0", 2, "'--sweeps'"),
    ("transform MODEL TEXTS --draws 0", 2, "'--draws'"),
    ("transform MODEL TEXTS -o x.doc", 2, "must end in .csv"),
    ("transform MODEL TEXTS --layer 1 --concat", 2, "--layer 1 is one layer"),
    ("transform MODEL TEXTS -o no/x.csv", 1, "no/x.csv: could not be written (no"),
    ("transform MODEL TEXTS --input-format xyz", 2, "'xyz' is not one of the choices. Known: csv, folder"),
    ("perplexity MODEL TEXTS --encoding nonsense", 2, "unknown encoding: nonsense"),
    ("perplexity MODEL TEXTS --fraction 2", 2, "fraction': 2 does not lie between 0 and 1"),
    ("generate MODEL --c mode", 2, "'mode' is not one of the choices"),
    ("explain MODEL --format word", 2, "'word' is not one of the choices. Known: html, latex"),
    ("explain MODEL --format latx", 2, "Did you mean 'latex'?"), ("explain PLAIN", 1, "plain.txt"),
    ("report MODEL MODEL", 1, "the same chain as"), ("report MODEL -o x.csv", 2, "must end in .html"),
    ("report MODEL -o nowhere/r.html", 1, "nowhere/r.html: could not be written (no"),
    ("report MODEL -o .", 1, "it is a folder"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "code", "says"), WRONG)
def test_errors_in_one_line(
    place: Path, tmp_path: Path, capsys: Capture, words: str, code: int,
    says: str, monkeypatch: Patch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    if code == 2:
        monkeypatch.setattr("pgbn.Corpus.read", lambda *_, **__: pytest.fail("read"))
    known = {"MODEL": place / "model", "TEXTS": place / "texts", "NEW": tmp_path / "new",
             "PLAIN": place / "plain.txt", "COUNTS": place / "counts.npz",
             "PLAIN/new": place / "plain.txt" / "new"}  # fmt: skip
    arguments = [str(known.get(word, word)) for word in words.split()]
    capsys.readouterr()
    assert run(arguments) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    last = shown.err.strip().splitlines()[-1]
    assert last.startswith("pgbn: ")
    assert says in last
    assert last.count("markdown") <= 1  # choices are listed once
    assert "Traceback" not in shown.err
    assert run([*arguments, "--json"]) == code
    assert says in json.loads(capsys.readouterr().out)["error"]


def test_debug_shows_the_traceback() -> None:
    with pytest.raises(pgbn.StorageError):
        run(["topics", "nowhere", "--debug"])


def test_a_bug_is_one_line_too(capsys: Capture, place: Path,
                               monkeypatch: Patch) -> None:  # fmt: skip
    def broken(*arguments: Any) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("pgbn.evaluation.topic_words.topics", broken)
    assert run(["topics", place / "model"]) == 1
    assert capsys.readouterr().err == "pgbn: ZeroDivisionError: oops (a bug? --debug shows where)\n"


def silenced(words: list[object], redirection: str) -> subprocess.CompletedProcess[str]:
    """A command of a shell, with its streams redirected."""
    line = f'exec "$@" {redirection}'
    command = ["sh", "-c", line, "sh", sys.executable, "-m", "pgbn", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize(("redirection", "code"), [
    (">&-", 1), (">/dev/full", 1), (">/dev/full 2>/dev/full", 1), (">&- 2>&-", 1), ("2>&-", 0), ("2>/dev/full", 0),
])  # fmt: skip
def test_output_that_cannot_be_written(place: Path, redirection: str, code: int) -> None:
    """Without results a command has failed; without its notes it has not."""
    done = silenced(["info", place / "model"], redirection)
    assert done.returncode == code, done.stderr
    assert ("training" in done.stdout) == (code == 0)
    assert "Traceback" not in done.stderr
    said = {">&-": "the standard output is closed", ">/dev/full": "No space left on device"}
    assert said.get(redirection, "") in done.stderr


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


def test_a_table_in_a_pipe_has_a_line_for_each_row(capsys: Capture) -> None:
    output.table("title", ("n", "words"), [(1, "a " * 200), (20, "b\nc")])
    assert capsys.readouterr().out.splitlines() == [
        "title", " n  words", " 1  " + ("a " * 200).rstrip(), "20  b\\nc",
    ]  # fmt: skip
    output.table("", ("", ""), [("key", "value")])
    assert capsys.readouterr().out == "\nkey  value\n"


@pytest.mark.parametrize("words", ["fit d.txt -o m --k 5", "fit d.txt --num-topics=5", "demo -k 5",
                                   "fit d.txt --n_components 5"])  # fmt: skip
def test_the_number_of_topics_by_other_names(words: str, capsys: Capture) -> None:
    assert run(words.split()) == 2
    assert "is not an option of pgbn" in (said := capsys.readouterr().err)
    assert "--max-width 100,30,10" in said


def test_the_end_of_a_file_is_no_interruption(capsys: Capture) -> None:
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


TABLE = np.array([[1.0, 2.5], [1 / 3, np.nan]])


def test_files_have_names_as_they_are(tmp_path: Path) -> None:
    rows = [(name, *row) for name, row in zip(["one", "zwö"], TABLE.tolist(), strict=True)]
    result = Result({"rows": rows}, ["doc", "a,b", "c\x1b"], rows)
    give(result, tmp_path / "t.csv")
    text = (tmp_path / "t.csv").read_text("utf-8")
    assert text == 'doc,"a,b",c\x1b\none,1,2.5\nzwö,0.333333,nan\n'
    give(result, tmp_path / "t.json")
    found = json.loads((tmp_path / "t.json").read_text("utf-8"))
    assert found == {"rows": [["one", 1, 2.5], ["zwö", 1 / 3, None]]}


@pytest.mark.parametrize("terminal", [False, True])
def test_a_terminal_is_not_commanded(terminal: bool, monkeypatch: Patch, capsys: Capture) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    give(Result({}, ["doc", "c\x1b", "d"], [("e\x1b", 1.0, 2.5)]), None)
    shown = capsys.readouterr().out
    assert shown == (
        "doc,c\\u001b,d\ne\\u001b,1,2.5\n" if terminal else "doc,c\x1b,d\ne\x1b,1,2.5\n"
    )


EVIL = "\x1b[31m\x07\x7f\x9b2J\u202e\r"


@pytest.mark.parametrize("words", [["topics"], ["generate"], ["info"], ["explain"], ["resume"]])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_commands_show_harmless_words(
    words: list[str], form: list[str], tmp_path: Path, capsys: Capture
) -> None:
    names = [f"{EVIL}{v}" for v in range(12)]
    folder = tmp_path / "model\x1b[31m"
    model = model_of().with_labels({(1, 0): EVIL})
    pgbn.save(model, folder, vocabulary=names, record={"note": EVIL}, data=X)
    run([*words, folder, *form])
    shown = capsys.readouterr()
    for text in (shown.out, shown.err):
        assert not set(EVIL) & set(text) - set("[31m2J")
    if form and words == ["topics"]:
        assert set(json.loads(shown.out)[0]["terms"]) <= set(names)


def test_a_term_of_several_lines_forges_none(tmp_path: Path, capsys: Capture) -> None:
    names = [f"{v}\npgbn: all\tis well" for v in range(12)]
    pgbn.save(model_of(), tmp_path / "model", vocabulary=names, data=X)
    for command in ("topics", "generate"):
        assert run([command, tmp_path / "model"]) == 0
        shown = capsys.readouterr().out
        assert "\\npgbn: all\\tis well" in shown
        assert "\npgbn" not in shown
        assert "\t" not in shown


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_commands_that_read_documents(form: list[str], tmp_path: Path, capsys: Capture) -> None:
    """Labels, terms and paths of a stranger: fit, transform, perplexity, report, demo."""
    table, model = tmp_path / "texts\x1b[31m.csv", tmp_path / "model\x1b[31m"
    texts = ["ship wave storm sail", "butter flour oven", "ship sail butter", "flour oven storm"]
    rows = "".join(f'"{EVIL}{n}","{text} {EVIL}x"\n' for n, text in enumerate(texts))
    table.write_bytes(f"{EVIL.rstrip()}id,text\n{rows}".encode())
    few = ["--name-column", f"{EVIL.rstrip()}id", "--burn-in", "2", "--sweeps", "1", "--max-width", "3",
           "--depth", "1", "--min-df", "1", "--max-df", "1.0",
           "--token-pattern", r"(?u)\S+"]  # fmt: skip
    label = ["--name-column", f"{EVIL.rstrip()}id"]
    codes = [
        run([*words, *form])
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
