"""Folders that are whole at every moment: damage, forgery, failing disks, other writers."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pgbn
from pgbn.errors import StorageError
from pgbn.storage import archive
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
