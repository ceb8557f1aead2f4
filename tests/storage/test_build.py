"""Corpora in folders: the same as in memory, whole or going on after a kill, in bounded memory."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import pgbn
from pgbn.corpus import read_corpus
from pgbn.errors import DataError, StorageError
from pgbn.storage import build, runner, sources
from pgbn.storage.arrays import write_npz
from tests.helpers.saved import forge

WORDS = [f"w{number:03d}" for number in range(60)]


def texts(rows: int = 300) -> list[str]:
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(WORDS, rng.integers(1, 20))) for _ in range(rows)]


def counts(rows: int = 300) -> sp.csr_array:
    dense = np.random.default_rng(1).poisson(0.1, (rows, 40))
    dense[5] = 0  # an empty document
    return sp.csr_array(dense)


def assert_same(one: pgbn.Corpus, other: pgbn.Corpus) -> None:
    assert (one.counts != other.counts).nnz == 0
    assert (one.vocabulary, one.labels) == (other.vocabulary, other.labels)
    assert one.total == other.counts.sum()
    assert one.entries == other.counts.nnz


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(texts()))
    return path


def test_terms_and_counts_are_those_of_the_reader_in_memory(lines, tmp_path) -> None:
    options = {"min_df": 20, "max_df": 0.16, "stop_words": ["w003", "w004"]}
    built = pgbn.Corpus.build(lines, tmp_path / "corpus", block_rows=64, **options)
    assert_same(built, read_corpus(lines, **options))
    assert 2 < built.shape[1] < 58  # something was left out
    assert [block.shape[0] for block in built.blocks()] == [64, 64, 64, 64, 44]
    assert_same(pgbn.load(tmp_path / "corpus"), built)
    assert_same(read_corpus(tmp_path / "corpus"), built)


def test_the_most_frequent_terms(lines, tmp_path) -> None:
    built = pgbn.Corpus.build(lines, tmp_path / "corpus", max_features=10)
    total = np.asarray(read_corpus(lines).counts.sum(axis=0))
    assert built.total == np.sort(total)[-10:].sum()


@pytest.mark.parametrize("most", [2, 7])
def test_counts_of_terms_that_do_not_fit_are_written_and_merged(
    lines, tmp_path, most, monkeypatch
) -> None:
    monkeypatch.setattr("pgbn.storage.build.MOST_TERMS", most)
    monkeypatch.setattr("pgbn.storage.build.PART", 5)
    monkeypatch.setattr("pgbn.storage.sources.ROWS", 16)
    assert_same(pgbn.Corpus.build(lines, tmp_path / "corpus", min_df=3),
                read_corpus(lines, min_df=3))  # fmt: skip
    assert not list((tmp_path / "corpus").glob("runs-*"))


def test_tables_json_and_packed_files(tmp_path) -> None:
    rows = [{"body": text, "id": f"d{n}"} for n, text in enumerate(texts(40))]
    path = tmp_path / "rows.jsonl.gz"
    with gzip.open(path, "wt") as file:
        file.write("\n".join(json.dumps(row) for row in rows))
    how = {"column": "body", "label": "id"}
    assert_same(pgbn.Corpus.build(path, tmp_path / "a", **how), read_corpus(path, **how))
    table = tmp_path / "rows.csv"
    table.write_text("id,body\n" + "\n".join(f"{row['id']},{row['body']}" for row in rows))
    assert_same(pgbn.Corpus.build(table, tmp_path / "b", **how), read_corpus(table, **how))


def test_several_files_one_after_another(tmp_path) -> None:
    found = texts(40)
    paths = [tmp_path / "one.txt", tmp_path / "two.txt"]
    paths[0].write_text("\n".join(found[:25]))
    paths[1].write_text("\n".join(found[25:]))
    built = pgbn.Corpus.build(paths, tmp_path / "corpus", block_rows=10)
    assert (built.counts != pgbn.Corpus.build(found, tmp_path / "list").counts).nnz == 0
    assert built.labels[24:26] == ["one.txt:25", "two.txt:1"]


@pytest.mark.parametrize("order", ["csr", "csc"])
def test_matrix_market_in_any_order(tmp_path, order, monkeypatch) -> None:
    monkeypatch.setattr("pgbn.storage.count_files.ENTRIES", 200)  # several ranges of rows
    scipy.io.mmwrite(tmp_path / "x.mtx", counts().asformat(order))
    (tmp_path / "terms").write_text("\n".join(WORDS[:40]))
    built = pgbn.Corpus.build(tmp_path / "x.mtx", tmp_path / "corpus", block_rows=32,
                              terms=tmp_path / "terms")  # fmt: skip
    assert_same(built, read_corpus(tmp_path / "x.mtx", terms=tmp_path / "terms"))
    assert not [path for path in (tmp_path / "corpus").iterdir() if path.is_dir()]


def test_matrix_market_that_is_cut_off_names_the_line(tmp_path) -> None:
    (tmp_path / "x.mtx").write_text(
        "%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 1 4\n"
    )
    with pytest.raises(DataError, match="line 4: 1 entries, but the header says 2"):
        pgbn.Corpus.build(tmp_path / "x.mtx", tmp_path / "corpus")
    assert not (tmp_path / "corpus").exists()


def test_batches_from_python(tmp_path) -> None:
    X = counts()
    parts = [X[:7], X[7:200].toarray(), X[200:]]
    built = pgbn.Corpus.build(iter(parts), tmp_path / "a", block_rows=50, vocabulary=WORDS[:40])
    assert (built.counts != X).nnz == 0
    assert built.vocabulary == WORDS[:40]
    assert built.labels == [str(row) for row in range(300)]
    for source in (lambda: iter(texts(30)), [texts(30)[:9], texts(30)[9:]]):
        found = pgbn.Corpus.build(source, tmp_path / "b", overwrite=True)
        assert (found.counts != pgbn.corpus.count_terms(
            {str(n): text for n, text in enumerate(texts(30))}).counts).nnz == 0  # fmt: skip


@pytest.mark.parametrize(("source", "options", "words"), [
    (iter(["a text of words"]), {}, "can be read once"),
    ([], {}, "no documents in it"),
    (17, {}, "source=17: give a path"),
    ([np.ones((2, 3)), np.ones((2, 4))], {}, "4 columns .* has 3 terms"),
    ([-np.ones((2, 3))], {}, "negative values"),
    (["a text"], {"column": "review"}, "only for files"),
    (["one two", "two three"], {"min_df": 5}, r"no terms remain of 2 documents \(min_df=5\)"),
    (["one two"], {"min_df": "many"}, "min_df='many': give a number of documents"),
    (["one two"], {"max_features": 0}, "max_features=0"),
    (["one two"], {"token_pattern": "("}, "no terms could be counted"),
    (["one two"], {"block_rows": 0}, "block_rows"),
    (Path("missing.txt"), {}, "missing.txt: no such file"),
])  # fmt: skip
def test_what_cannot_be_built_is_refused(tmp_path, source, options, words) -> None:
    with pytest.raises(DataError, match=words):
        pgbn.Corpus.build(source, tmp_path / "corpus", **options)


def test_parquet_needs_pyarrow_or_reads_its_batches(tmp_path, monkeypatch) -> None:
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(DataError, match="Parquet needs pyarrow"):
        pgbn.Corpus.build(path, tmp_path / "corpus")


# ---- stopped and killed builds ------------------------------------------------------------


def test_a_finished_build_is_opened_and_another_is_refused(lines, tmp_path, monkeypatch) -> None:
    built = pgbn.Corpus.build(lines, tmp_path / "corpus")
    with monkeypatch.context() as patched:
        patched.setattr(runner, "write", None)  # nothing is written
        assert_same(pgbn.Corpus.build(lines, tmp_path / "corpus"), built)
    with pytest.raises(DataError, match=r"another options: \{\}, not \{'min_df': 9\}"):
        pgbn.Corpus.build(lines, tmp_path / "corpus", min_df=9)
    assert pgbn.Corpus.build(lines, tmp_path / "corpus", min_df=9, overwrite=True).shape[0] == 300
    pgbn.save(pgbn.zoo.pgbn((2,)), tmp_path / "net")
    with pytest.raises(StorageError, match="holds a saved network"):
        pgbn.Corpus.build(lines, tmp_path / "net")


def test_a_build_that_stops_goes_on(lines, tmp_path, monkeypatch) -> None:
    """Stopped at every commit in turn, it ends with what a build at one go gives."""
    monkeypatch.setattr(build, "COMMIT_ROWS", 32)
    monkeypatch.setattr("pgbn.storage.sources.ROWS", 16)
    commit, left = build._Build._commit, [0]

    def stopping(self: build._Build) -> None:
        commit(self)
        left[0] += 1
        raise KeyboardInterrupt

    arguments = (lines, tmp_path / "corpus")
    with monkeypatch.context() as patched:
        patched.setattr(build._Build, "_commit", stopping)
        for _ in range(100):
            try:
                pgbn.Corpus.build(*arguments, block_rows=32, min_df=2)
                break
            except KeyboardInterrupt:
                with_rows = pgbn.storage.archive.read_manifest(arguments[1])["content"]["object"]
                if not with_rows["complete"]:
                    with pytest.raises(StorageError, match="goes on where it was"):
                        pgbn.Corpus.open(arguments[1])
    assert left[0] > 15
    at_once = pgbn.Corpus.build(lines, tmp_path / "other", block_rows=32, min_df=2)
    assert_same(pgbn.Corpus.open(arguments[1]), at_once)
    files = [sorted(path.name for path in folder.glob("*.npz"))
             for folder in (arguments[1], tmp_path / "other")]  # fmt: skip
    assert files[0] == files[1]


KILLED = """
import os, sys
from pgbn.storage import build, runner, sources
import pgbn
build.COMMIT_ROWS = 32
commit, left = build._Build._commit, [int(sys.argv[3])]
def killing(self):
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), 9)
    commit(self)
