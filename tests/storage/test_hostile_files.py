"""Bad files and command lines: a result, or one line that names the culprit; never a traceback."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("typer")
pytest.importorskip("sklearn")

from typer.testing import CliRunner

import pgbn
from pgbn.cli import app
from pgbn.cli import run_command as run
from pgbn.corpus import read_corpus
from pgbn.errors import DataError, StorageError
from pgbn.training.new_rows import align_terms
from tests.helpers.hostile import attempt, campaign, words

FAST = ["--burn-in", "2", "--collect", "1", "--max-width", "3", "--depth", "1", "--min-df", "1",
        "--max-df", "1.0", "--overwrite"]  # fmt: skip
TEXT = "ship wave storm\nbutter flour oven\nship butter \u202eabc\n\x00 court judge\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("hostile")
    (place / "d.txt").write_text(TEXT, "utf-8")
    assert run(["fit", str(place / "d.txt"), "-o", str(place / "model"), *FAST]) == 0
    return place


def command(*words: object) -> tuple[int, str]:
    """The exit code and the last line for people, with streams as strict as a terminal's."""
    out, error = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, error
    try:
        code = run([str(word) for word in words])
    finally:
        sys.stdout, sys.stderr = before
    lines = error.buffer.getvalue().decode().strip().splitlines()  # type: ignore[attr-defined]
    return code, lines[-1] if lines else ""


def ends_well(*words: object) -> None:
    code, line = command(*words)
    assert code in (0, 1, 2)
    assert "a bug?" not in line
    assert code == 0 or line.startswith("pgbn: ")


# ---- matrices -----------------------------------------------------------------------------

BANNER = "%%MatrixMarket matrix coordinate integer general\n"
MATRICES: dict[str, str] = {
    "absurd.mtx": f"{BANNER}1000000000000 1000000000000 1\n1 1 1\n",
    "rows.mtx": f"{BANNER}3000000000 5 1\n1 1 1\n",
    "columns.mtx": f"{BANNER}5 3000000000 1\n1 1 1\n",
    "negative.mtx": f"{BANNER}3 3 2\n1 1 -5\n2 2 1\n",
    "outside.mtx": f"{BANNER}3 3 1\n9 9 5\n",
    "large.mtx": f"{BANNER}3 3 1\n1 1 99999999999999999999999\n",
    "complex.mtx": "%%MatrixMarket matrix coordinate complex general\n3 3 1\n1 1 5 5\n",
    "nan.mtx": "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 nan\n2 2 inf\n",
    "dense.mtx": "%%MatrixMarket matrix array real general\n100000000 100000\n1\n",
    "index.svmlight": "1 1:1 4000000000:3\n",
    "words.svmlight": "no : : 3\n",
    "before.svmlight": "1 -3:1\n",
    "twice.svmlight": "1 2:1 2:2 1:3\n",
    "empty.svmlight": "",
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(MATRICES[name])
    code, line = command("fit", tmp_path / name, "-o", tmp_path / "m", *FAST)
    assert code == 1
    assert name in line or "would need" in line
    assert "a bug?" not in line


ints = st.lists(st.integers(-3, 6) | st.just(10**9), min_size=0, max_size=4)


@campaign(120)
@given(
    st.sampled_from(["csr", "csc", "coo", "bsr", "dia", "no", 3]),
    st.lists(st.integers(-1, 4) | st.just(10**12), min_size=1, max_size=3),
    st.lists(st.floats(), min_size=0, max_size=4),
    ints, ints,
)  # fmt: skip
def test_sparse_archives(place: Path, form: Any, shape: list[int], data: list[float],
                         first: list[int], second: list[int]) -> None:  # fmt: skip
    path = place / "hostile.npz"
    names = {"indices": first, "indptr": second, "row": first, "col": second, "offsets": first}
    np.savez(path, format=np.array(form), shape=np.array(shape), data=np.array(data),
             **{key: np.array(value, np.int64) for key, value in names.items()})  # fmt: skip
    found = attempt(lambda: read_corpus(path), ["hostile.npz"])
    if found is not None:
        assert found.counts.toarray().min() >= 0


def test_dense_archives(tmp_path: Path) -> None:
    cases: dict[str, Any] = {
        "objects": {"X": np.array([object()])}, "two": {"a": np.eye(3), "b": np.eye(3)},
        "cube": {"X": np.zeros((2, 2, 2))}, "none": {},
        "twice": {"X": np.eye(3), "vocabulary": np.array(["a", "a", "b"])},
        "scalar": {"X": np.eye(3), "vocabulary": np.array("a")},
    }  # fmt: skip
    for name, arrays in cases.items():
        np.savez(tmp_path / f"{name}.npz", **arrays)
        with pytest.raises(DataError, match=name):
            read_corpus(tmp_path / f"{name}.npz")
    header = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (%d, 3), }"
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w") as archive:
        archive.writestr("X.npy", (header % 10**12).ljust(127) + b"\n" + bytes(100))
    with pytest.raises(DataError, match=r"bomb\.npz"):
        read_corpus(tmp_path / "bomb.npz")


