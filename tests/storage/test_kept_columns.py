"""Texts, dates and classes that are kept with a model."""

import json
import zlib
from typing import Any

import numpy as np
import pytest

from pgbn.errors import DataError, PgbnError, StorageError
from pgbn.network.network import Network
from pgbn.storage.folders import check_kept, kept_arrays, open_saved, read_kept, save
from pgbn.zoo import pfa


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
def test_wrong_columns_are_refused(columns: Any, said: str) -> None:
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
def test_a_forged_file_is_refused(arrays: Any) -> None:
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