build._Build._commit = killing
pgbn.Corpus.build(sys.argv[1], sys.argv[2], block_rows=32)
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is of POSIX systems")
def test_a_killed_build_goes_on(tmp_path) -> None:
    scipy.io.mmwrite(tmp_path / "x.mtx", counts())
    arguments = [str(tmp_path / "x.mtx"), str(tmp_path / "corpus")]
    for commits in ("3", "2"):
        ended = subprocess.run([sys.executable, "-c", KILLED, *arguments, commits], check=False)
        assert ended.returncode == -9
    rows = pgbn.storage.archive.read_manifest(tmp_path / "corpus")["content"]["object"]["rows"]
    assert rows == 3 * 32
    built = pgbn.Corpus.build(*arguments, block_rows=32)
    assert (built.counts != counts()).nnz == 0
    assert not [path for path in (tmp_path / "corpus").iterdir() if path.suffix != ".npz"
                and path.name != "model.json"]  # fmt: skip


@pytest.mark.parametrize("change", [
    {"rows": "abc"}, {"runs": [10**400]}, {"total": float("nan")}, {"more": 1}, {"columns": -1},
    {"named": 1}, {"settings": None}, {"settings": {}}, {"settings": {"source": 3}},
])  # fmt: skip
def test_a_forged_build_does_not_go_on(tmp_path, change) -> None:
    folder = tmp_path / "corpus"
    pgbn.Corpus.build(counts(), folder, block_rows=100)

    def forged(body: Any) -> None:
        place = body["content"] if "settings" in change else body["content"]["object"]
        body["content"]["object"]["complete"] = False
        place.update(change)

    forge(folder, forged)
    with pytest.raises(pgbn.PgbnError, match=r"corpus: (damaged|a corpus with another source)"):
        pgbn.Corpus.build(counts(), folder, block_rows=100)
    pgbn.Corpus.build(counts(), folder, block_rows=100, overwrite=True)


