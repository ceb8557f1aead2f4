"""Saved objects come back with their names and their columns."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn.errors import DataError, PgbnError, StorageError
from pgbn.network.network import Network
from pgbn.report import report_data
from pgbn.storage.folders import check_kept, kept_arrays, open_saved, read_kept, save
from pgbn.zoo import pfa
from tests.helpers.saved import QUICK, counts, same_networks


def test_trained(tmp_path: Path, trained: pgbn.LayerwiseTraining) -> None:
    words = [f"wörd {v} \u2603" for v in range(70)]
    pgbn.save(trained, tmp_path / "t", vocabulary=words, names=range(50), record={"a": [1, None]},
              data=counts())  # fmt: skip
    saved = open_saved(tmp_path / "t")
    same_networks(saved.object, trained)
    assert saved.object.stopped == trained.stopped
    assert (saved.vocabulary, saved.record, saved.package) == (
        words,
        {"a": [1, None]},
        pgbn.__version__,
    )
    assert saved.names == [str(i) for i in range(50)]
    assert (saved.data != counts()).nnz == 0
    pgbn.save(trained.deepest, tmp_path / "t")  # in the place of the other
    assert repr(pgbn.load(tmp_path / "t")) == repr(trained.deepest)
    spec = json.loads((tmp_path / "t" / "model.json").read_text())["body"]["content"]["object"]
    assert spec["networks"][0]["network"]["format"] == "pgbn-network/1"


def test_saved_names_come_back(tmp_path: Path, trained: pgbn.LayerwiseTraining) -> None:
    """Lists of topics and reports of a loaded model have the terms' names, and keep them."""
    words = [f"word{v}" for v in range(70)]
    wanted = trained.topics(1, 3, words)
    columns = {word: v for v, word in reversed(list(enumerate(words)))}
    pgbn.save(trained, tmp_path / "t", vocabulary=columns)
    again = pgbn.load(tmp_path / "t")
    assert again.topics(1, 3) == wanted
    assert report_data(again).vocabulary == words
    other = [f"other{v}" for v in range(70)]
    assert again.topics(1, 3, other)[0].terms[0].startswith("other")
    again = pgbn.train_layerwise(counts(), 8, 2, start_from=again, **QUICK)  # sweeps more
    pgbn.save(again.deepest, tmp_path / "t")
    assert pgbn.load(tmp_path / "t").vocabulary == tuple(words)
    assert open_saved(tmp_path / "t").vocabulary == words


@pytest.mark.parametrize("name", ["PGBN", "PFA"])
def test_estimators(tmp_path: Path, name: str) -> None:
    make = getattr(pgbn, name)
    width = {"max_width": 6} if name == "PGBN" else {"width": 6}
    model = make(**width, burn_in=5, sweeps=5, random_state=np.int64(3))
    pgbn.save(model, tmp_path / "e")
    assert pgbn.load(tmp_path / "e").get_params() == model.get_params()
    model.fit(counts())
    pgbn.save(model, tmp_path / "e")
    again = pgbn.load(tmp_path / "e")
    assert np.array_equal(again.transform(counts()), model.transform(counts()))
    assert again.widths_ == model.widths_
    model.set_params(random_state=np.random.RandomState(0))
    with pytest.raises(StorageError, match="random_state"):
        pgbn.save(model, tmp_path / "e")


def test_there_and_back() -> None:
    columns = {"text": ["Größe \ud800 \x00", "", "日本語"], "date": [2019, None, "2020"]}
    kept = check_kept(columns, 3)
    assert kept["date"] == ["2019", "", "2020"]
    assert read_kept(kept_arrays(kept)) == kept
    assert check_kept(None) == {}


@pytest.mark.parametrize(("columns", "said"), [
    ({"texts": ["a"]}, "Did you mean 'text'"), ({"text": "abc"}, "one text"),
    ({"text": ["a"]}, "1 entries for 2 documents"), ([], "give a dict"),
])  # fmt: skip
def test_wrong_columns_are_rejected(columns: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        check_kept(columns, 2)


def _array(data: bytes, size: int) -> dict[str, Any]:
    return {"text": np.frombuffer(data, np.uint8), "text_bytes": np.array([size])}


@pytest.mark.parametrize("arrays", [
    _array(zlib.compress(b'["a"]'), 4), _array(zlib.compress(b'["a"]'), 6),
    _array(zlib.compress(b'["a"]')[:-3], 5), _array(b"nothing", 5),
    _array(zlib.compress(b'{"a":1}'), 7), _array(zlib.compress(b"[1]"), 3),
    _array(zlib.compress(bytes(10**6)), 5), _array(zlib.compress(b"[]"), 10**15),
    {"text": np.zeros(3), "text_bytes": np.array([3])}, {"text": np.zeros(3, np.uint8)},
])  # fmt: skip
def test_a_forged_file_is_rejected(arrays: Any) -> None:
    """Also a small file that would become a large one."""
    with pytest.raises(PgbnError):
        read_kept(arrays)


@pytest.mark.parametrize("size", [-1, -2, -(2**63), np.nan, 5.0])
def test_a_length_that_is_none_unpacks_nothing(size: float, monkeypatch: Any) -> None:
    """A length of -1 once set no limit: 1.5 MB unpacked to as many GB as they liked."""
    monkeypatch.setattr("pgbn.storage.folders.zlib.decompressobj", None)
    arrays = {**_array(zlib.compress(b'["a"]'), 5), "text_bytes": np.array([size])}
    with pytest.raises(StorageError, match="the kept column 'text' is not a list of texts"):
        read_kept(arrays)


def test_columns_of_different_lengths_are_damage() -> None:
    arrays = kept_arrays({"text": ["a"], "date": ["1", "2"]})
    with pytest.raises(StorageError, match="different lengths"):
        read_kept(arrays)


def test_saved_beside_an_object(tmp_path: Any) -> None:
    save(pfa(2), tmp_path / "a", columns={"class": ["x", "y"]})
    found = open_saved(tmp_path / "a")
    assert isinstance(found.object, Network)
    assert found.columns == {"class": ["x", "y"]}
    save(pfa(2), tmp_path / "a")
    assert open_saved(tmp_path / "a").columns == {}
    assert (
        "columns" not in json.loads((tmp_path / "a" / "model.json").read_text())["body"]["groups"]
    )
