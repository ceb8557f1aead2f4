"""Corpora: documents that are read, with options and bad files, and blocks of rows."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn
from pgbn.errors import DataError, StorageError
from pgbn.storage import archive
from pgbn.storage.corpus import name_arrays, read_names
from tests.helpers.saved import forge, write_group

pytest.importorskip("typer")
pytest.importorskip("sklearn")

from hypothesis import given
from hypothesis import strategies as st

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


# ---- blocks ---------------------------------------------------------------------------------


@pytest.fixture
def stored(tmp_path: Path) -> pgbn.Corpus:
    X = sp.csr_array(np.random.default_rng(0).poisson(0.4, (50, 12)))
    return pgbn.Corpus.build(X, tmp_path / "corpus", block_rows=8)


def test_both_kinds_have_the_same_blocks(stored) -> None:
    whole = pgbn.Corpus(stored.counts, None, stored.names)
    assert whole.shape == stored.shape == (50, 12)
    assert (whole.block_count, stored.block_count) == (1, 7)
    assert (whole.entries, whole.total) == (stored.entries, stored.total)
    joined = sp.vstack(list(stored.blocks()))
    assert (joined != whole.block(0)).nnz == 0
    assert whole.block_names(0) == [name for b in range(7) for name in stored.block_names(b)]
    assert "50 documents, 12 terms, 7 blocks" in repr(stored)
    assert repr(whole) == f"Corpus(50 documents, 12 terms, {whole.total:g} counts)"
    for corpus in (whole, stored):
        with pytest.raises(DataError, match="block 7"):
            corpus.block(7)


def test_a_damaged_block_is_named(stored, tmp_path) -> None:
    body = archive.read_manifest(tmp_path / "corpus")
    file = tmp_path / "corpus" / body["groups"]["block/3"]
    bytes_ = bytearray(file.read_bytes())
    bytes_[len(bytes_) // 2] ^= 1
    file.write_bytes(bytes_)
    stored.block(2)
    with pytest.raises(StorageError, match=rf"block 3 \(documents 24 to 31\): .*{file.name}"):
        stored.block(3)
    file.unlink()
    with pytest.raises(StorageError, match=r"block 3 .* missing"):
        stored.block_names(3)


def test_what_does_not_fit_into_memory_says_how_large_it_is(stored, monkeypatch) -> None:
    small = stored.entries * 10
    monkeypatch.setattr("pgbn.storage.read_limits.memory", lambda: small)
    with pytest.raises(DataError, match=r"50 documents .* would need .* block by block"):
        _ = stored.counts
    assert stored.block(0).shape == (8, 12)


def test_another_folder_is_no_corpus(tmp_path) -> None:
    pgbn.save(pgbn.zoo.pgbn((2,)), tmp_path / "net")
    with pytest.raises(StorageError, match="a saved network, not a corpus"):
        pgbn.Corpus.open(tmp_path / "net")


@pytest.mark.parametrize(("key", "value"), [
    ("total", 10**400), ("total", "many"), ("total", -5), ("options", [1]), ("rows", -1),
    ("rows", 10**400), ("block_rows", 0), ("columns", None), ("columns", 2**31), ("entries", 2.5),
    ("complete", "no"), ("complete", 1), ("named", "yes"), ("named", None),
])  # fmt: skip
def test_forged_entries_are_rejected_when_it_is_opened(stored, tmp_path, key, value) -> None:
    folder = tmp_path / "corpus"
    forge(folder, lambda body: body["content"]["object"].update({key: value}))
    for read in (pgbn.Corpus.open, pgbn.load):
        with pytest.raises(StorageError, match="corpus: damaged"):
            read(folder)


# ---- arrays with valid checksums that make no sense ---------------------------------------


def without(name: str):
    return lambda arrays: {key: array for key, array in arrays.items() if key != name}


def with_(**changed):
    return lambda arrays: arrays | {name: change(arrays[name]) for name, change in changed.items()}


def forged(folder: Path, group: str, change) -> pgbn.Corpus:
    """The corpus, with arrays of one group changed."""
    pgbn.Corpus.build(np.arange(1, 13).reshape(4, 3), folder, vocabulary=list("abc"), block_rows=2)
    arrays = archive.read_arrays(folder, archive.read_manifest(folder), group)
    forge(folder, lambda body: write_group(folder, body, group, change(arrays)))
    return pgbn.Corpus.open(folder)


COUNTS = {
    "no shape": without("shape"), "no values": without("values"),
    "a shape of three": with_(shape=lambda a: np.array([2, 3, 1])),
    "a shape of NaN": with_(shape=lambda a: np.array([2.0, np.nan])),
    "rows -1": with_(shape=lambda a: np.array([-1, 3]), indptr=lambda a: np.zeros(0, np.int64)),
    "indptr of no dim": with_(indptr=lambda a: np.array(3)),
    "indices of two dims": with_(indices=lambda a: a.reshape(-1, 1)),
    "another shape": with_(shape=lambda a: np.array([2, 4])),
    "negative": with_(values=lambda a: -a.astype(np.int64)),
    "negative reals": with_(values=lambda a: -a.astype(float)),
    "2^63": with_(values=lambda a: a.astype(np.uint64) + np.uint64(2**63)),
    "a sum beyond 2^63": with_(values=lambda a: a.astype(np.int64) + 2**62),
    "a sum beyond 1.7e308": with_(values=lambda a: np.full(a.shape, 1e308)),
}  # fmt: skip
NAMES = {
    "no ends": without("ends"),
    "no text": without("text"),
    "ends of two dims": with_(ends=lambda a: a.reshape(-1, 1)),
    "ends of two dims, turned": with_(ends=lambda a: a.reshape(1, -1)),
    "real ends": with_(ends=lambda a: np.full(a.shape, np.nan)),
    "fewer names": with_(ends=lambda a: a[:1], text=lambda a: a[:1]),
    "no names": with_(ends=lambda a: a[:0], text=lambda a: a[:0]),
    "a letter too many": with_(text=lambda a: np.append(a, np.uint8(97))),
    "falling ends": with_(ends=lambda a: a[::-1]),
    "not UTF-8": with_(text=lambda a: np.full(a.shape, 255, np.uint8)),
}
BLOCK = r"block 1 \(documents 2 to 3\): "
SENSELESS = [
    *(("block/1", BLOCK, change, "counts") for change in COUNTS.values()),
    *(("block/1", BLOCK, change, "names") for change in NAMES.values()),
    *(("vocabulary", "the vocabulary: ", change, "vocabulary") for change in NAMES.values()),
    (
        "vocabulary",
        "the vocabulary: ",
        with_(text=lambda a: np.full(3, 97, np.uint8)),
        "vocabulary",
    ),
]


@pytest.mark.parametrize(("group", "place", "change", "what"), SENSELESS)
def test_senseless_arrays_are_rejected(tmp_path, group, place, change, what) -> None:
    corpus = forged(tmp_path / "corpus", group, change)
    assert corpus.block(0).shape == (2, 3)
    assert corpus.block_names(0) == ["0", "1"]
    with pytest.raises(StorageError, match=rf"{tmp_path / 'corpus'}: {place}"):
        getattr(corpus, what)


def test_senseless_documents_of_a_model_are_rejected(tmp_path) -> None:
    pgbn.save(pgbn.zoo.pfa(2), tmp_path / "m", data=np.eye(2))
    arrays = {"shape": np.array([1, 1]), "indptr": np.array([0, 1]), "indices": np.array([0]),
              "values": np.array([2**63], np.uint64)}  # fmt: skip
    forge(tmp_path / "m", lambda body: write_group(tmp_path / "m", body, "documents", arrays))
    with pytest.raises(StorageError, match=r"m: the data are damaged: a count is negative, or 2"):
        pgbn.load(tmp_path / "m")


@pytest.mark.parametrize("names", [[], [""], ["a", "", "größe", "天气"], ["half \ud800"]])
def test_names_come_back(names) -> None:
    assert read_names(name_arrays(names)) == names
