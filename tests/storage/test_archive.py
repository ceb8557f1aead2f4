"""Saved folders: damage, forgery, the types of what a file says, and kinds that can be loaded."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pgbn
from pgbn import zoo
from pgbn.errors import DataError, StorageError
from pgbn.storage import archive, writing
from pgbn.storage.archive import check_form, register_unloadable
from tests.helpers.hostile import attempt, campaign
from tests.helpers.saved import all_files, forge


def test_any_flipped_bit_is_noticed(folder: Path) -> None:
    random_bits = random.Random(0)
    for path in all_files(folder):
        good = path.read_bytes()
        for _ in range(40):
            place = random_bits.randrange(len(good))
            bad = bytearray(good)
            bad[place] ^= 1 << random_bits.randrange(8)
            path.write_bytes(bad)
            with pytest.raises(StorageError):
                pgbn.load(folder)
        path.write_bytes(good)
    pgbn.load(folder)


def test_truncated_missing_and_longer_files(folder: Path) -> None:
    for path in all_files(folder):
        good = path.read_bytes()
        for bad in (b"", good[:1], good[: len(good) // 2], good[:-1], b"\0" * len(good)):
            path.write_bytes(bad)
            with pytest.raises(StorageError):
                pgbn.load(folder)
        path.unlink()
        with pytest.raises(StorageError, match=r"missing|no saved model"):
            pgbn.load(folder)
        path.write_bytes(good)
    pgbn.load(folder)
    pgbn.load(folder / "model.json")


def test_foreign_and_newer_files(tmp_path: Path, trained: pgbn.LayerwiseTraining) -> None:
    texts = {
        b'{"a": 1}': "not written by pgbn", b"[1, 2]": "not written by pgbn", b"null": "pgbn",
        b"PK\3\4": "not JSON", b"[" * 200_000: "not JSON", b"\xff\xfe": "not JSON",
        b'{"format": "pgbn-model", "version": 99, "stuff": 1}': "newer pgbn",
        b'{"format": "pgbn-model", "version": 1}': "damaged",
        b'{"format": "pgbn-model", "version": "1"}': "damaged",
    }  # fmt: skip
    for text, words in texts.items():
        (tmp_path / "model.json").write_bytes(text)
        with pytest.raises(StorageError, match=words):
            pgbn.load(tmp_path)
        with pytest.raises(StorageError):  # and it is not written over
            pgbn.save(trained, tmp_path)
        assert (tmp_path / "model.json").read_bytes() == text
    with pytest.raises(StorageError, match="no saved model"):
        pgbn.load(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError):
        pgbn.load(tmp_path / "file")
    with pytest.raises(StorageError, match="could not be written"):
        pgbn.save(trained, tmp_path / "file")


def test_hostile_manifests(folder: Path) -> None:
    def set_in(*keys: str, value: Any) -> Any:
        def change(body: Any) -> None:
            for key in keys[:-1]:
                body = body[key]
            body[keys[-1]] = value

        return change

    document = (folder / "model.json").read_text()
    deep: Any = {}
    for _ in range(500):
        deep = {"a": deep}
    for change in (
        set_in("groups", "model", value="../../secret.npz"),
        set_in("groups", "model", value="/etc/passwd"),
        set_in("groups", "model", value=["a"]),
        set_in("files", "../../secret.npz", value={"sha256": "", "bytes": 1}),
        set_in("files", value=[]),
        set_in("kind", value="planet"),
        set_in("kind", value=["training"]),
        set_in("kind", value="chain"),
        set_in("content", value=None),
        set_in("content", value={}),
        set_in("content", "object", value={"networks": [{"depth": 10**9}], "stopped": ""}),
        set_in("content", "object", value={"networks": 7, "stopped": ""}),
        set_in("content", "object", value=deep),
        set_in("groups", value={}),
    ):
        forge(folder, change)
        with pytest.raises(StorageError):
            pgbn.load(folder)
        (folder / "model.json").write_text(document)
    pgbn.load(folder)


def test_reader_while_a_writer_replaces(folder: Path, trained: pgbn.LayerwiseTraining,
                                        monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    """The files of a manifest vanish because a newer one has come: read that one."""
    real, times = archive.read_arrays, []

    def slow(*arguments: Any) -> Any:
        if not times:
            times.append(1)
            pgbn.save(trained.deepest, folder)
        return real(*arguments)

    monkeypatch.setattr("pgbn.storage.archive.read_arrays", slow)
    assert isinstance(pgbn.load(folder), pgbn.TrainedNetwork)


@campaign(80)
@given(st.integers(0, 10**6), st.sampled_from(["", "0", "-1", "1e999", "null", "[]", '"\\ud800"']))
def test_manifests_with_a_wrong_part(place: Path, where: int, value: str) -> None:
    """Even where the checksum was made to fit."""
    from pgbn.storage.archive import body_digest

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
    document |= {"body": body, "sha256": body_digest(body)}
    path.write_text(json.dumps(document))
    attempt(lambda: pgbn.load(place / "saved"), ["saved"])
    path.unlink()


@pytest.mark.parametrize(("content", "kind"), [
    ({"a": 1}, int), ({"a": 10**400}, int), ({"a": 1}, float), ({"a": 0.5}, float),
    ({"a": "x"}, str), ({"a": []}, list[str]), ({"a": {"b": [1, 2.5]}}, dict[str, list[float]]),
    ({"a": [3, 2]}, int | list[int]), ({}, int), ({"b": "another entry"}, int),
])  # fmt: skip
def test_what_a_writer_writes(content: dict[str, Any], kind: Any) -> None:
    check_form(content, {}, {"a": kind})


@pytest.mark.parametrize(("content", "kind", "words"), [
    ({"a": True}, int, "damaged: a is True: .* integer"),
    ({"a": 1.0}, int, "damaged: a is 1.0"),
    ({"a": "1"}, int, "damaged: a is '1'"),
    ({"a": 10**400}, float, "damaged: a is 1000"),
    ({"a": None}, str, "damaged: a is None"),
    ({"a": 3}, list[str], "damaged: a is 3: .* list"),
    ({"a": ["x", 3]}, list[str], "damaged: a/1 is 3: .* string"),
    ({"a": {"b": [[1]]}}, dict[str, list[int]], r"damaged: a/b/0 is \[1\]"),
    ({}, int, "there is no entry 'a'"),
    ([1], int, r"damaged: \[1\] is no object"),
])  # fmt: skip
def test_what_no_writer_writes(content: Any, kind: Any, words: str) -> None:
    with pytest.raises(StorageError, match=words):
        check_form(content, {"a": kind})


def test_what_cannot_be_saved(tmp_path: Path, trained: pgbn.LayerwiseTraining) -> None:
    with pytest.raises(StorageError, match="dict cannot be saved"):
        pgbn.save({}, tmp_path / "x")
    with pytest.raises(DataError, match="vocabulary: 3 names, but 70 are needed"):
        pgbn.save(trained, tmp_path / "x", vocabulary=["a", "b", "c"])
    for names in ({f"w{v}" for v in range(70)}, {f"w{v}": v + 1 for v in range(70)}, "w" * 70):
        with pytest.raises(DataError, match="vocabulary: a "):
            pgbn.save(trained, tmp_path / "x", vocabulary=names)
    with pytest.raises(DataError, match="labels: a set"):
        pgbn.save(trained, tmp_path / "x", labels={"one", "two"})
    with pytest.raises(StorageError, match="cannot be written as JSON"):
        pgbn.save(trained, tmp_path / "x", record={"f": open})
    many = pgbn.Chain.replicated(zoo.pfa(2), {"doc": 2, "term": 3}, 4)
    with pytest.raises(StorageError, match="replicated"):
        pgbn.save(many, tmp_path / "x")


def test_a_kind_may_say_why_it_cannot_be_loaded(tmp_path: Path) -> None:
    """The room that writes a kind knows what can be done with it; storage does not."""
    content = {"object": {}, "vocabulary": None, "labels": None, "record": {}}
    writing.write(tmp_path / "half", "half a model", content, {})
    with pytest.raises(StorageError, match="does not know what a saved 'half a model' is"):
        pgbn.load(tmp_path / "half")
    register_unloadable("half a model", lambda path: f"finish it with finish({path.name!r})")
    with pytest.raises(StorageError, match=r"half: finish it with finish\('half'\)"):
        pgbn.load(tmp_path / "half")


def test_a_kind_whose_package_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(archive._modules, "picture", "no_such_package.pictures")
    with pytest.raises(StorageError, match="a saved picture needs no_such_package, which is not"):
        archive.decode("picture", {}, lambda group: {})
