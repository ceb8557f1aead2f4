"""Reading documents: formats, options, bad files."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("sklearn")

from hypothesis import given
from hypothesis import strategies as st

import pgbn
from pgbn.errors import DataError, StorageError
from pgbn.training.new_rows import align_terms
from tests.helpers.corpora import texts
from tests.helpers.hostile import campaign, words
from tests.helpers.hostile_commands import FAST, command


@pytest.mark.parametrize(("name", "options"), [
    ("texts", {}), ("table.csv", {"text_column": "review", "name_column": "id"}),
    ("lines.jsonl.gz", {"text_column": "review", "name_column": "id"}), ("plain.txt", {}),
    ("counts.mtx", {"terms": "terms.txt"}), ("counts.npz", {"terms": "terms.txt"}),
    ("named.npz", {}), ("counts.svmlight", {"terms": "terms.txt"}),
])  # fmt: skip
def test_formats(corpora: Path, name: str, options: dict[str, Any]) -> None:
    if "terms" in options:
        options = {"terms": corpora / options["terms"]}
    corpus, expected = pgbn.Corpus.read(corpora / name, **options), pgbn.Corpus.from_texts(texts())
    assert corpus.vocabulary == expected.vocabulary
    order = np.argsort(corpus.names) if name == "texts" else np.arange(60)
    wanted = np.argsort([f"{n}.txt" for n in texts()]) if name == "texts" else order
    assert np.array_equal(corpus.counts.toarray()[order], expected.counts.toarray()[wanted])
    assert corpus.counts.dtype == np.int64
    if "label" in options:
        assert corpus.names == list(texts())


def test_vectorizer_options(corpora: Path) -> None:
    corpus = pgbn.Corpus.read(corpora / "texts", min_df=15, max_features=10, ngram_range=(1, 2),
                         stop_words=["ship"], lowercase=False)  # fmt: skip
    assert corpus.vocabulary is not None
    assert len(corpus.vocabulary) == 10
    assert "ship" not in corpus.vocabulary
    assert (
        "Größe naïve"
        in pgbn.Corpus.read(corpora / "texts", lowercase=False, ngram_range=(2, 2)).vocabulary
    )


@pytest.mark.parametrize(("name", "data", "said", "options"), [
    ("a.txt", b"the a of", "no terms could be counted", {"stop_words": "english"}),
    ("a.txt", b"hello you", "no terms could be counted.*token_pattern", {"token_pattern": "("}),
    ("a.txt", b"hello you", "no terms could be counted.*min_df", {"min_df": -3}),
    ("a.txt", b"a", "is not known", {"format": "exel"}),
    *(("a.txt", b"caf\xe9 bar", "encoding=", {"encoding": name})
      for name in ("nonsense", None, 5, "a\0b")),
    ("a.npz", b"PK\x03\x04 nonsense", "not a matrix in the format npz", {}),
    ("a.svmlight", b"1 a:b\n", "format svmlight", {}),
    ("a.xyz", b"", "unknown kind of file; name its format", {}),
])  # fmt: skip
def test_bad_data(
    tmp_path: Path, name: str, data: bytes, said: str, options: dict[str, Any]
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=said):
        pgbn.Corpus.read(tmp_path / name, **options)


def test_no_data(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        pgbn.Corpus.read(tmp_path / "nowhere")
    with pytest.raises(DataError, match="no documents"):
        pgbn.Corpus.read(tmp_path)


@pytest.mark.parametrize(("name", "line"), [
    ("a.txt.gz", b"sea ship sail\n"), ("b.csv.gz", b'text,\n"sea",\n'),
    ("c.jsonl.gz", b'{"text": "sea ship"}\n'), ("d.mtx.gz", b"% a comment\n"),
    ("e.svmlight.gz", b"0 1:1 2:1\n"), ("f.txt", b"sea ship sail\n"), ("g.txt", b"sea ship "),
])  # fmt: skip
def test_what_unpacks_to_more_than_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, line: bytes
) -> None:
    """A small file of two megabytes, where a quarter of the memory is one."""
    header = b"%%MatrixMarket matrix coordinate integer general\n" if "mtx" in name else b""
    data = header + line * (2_000_000 // len(line))
    (tmp_path / name).write_bytes(gzip.compress(data, 1) if name.endswith("gz") else data)
    monkeypatch.setattr("pgbn.storage.read_limits.memory", lambda: 4_000_000)
    with pytest.raises(DataError, match=rf"{name}: .*(more than|would need) 0\.0 GB.*give a part"):
        pgbn.Corpus.read(tmp_path / name)


def test_a_folder_larger_than_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(3):
        (tmp_path / f"{n}.txt").write_text("sea ship " * 1000)
    (tmp_path / "x.csv").write_text("text\n" + "sea\n" * 1000)  # small texts take memory too
    monkeypatch.setattr("pgbn.storage.read_limits.memory", lambda: 60_000)
    for path in (tmp_path, tmp_path / "x.csv"):
        with pytest.raises(DataError, match="its documents would need"):
            pgbn.Corpus.read(path)


@campaign(20)
@given(st.lists(st.tuples(words, words), min_size=1, max_size=4), st.booleans())
def test_texts_of_any_characters(place: Path, rows: list[tuple[str, str]], names: bool) -> None:
    path = place / "any.jsonl"
    lines = [json.dumps({"text": f"{a} same {b}", "id": b}) for a, b in rows]
    path.write_text("\n".join(lines), "utf-8")
    label = ["--name-column", "id"] if names else []
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


def test_documents_of_one_name_are_all_kept(tmp_path: Path) -> None:
    """A name that was made for one must not be that of another."""
    names = ["ann", "ann", "ann (2)", "bob", "ann", "ann (2)"]
    rows = [{"id": name, "text": f"word{n} all"} for n, name in enumerate(names)]
    path = tmp_path / "names.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    corpus = pgbn.Corpus.read(path, name_column="id")
    assert corpus.texts == [row["text"] for row in rows]
    assert corpus.names == ["ann", "ann (3)", "ann (2)", "bob", "ann (4)", "ann (2) (2)"]
    assert corpus.counts.shape[0] == 6


def test_duplicated_vocabulary() -> None:
    for terms, vocabulary, where in (("aa", "ab", "terms"), ("ab", "aa", "vocabulary")):
        with pytest.raises(DataError, match=f"{where}: 'a' names two columns"):
            align_terms(np.eye(2, dtype=int), 2, list(terms), list(vocabulary))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_with_a_name_is_not_waited_for(tmp_path: Path) -> None:
    for name in ("x.mtx", "x.npz", "x.csv", "x.txt", "x.svmlight", "x.jsonl", "x.txt.gz"):
        os.mkfifo(tmp_path / name)
        for read in (pgbn.Corpus.read, lambda path: pgbn.Corpus.build(path, tmp_path / "corpus")):
            with pytest.raises(DataError, match=f"{name}: not a file, but a pipe or a device"):
                read(tmp_path / name)
    table = tmp_path / "good.mtx"
    table.write_text("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1\n")
    with pytest.raises(DataError, match=r"x\.txt: not a file"):
        pgbn.Corpus.read(table, terms=tmp_path / "x.txt")


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="needs /dev/fd")
def test_what_a_shell_passes_on_is_read_once(tmp_path: Path) -> None:
    """``pgbn fit <(zcat texts.gz) --input-format lines``."""
    read, write = os.pipe()
    os.write(write, b"sea ship\nsea wave\n")
    os.close(write)
    passed = Path(f"/dev/fd/{read}")
    with pytest.raises(DataError, match="it is read more than once"):
        pgbn.Corpus.build(passed, tmp_path / "corpus", format="lines")
    assert pgbn.Corpus.read(passed, format="lines", min_df=1).shape == (2, 3)
    os.close(read)


def test_a_list_of_texts_is_numbered() -> None:
    two = ["cats and dogs", "dogs and cows"]
    corpus, named = pgbn.Corpus.from_texts(two), pgbn.Corpus.from_texts({"0": two[0], "1": two[1]})
    assert (corpus.names, corpus.texts) == (["0", "1"], two)
    assert (corpus.counts != named.counts).nnz == 0


COMPOSED, APART = "Stra\u00dfencaf\u00e9", "Stra\u00dfencafe\u0301"


def test_a_letter_is_one_however_it_was_typed(tmp_path: Path) -> None:
    """Of "é" in two characters the accent was no letter, and what was left another term."""
    texts = [f"{COMPOSED} offen", f"{APART} zu"]
    expected = ["offen", COMPOSED.lower(), "zu"]
    (tmp_path / "a.txt").write_text("\n".join(texts), "utf-8")
    built = pgbn.Corpus.build(tmp_path / "a.txt", tmp_path / "corpus")
    for corpus in (pgbn.Corpus.from_texts(texts), pgbn.Corpus.read(tmp_path / "a.txt"), built):
        assert corpus.vocabulary == expected
        assert corpus.counts.toarray()[:, 1].tolist() == [1, 1]
    assert pgbn.Corpus.from_texts(texts).texts == [texts[0], f"{COMPOSED} zu"]
    assert pgbn.Corpus.from_texts(texts, stop_words=[APART.lower()]).vocabulary == ["offen", "zu"]


@pytest.mark.parametrize(("vocabulary", "columns"), [
    ([APART], [2]),  # of a model that an earlier version has trained
    ([APART, COMPOSED], [0, 2]),
    ([COMPOSED, APART], [2, 0]),
])  # fmt: skip
def test_terms_of_a_vocabulary_in_another_form(vocabulary: Any, columns: list[int]) -> None:
    options = {"lowercase": False, "token_pattern": r"\S+"}
    found = pgbn.Corpus.from_texts([f"{COMPOSED} {APART}"], vocabulary=vocabulary, **options)
    assert found.counts.toarray().tolist() == [columns]
    assert found.vocabulary == vocabulary  # its columns keep their names


@pytest.mark.parametrize(
    ("given_texts", "message"),
    [
        ("cats and dogs", "is one text; give a list"),
        (["a cat", None], "document '1' is None"),
        ([["a", "cat"]], r"document '0' is \['a', 'cat'\].*join its terms"),
        (np.array([["a cat"]]), "a table .ndarray., not a list; give the column"),
    ],
)
def test_what_is_no_list_of_texts_is_rejected(given_texts: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        pgbn.Corpus.from_texts(given_texts)


@pytest.mark.parametrize(
    "value", [np.array(["text", "b"]), {"a": 1}, 3, [None], int, b"x"], ids=repr
)
def test_arguments_of_another_kind(value: Any, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,id\nhello world,1\nworld again,2\n")
    (tmp_path / "a.mtx").write_text(
        "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 2\n"
    )
    for argument in ("format", "column", "label", "ngram_range", "stop_words"):
        given = {argument: value}
        if argument == "stop_words" and isinstance(value, (np.ndarray, list)):
            continue  # a list, after all
        with pytest.raises(DataError, match=rf"\b{argument}\b"):
            pgbn.Corpus.read(tmp_path / "a.csv", **given)
    with pytest.raises(DataError, match="terms="):
        pgbn.Corpus.read(tmp_path / "a.mtx", terms=value)
    if not isinstance(value, np.ndarray):
        with pytest.raises(DataError, match="texts"):
            pgbn.Corpus.from_texts(value)


def test_texts_are_counted_like_those_of_a_model(tmp_path: Path) -> None:
    """Its terms, its pattern and its n-grams, read from the folder alone."""
    (tmp_path / "a.txt").write_text("Sea ship\nship wave\n" * 3)
    words = ["fit", tmp_path / "a.txt", "-o", tmp_path / "model", *FAST, "--ngrams", "2",
             "--max-df", "1.0", "--keep-case"]  # fmt: skip
    code, line = command(*words)
    assert code == 0, line
    model = pgbn.load(tmp_path / "model")
    corpus = pgbn.Corpus.from_texts(["Sea ship storm"], like=tmp_path / "model")
    assert corpus.vocabulary == list(model.deepest.vocabulary)
    assert corpus.counts.toarray().sum() == 3  # Sea, ship, Sea ship
    (tmp_path / "b.txt").write_text("Sea ship storm\n")
    again = pgbn.Corpus.read(tmp_path / "b.txt", like=tmp_path / "model")
    assert (again.counts != corpus.counts).nnz == 0
    assert model.infer(corpus, burn_in=2, draws=2).features(1).shape[0] == 1
    with pytest.raises(DataError, match=r"like=.*its terms are counted; omit vocabulary, min_df"):
        pgbn.Corpus.from_texts(["a"], like=tmp_path / "model", vocabulary=["a"], min_df=1)
    pgbn.save(pgbn.zoo.pfa(2), tmp_path / "network")
    with pytest.raises(StorageError, match="no names of terms; give vocabulary="):
        pgbn.Corpus.from_texts(["a"], like=tmp_path / "network")


@pytest.mark.parametrize(("options", "told"), [
    ({"mindf": 2}, "mindf=2: not an option of CountVectorizer. Did you mean 'min_df'?"),
    ({"name_colum": "id"}, "Did you mean 'name_column'?"),
    ({"stop_words": "english"}, "no terms could be counted (stop_words='english'): empty"),
])  # fmt: skip
def test_options_that_cannot_be_meant(options: dict[str, Any], told: str) -> None:
    with pytest.raises(DataError) as caught:
        pgbn.Corpus.from_texts(["the of"], **options)
    assert told in str(caught.value)