def test_an_archive_that_inflates_beyond_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez_compressed(tmp_path / "zeros.npz", X=np.zeros((100, 1000)))
    monkeypatch.setattr("pgbn.storage.memory.memory", lambda: 10**6)
    with pytest.raises(DataError, match=r"zeros\.npz: its arrays would need"):
        read_corpus(tmp_path / "zeros.npz")


@campaign(60)
@given(st.sampled_from([".txt", ".csv", ".jsonl", ".mtx", ".npz", ".svmlight", ".json"]),
       st.binary(max_size=60), st.sampled_from(["utf-8", "latin-1", "utf-16", "hex", "\ud800", ""]))  # fmt: skip
def test_any_bytes(place: Path, ending: str, content: bytes, encoding: str) -> None:
    path = place / f"bytes{ending}"
    path.write_bytes(content)
    attempt(lambda: read_corpus(path, encoding=encoding, column="text"), ["bytes", "enc", "terms"])
    attempt(lambda: pgbn.load(path), ["bytes"])


# ---- texts --------------------------------------------------------------------------------


@campaign(20)
@given(st.lists(st.tuples(words, words), min_size=1, max_size=4), st.booleans())
def test_texts_of_any_characters(place: Path, rows: list[tuple[str, str]], names: bool) -> None:
    path = place / "any.jsonl"
    lines = [json.dumps({"text": f"{a} same {b}", "id": b}) for a, b in rows]
    path.write_text("\n".join(lines), "utf-8")
    label = ["--label", "id"] if names else []
    pattern = ["--token-pattern", r"\S+", "--stop-words", "none"]
    model = place / "any"
    code, line = command("fit", path, "-o", model, *FAST, *pattern, *label)
    assert code == 0, line
    for words_ in (["topics", model], ["--json", "topics", model], ["generate", model],
                   ["transform", model, path, *label],
                   ["transform", model, path, *label, "-o", place / "any.csv"],
                   ["report", model, "-o", place / "any.html"]):  # fmt: skip
        code, line = command(*words_)
        assert code == 0, (words_, line)


def test_a_byte_order_mark_is_no_part_of_the_name(tmp_path: Path) -> None:
    (tmp_path / "bom.csv").write_bytes(b"\xef\xbb\xbftext,id\nhello world,1\nhello there,2\n")
    assert read_corpus(tmp_path / "bom.csv").texts == ["hello world", "hello there"]


def test_a_field_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "n.jsonl").write_text('{"text": "a b"}\n{"text": 3}')
    with pytest.raises(DataError, match="line 2 has no text 'text', but a int"):
        read_corpus(tmp_path / "n.jsonl")


def test_duplicated_vocabulary() -> None:
    X = np.eye(2, dtype=int)
    with pytest.raises(DataError, match="terms: 'a' names two columns"):
        align_terms(X, 2, ["a", "a"], ["a", "b"])
    with pytest.raises(DataError, match="vocabulary: 'a' names two columns"):
        align_terms(X, 2, ["a", "b"], ["a", "a"])


# ---- the command line -----------------------------------------------------------------------

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


# ---- saved models -----------------------------------------------------------------------


@campaign(80)
@given(st.integers(0, 10**6), st.sampled_from(["", "0", "-1", "1e999", "null", "[]", '"\\ud800"']))
def test_manifests_with_a_wrong_part(place: Path, where: int, value: str) -> None:
    """Even where the checksum was made to fit."""
    from pgbn.storage.archive import _digest

    pgbn.save(pgbn.zoo.pgbn([3, 2]), place / "saved")
    path = place / "saved" / "model.json"
    document = json.loads(path.read_text())
    text = json.dumps(document["body"])
    pieces = [i for i, c in enumerate(text) if c == ":"]
    start = pieces[where % len(pieces)] + 1
    end = min(text.find(c, start) for c in ",}" if text.find(c, start) > 0)
    try:
        body = json.loads(f"{text[:start]}{value}{text[end:]}")
    except ValueError:
        body = value
    document |= {"body": body, "sha256": _digest(body)}
    path.write_text(json.dumps(document))
    attempt(lambda: pgbn.load(place / "saved"), ["saved"])
    path.unlink()