@pytest.mark.parametrize("shape", ["500000000 3 1", "4000000000 4000000000 1"])
def test_a_header_of_empty_rows_is_refused_before_they_are_made(tmp_path, shape) -> None:
    path = tmp_path / "x.mtx"
    path.write_text(f"%%MatrixMarket matrix coordinate integer general\n{shape}\n1 1 1\n")
    with pytest.raises(DataError, match=r"x\.mtx: \d+ rows, but only 1 entries in them"):
        pgbn.Corpus.build(path, tmp_path / "corpus")


def test_empty_rows_come_in_batches_of_bounded_length(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(sources, "ROWS", 7)
    X = sp.csr_array((50, 3), dtype=np.int64)
    batches = list(sources.source_of(X, sources.FileReading()).documents(0))
    assert max(len(batch.names) for batch in batches) == 7
    assert [name for batch in batches for name in batch.names] == [str(row) for row in range(50)]


def test_a_function_that_gives_no_documents(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="source: 1 is no iterable"):
        pgbn.Corpus.build(lambda: 1, tmp_path / "corpus")


TEXTS = ["one two three", "two three"]


@pytest.mark.parametrize("change", [
    lambda arrays: {"text": arrays["text"]},
    lambda arrays: arrays | {"total": arrays["total"].reshape(-1, 1)},
    lambda arrays: arrays | {"documents": arrays["documents"][1:]},
    lambda arrays: arrays | {"ends": arrays["ends"].reshape(-1, 1)},
    None,
])  # fmt: skip
def test_forged_counts_of_terms_are_refused(
    tmp_path: Path, change: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also more parts of them than there are: nothing is made of their number."""
    folder, commit = tmp_path / "corpus", build._Build._commit

    def stopping(self: build._Build) -> None:
        commit(self)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(build._Build, "_commit", stopping)
        with pytest.raises(KeyboardInterrupt):
            pgbn.Corpus.build(TEXTS, folder)
    body, data = pgbn.storage.archive.read_manifest(folder), BytesIO()
    arrays = pgbn.storage.archive.read_arrays(folder, body, "runs/0/0")
    write_npz(data, change(arrays) if change else arrays)

    def forged(body: Any) -> None:
        body["groups"]["runs/0/0"] = body["groups"]["runs"]
        body["content"]["object"]["runs"] = [1 if change else 2**61]

    forge(folder, forged, runs=data.getvalue())
    with pytest.raises(StorageError, match=r"corpus: (not what|damaged|the names are damaged)"):
        pgbn.Corpus.build(TEXTS, folder)
