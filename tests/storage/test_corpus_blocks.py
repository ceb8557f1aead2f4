"""Corpora in blocks: read as X, checked, rejected where they do not fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn
from pgbn.errors import DataError, StorageError
from pgbn.storage import archive
from pgbn.storage.corpus import name_arrays, read_names
from tests.helpers.saved import forge, write_group


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
