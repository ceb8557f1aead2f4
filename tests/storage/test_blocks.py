"""Corpora in blocks: read as X, checked, refused where they do not fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn
from pgbn.errors import DataError, StorageError
from pgbn.storage import memory
from pgbn.storage.blocks import counts_of
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
    monkeypatch.setattr("pgbn.storage.memory.memory", lambda: small)
    assert memory.memory() == small
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
