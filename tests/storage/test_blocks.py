"""Corpora in blocks: read as X, checked, refused where they do not fit."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn
from pgbn.errors import DataError, StorageError
from pgbn.storage import read_limits
from pgbn.storage.arrays import write_npz
from pgbn.storage.blocks import counts_of, name_arrays, read_names
from tests.helpers.saved import forge


@pytest.fixture
def stored(tmp_path: Path) -> pgbn.Corpus:
    X = sp.csr_array(np.random.default_rng(0).poisson(0.4, (50, 12)))
    return pgbn.Corpus.build(X, tmp_path / "corpus", block_rows=8)


def test_both_kinds_have_the_same_blocks(stored) -> None:
    whole = pgbn.Corpus(stored.counts, None, stored.labels)
    assert whole.shape == stored.shape == (50, 12)
    assert (whole.block_count, stored.block_count) == (1, 7)
    assert (whole.entries, whole.total) == (stored.entries, stored.total)
    joined = sp.vstack(list(stored.blocks()))
    assert (joined != whole.block(0)).nnz == 0
    assert whole.block_labels(0) == [name for b in range(7) for name in stored.block_labels(b)]
    assert "50 documents, 12 terms, 7 blocks" in repr(stored)
    assert repr(whole) == f"Corpus(50 documents, 12 terms, {whole.total:g} counts)"
    for corpus in (whole, stored):
        with pytest.raises(DataError, match="block 7"):
            corpus.block(7)


def test_a_corpus_is_taken_where_counts_are(stored) -> None:
    def topics(X: object) -> np.ndarray:
        trained = pgbn.train_layerwise(X, 3, 1, burn_in=2, collect=2, progress=None,
                                       layer1="partial")  # fmt: skip
        return trained.networks[-1].phi[0]

    np.testing.assert_array_equal(topics(stored), topics(stored.counts))
    fitted = [pgbn.PGBN(max_width=3, depth=1, burn_in=2, collect=2, random_state=0).fit(X)
              for X in (stored, stored.counts)]  # fmt: skip
    np.testing.assert_array_equal(fitted[0].components_, fitted[1].components_)
    assert counts_of(7) == 7


def test_a_damaged_block_is_named(stored, tmp_path) -> None:
    body = pgbn.storage.archive.read_manifest(tmp_path / "corpus")
    file = tmp_path / "corpus" / body["groups"]["block/3"]
    bytes_ = bytearray(file.read_bytes())
    bytes_[len(bytes_) // 2] ^= 1
    file.write_bytes(bytes_)
    stored.block(2)
    with pytest.raises(StorageError, match=rf"block 3 \(documents 24 to 31\): .*{file.name}"):
        stored.block(3)
    file.unlink()
    with pytest.raises(StorageError, match=r"block 3 .* missing"):
        stored.block_labels(3)


def test_what_does_not_fit_into_memory_says_how_large_it_is(stored, monkeypatch) -> None:
    small = stored.entries * 10
    monkeypatch.setattr("pgbn.storage.read_limits.memory", lambda: small)
    assert read_limits.memory() == small
    with pytest.raises(DataError, match=r"50 documents .* would need .* block by block"):
        _ = stored.counts
    assert stored.block(0).shape == (8, 12)


def test_another_folder_is_no_corpus(tmp_path) -> None:
    pgbn.save(pgbn.zoo.pgbn((2,)), tmp_path / "net")
    with pytest.raises(StorageError, match="a saved network, not a corpus"):
        pgbn.Corpus.open(tmp_path / "net")


@pytest.mark.parametrize(("key", "value"), [
    ("total", 10**400), ("total", "many"), ("options", [1]), ("rows", -1), ("rows", 10**400),
    ("block_rows", 0), ("columns", None), ("entries", 2.5),
])  # fmt: skip
def test_forged_sizes_are_refused_when_it_is_opened(stored, tmp_path, key, value) -> None:
    folder = tmp_path / "corpus"
    forge(folder, lambda body: body["content"]["object"].update({key: value}))
    with pytest.raises(StorageError, match="corpus: damaged"):
        pgbn.Corpus.open(folder)


@pytest.mark.parametrize(("key", "value"), [
    ("complete", "no"), ("complete", 1), ("named", "yes"), ("named", None), ("total", -5),
    ("columns", 2**31),
])  # fmt: skip
def test_a_yes_or_no_is_one(stored, tmp_path, key, value) -> None:
    """ "no" counted as yes."""
    folder = tmp_path / "corpus"
    forge(folder, lambda body: body["content"]["object"].update({key: value}))
    for read in (pgbn.Corpus.open, pgbn.load):
        with pytest.raises(StorageError, match="corpus: damaged"):
            read(folder)


# ---- arrays with valid checksums that make no sense -----------------------------------------


def without(name: str):
    return lambda arrays: {key: array for key, array in arrays.items() if key != name}


def with_(**changed):
    return lambda arrays: arrays | {name: change(arrays[name]) for name, change in changed.items()}


def forged(folder: Path, group: str, change) -> pgbn.Corpus:
    """The corpus, with arrays of one group changed."""
    pgbn.Corpus.build(np.arange(1, 13).reshape(4, 3), folder, vocabulary=list("abc"), block_rows=2)
    body = pgbn.storage.archive.read_manifest(folder)
    arrays = change(pgbn.storage.archive.read_arrays(folder, body, group))
    data = BytesIO()
    write_npz(data, arrays)
    forge(folder, lambda body: body["groups"].update({group: body["groups"]["forged"]}),
          forged=data.getvalue())  # fmt: skip
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
    "no ends": without("ends"), "no text": without("text"),
    "ends of two dims": with_(ends=lambda a: a.reshape(-1, 1)),
    "ends of two dims, turned": with_(ends=lambda a: a.reshape(1, -1)),
    "real ends": with_(ends=lambda a: np.full(a.shape, np.nan)),
    "fewer names": with_(ends=lambda a: a[:1], text=lambda a: a[:1]),
    "no names": with_(ends=lambda a: a[:0], text=lambda a: a[:0]),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_senseless_counts_are_refused(tmp_path, name) -> None:
    corpus = forged(tmp_path / "corpus", "block/1", COUNTS[name])
    place = rf"{tmp_path / 'corpus'}: block 1 \(documents 2 to 3\): "
    assert corpus.block(0).shape == (2, 3)
    for read in (lambda: corpus.block(1), lambda: corpus.counts):
        with pytest.raises(StorageError, match=place):
            read()


@pytest.mark.parametrize("name", NAMES)
def test_senseless_names_of_documents_are_refused(tmp_path, name) -> None:
    corpus = forged(tmp_path / "corpus", "block/1", NAMES[name])
    assert corpus.block_labels(0) == ["0", "1"]
    for read in (lambda: corpus.block_labels(1), lambda: corpus.labels):
        with pytest.raises(StorageError, match=rf"{tmp_path / 'corpus'}: block 1 "):
            read()


@pytest.mark.parametrize("name", [*NAMES, "repeated"])
def test_senseless_names_of_terms_are_refused(tmp_path, name) -> None:
    repeated = with_(text=lambda a: np.full(3, 97, np.uint8))
    corpus = forged(tmp_path / "corpus", "vocabulary", NAMES.get(name, repeated))
    with pytest.raises(StorageError, match=rf"{tmp_path / 'corpus'}: the vocabulary: "):
        _ = corpus.vocabulary


def test_senseless_documents_of_a_model_are_refused(tmp_path) -> None:
    pgbn.save(pgbn.zoo.pfa(2), tmp_path / "m", data=np.eye(2))
    data = BytesIO()
    write_npz(data, {"shape": np.array([1, 1]), "indptr": np.array([0, 1]),
                     "indices": np.array([0]), "values": np.array([2**63], np.uint64)})  # fmt: skip
    forge(tmp_path / "m", documents=data.getvalue())
    with pytest.raises(StorageError, match=r"m: the data are damaged: a count is negative, or 2"):
        pgbn.load(tmp_path / "m")


@pytest.mark.parametrize("names", [[], [""], ["a", "", "größe", "天气"], ["half \ud800"]])
def test_names_come_back(names) -> None:
    arrays = name_arrays(names)
    assert read_names(arrays["text"], arrays["ends"]) == names


@pytest.mark.parametrize(("text", "ends"), [
    ([97, 98], [1]),  # a letter too many
    ([97], [2]),
    ([97, 98], [2, 1]),
    ([255], [1]),  # not UTF-8
])  # fmt: skip
def test_damaged_names_are_refused(text, ends) -> None:
    with pytest.raises(StorageError, match="the names are damaged"):
        read_names(np.array(text, np.uint8), np.array(ends))
