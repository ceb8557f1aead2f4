"""Corpora in folders: the same as in memory, complete or continued after a kill, in bounded memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import pgbn
from pgbn.errors import DataError, StorageError
from pgbn.storage import archive, build, runner, sources
from tests.helpers.saved import forge, write_group

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
    assert (one.vocabulary, one.names) == (other.vocabulary, other.names)
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
    assert_same(built, pgbn.Corpus.read(lines, **options))
    assert 2 < built.shape[1] < 58  # something was left out
    assert [block.shape[0] for block in built.blocks()] == [64, 64, 64, 64, 44]
    assert_same(pgbn.load(tmp_path / "corpus"), built)
    assert_same(pgbn.Corpus.read(tmp_path / "corpus"), built)


def test_the_most_frequent_terms(lines, tmp_path) -> None:
    built = pgbn.Corpus.build(lines, tmp_path / "corpus", max_features=10)
    total = np.asarray(pgbn.Corpus.read(lines).counts.sum(axis=0))
    assert built.total == np.sort(total)[-10:].sum()


@pytest.mark.parametrize("most", [2, 7])
def test_counts_of_terms_that_do_not_fit_are_written_and_merged(
    lines, tmp_path, most, monkeypatch
) -> None:
    monkeypatch.setattr(build, "MOST_TERMS", most)
    monkeypatch.setattr(build, "PART", 5)
    monkeypatch.setattr(sources, "ROWS", 16)
    built = pgbn.Corpus.build(lines, tmp_path / "corpus", min_df=3)
    assert_same(built, pgbn.Corpus.read(lines, min_df=3))
    assert not list((tmp_path / "corpus").glob("runs-*"))


def test_several_files_one_after_another(tmp_path) -> None:
    found = texts(40)
    paths = [tmp_path / "one.txt", tmp_path / "two.txt"]
    paths[0].write_text("\n".join(found[:25]))
    paths[1].write_text("\n".join(found[25:]))
    built = pgbn.Corpus.build(paths, tmp_path / "corpus", block_rows=10)
    assert (built.counts != pgbn.Corpus.build(found, tmp_path / "list").counts).nnz == 0
    assert built.names[24:26] == ["one.txt:25", "two.txt:1"]


@pytest.mark.parametrize("order", ["csr", "csc"])
def test_matrix_market_in_any_order(tmp_path, order, monkeypatch) -> None:
    monkeypatch.setattr("pgbn.storage.sources.ENTRIES", 200)  # several ranges of rows
    scipy.io.mmwrite(tmp_path / "x.mtx", counts().asformat(order))
    (tmp_path / "terms").write_text("\n".join(WORDS[:40]))
    (tmp_path / "corpus/.rows-killed").mkdir(parents=True)  # of a build that was killed
    built = pgbn.Corpus.build(tmp_path / "x.mtx", tmp_path / "corpus", block_rows=32,
                              terms=tmp_path / "terms")  # fmt: skip
    assert_same(built, pgbn.Corpus.read(tmp_path / "x.mtx", terms=tmp_path / "terms"))
    assert not [path for path in (tmp_path / "corpus").iterdir() if path.is_dir()]


def test_batches_from_python(tmp_path, monkeypatch) -> None:
    X = counts()
    parts = [X[:7], X[7:200].toarray(), X[200:]]
    with monkeypatch.context() as patch:
        patch.setattr(build, "make_vectorizer", None)  # counts need no scikit-learn
        built = pgbn.Corpus.build(iter(parts), tmp_path / "a", block_rows=50, vocabulary=WORDS[:40])
    assert (built.counts != X).nnz == 0
    assert built.vocabulary == WORDS[:40]
    assert built.names == [str(row) for row in range(300)]
    for source in (lambda: iter(texts(30)), [texts(30)[:9], texts(30)[9:]]):
        found = pgbn.Corpus.build(source, tmp_path / "b", overwrite=True)
        assert (found.counts != pgbn.Corpus.from_texts(
            {str(n): text for n, text in enumerate(texts(30))}).counts).nnz == 0  # fmt: skip


@pytest.mark.parametrize(("source", "options", "words"), [
    (iter(["a text of words"]), {}, "can be read once"),
    ([], {}, "no documents in it"),
    (["a text"], {"vocabulary": ["a", "a"]}, "vocabulary: two columns are called 'a'; rename one"),
    (17, {}, "source=17: give a path"),
    (lambda: 1, {}, "source: 1 is not an iterable"),
    ([np.ones((2, 3)), np.ones((2, 4))], {}, "4 columns .* has 3 terms"),
    ([-np.ones((2, 3))], {}, "negative values"),
    (["a text"], {"text_column": "review"}, "only for files"),
    (["one two", "two three"], {"min_df": 5}, r"no terms remain of 2 documents \(min_df=5\)"),
    (["one two"], {"min_df": "many"}, "min_df='many': give a number of documents"),
    (["one two"], {"max_features": 0}, "max_features=0"),
    (["one two"], {"token_pattern": "("}, "no terms could be counted"),
    (["one two"], {"block_rows": 0}, "block_rows"),
    (Path("missing.txt"), {}, "missing.txt: no such file"),
])  # fmt: skip
def test_what_cannot_be_built_is_rejected(tmp_path, source, options, words) -> None:
    with pytest.raises(DataError, match=words):
        pgbn.Corpus.build(source, tmp_path / "corpus", **options)


# ---- stopped and killed builds ------------------------------------------------------------


def test_a_finished_build_is_opened_and_another_is_rejected(lines, tmp_path, monkeypatch) -> None:
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


COMMIT = build._Build._commit


def stopping(self: build._Build) -> None:
    COMMIT(self)
    raise KeyboardInterrupt


@pytest.mark.parametrize(("name", "options", "least"), [
    ("lines.txt", {"min_df": 2}, 16), ("counts.mtx", {}, 10),
])  # fmt: skip
def test_a_build_that_stops_is_continued(
    lines, tmp_path, monkeypatch, name, options, least
) -> None:
    """Stopped at every commit in turn, it ends with what a build at one go gives."""
    monkeypatch.setattr(build, "COMMIT_ROWS", 32)
    monkeypatch.setattr(sources, "ROWS", 16)
    monkeypatch.setattr(sources, "ENTRIES", 200)
    scipy.io.mmwrite(tmp_path / "counts.mtx", counts())
    folders, stops = (tmp_path / "a", tmp_path / "b"), 0
    arguments = {"block_rows": 32, **options}
    with monkeypatch.context() as patched:
        patched.setattr(build._Build, "_commit", stopping)
        while not (stops and archive.read_manifest(folders[0])["content"]["object"]["complete"]):
            with pytest.raises(KeyboardInterrupt):
                pgbn.Corpus.build(tmp_path / name, folders[0], **arguments)
            stops += 1
            if not archive.read_manifest(folders[0])["content"]["object"]["complete"]:
                with pytest.raises(StorageError, match="it continues from there"):
                    pgbn.Corpus.open(folders[0])
    assert stops >= least
    at_once = pgbn.Corpus.build(tmp_path / name, folders[1], **arguments)
    assert_same(pgbn.Corpus.open(folders[0]), at_once)
    files = [sorted(path.name for path in folder.glob("*.npz")) for folder in folders]
    assert files[0] == files[1]


@pytest.mark.parametrize(("name", "line"), [
    ("a.txt", "sea ship sail\n"), ("a.csv", "sea ship\n"), ("a.jsonl", '{"text": "sea ship"}\n'),
    ("a.mtx", "1 1 1\n2 1 1\n3 1 1\n4 1 1\n5 1 1\n6 1 1\n"),
])  # fmt: skip
def test_files_larger_than_the_memory_are_read(tmp_path, monkeypatch, name, line) -> None:
    """A file of 300 kB, where a quarter of the memory is 100 kB."""
    lines = 300_000 // len(line)
    market = f"%%MatrixMarket matrix coordinate integer general\n6 9 {6 * lines}\n"
    (tmp_path / name).write_text({"a.csv": "text\n", "a.mtx": market}.get(name, "") + line * lines)
    monkeypatch.setattr("pgbn.storage.count_files.BLOCK", 2**12)
    monkeypatch.setattr(sources, "ENTRIES", 2**12)
    monkeypatch.setattr("pgbn.storage.read_limits.memory", lambda: 400_000)
    built = pgbn.Corpus.build(tmp_path / name, tmp_path / "corpus")
    terms = {"a.txt": 3, "a.mtx": 6}.get(name, 2)
    assert built.total == terms * lines


@pytest.mark.parametrize("change", [
    {"rows": "abc"}, {"runs": [10**400]}, {"total": float("nan")}, {"columns": -1},
    {"named": 1}, {"settings": None}, {"settings": {}}, {"settings": {"source": 3}},
])  # fmt: skip
def test_a_forged_build_is_not_continued(tmp_path, change) -> None:
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


def test_empty_rows_come_in_batches_of_bounded_length(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(sources, "ROWS", 7)
    X = sp.csr_array((50, 3), dtype=np.int64)
    batches = list(sources.source_of(X, sources.FileReading()).documents(0))
    assert max(len(batch.names) for batch in batches) == 7
    assert [name for batch in batches for name in batch.names] == [str(row) for row in range(50)]


@pytest.mark.parametrize("change", [
    lambda arrays: {"text": arrays["text"]},
    lambda arrays: arrays | {"total": arrays["total"].reshape(-1, 1)},
    lambda arrays: arrays | {"documents": arrays["documents"][1:]},
    lambda arrays: arrays | {"ends": arrays["ends"].reshape(-1, 1)},
    None,
])  # fmt: skip
def test_forged_counts_of_terms_are_rejected(
    tmp_path: Path, change: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also more parts of them than there are: nothing is made of their number."""
    folder, found = tmp_path / "corpus", ["one two three", "two three"]
    with monkeypatch.context() as patched:
        patched.setattr(build._Build, "_commit", stopping)
        with pytest.raises(KeyboardInterrupt):
            pgbn.Corpus.build(found, folder)
    arrays = archive.read_arrays(folder, archive.read_manifest(folder), "runs/0/0")

    def forged(body: Any) -> None:
        write_group(folder, body, "runs/0/0", change(arrays) if change else arrays)
        body["content"]["object"]["runs"] = [1 if change else 2**61]

    forge(folder, forged)
    with pytest.raises(StorageError, match=r"corpus: (not what|damaged|the names are damaged)"):
        pgbn.Corpus.build(found, folder)
