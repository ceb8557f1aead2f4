"""Saved folders: damage, forgery, the types of what a file says, and kinds that can be loaded."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer")
pytest.importorskip("sklearn")
import pgbn
from pgbn import zoo
from pgbn.errors import DataError, StorageError
from pgbn.storage import archive, writing
from pgbn.storage.archive import check_form, register_unloadable
from tests.helpers.saved import all_files, forge


def test_any_damage_is_noticed(folder: Path) -> None:
    """Flipped bits, and files that are cut off, longer, empty or missing."""
    random_bits = random.Random(0)
    for path in all_files(folder):
        good = path.read_bytes()
        bad = [b"", good[:1], good[: len(good) // 2], good[:-1], good + b"\0", b"\0" * len(good)]
        for _ in range(40):
            flipped = bytearray(good)
            flipped[random_bits.randrange(len(good))] ^= 1 << random_bits.randrange(8)
            bad.append(bytes(flipped))
        for data in bad:
            path.write_bytes(data)
            with pytest.raises(StorageError):
                pgbn.load(folder)
        path.unlink()
        with pytest.raises(StorageError, match=r"missing|no saved model"):
            pgbn.load(folder)
        os.mkfifo(path)
        with pytest.raises(StorageError, match="not a file, but a pipe"):  # it is not waited for
            pgbn.load(folder)
        path.unlink()
        path.write_bytes(good)
    pgbn.load(folder / "model.json")


def test_manifests_that_are_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is too large, and files of the system, of which some are waited for: they say that
    they are empty."""
    manifest = folder / "model.json"
    with manifest.open("r+b") as file:
        file.truncate(2**30)  # takes no space on the disk
    with pytest.raises(StorageError, match="at most 268435456 are read"):
        pgbn.load(folder)
    with monkeypatch.context() as patch:
        manifest.write_text("[" + "[]," * 100_000 + "0]")
        patch.setattr("pgbn.storage.read_limits.memory", lambda: 10**7)
        with pytest.raises(StorageError, match=r"model.json: it would need"):
            pgbn.load(folder)
    manifest.unlink()
    manifest.symlink_to("/proc/self/status" if Path("/proc/self/status").exists() else os.devnull)
    with pytest.raises(StorageError, match=r"it is empty|not a file"):
        pgbn.load(folder)


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


DEEP: Any = {}
for _ in range(500):
    DEEP = {"a": DEEP}


@pytest.mark.parametrize(("keys", "value"), [
    ("groups/model", "../../secret.npz"), ("groups/model", "/etc/passwd"), ("groups/model", ["a"]),
    ("files", {"../../secret.npz": {"sha256": "", "bytes": 1}}), ("files", []), ("groups", {}),
    ("kind", "planet"), ("kind", ["training"]), ("kind", "chain"), ("content", None),
    ("content", {}), ("content/object", {"networks": 7, "stopped": ""}), ("content/object", DEEP),
    ("content/object", {"networks": [{"depth": 10**9}], "stopped": ""}),
])  # fmt: skip
def test_hostile_manifests(folder: Path, keys: str, value: Any) -> None:
    """Even where the checksum was made to fit."""

    def change(body: Any) -> None:
        *first, last = keys.split("/")
        for key in first:
            body = body[key]
        body[last] = value

    forge(folder, change)
    with pytest.raises(StorageError):
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
    ([1], int, r"damaged: \[1\] is not an object"),
])  # fmt: skip
def test_what_no_writer_writes(content: Any, kind: Any, words: str) -> None:
    check_form({"a": [3, 2.5], "b": 10**400}, {"a": list[float]}, {"b": int, "c": str})
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
    with pytest.raises(DataError, match="names: a set"):
        pgbn.save(trained, tmp_path / "x", names={"one", "two"})
    with pytest.raises(StorageError, match="cannot be written as JSON"):
        pgbn.save(trained, tmp_path / "x", record={"f": open})
    many = pgbn.Chain._replicated(zoo.pfa(2), {"doc": 2, "term": 3}, 4)
    with pytest.raises(StorageError, match="replicated"):
        pgbn.save(many, tmp_path / "x")


def test_a_kind_may_say_why_it_cannot_be_loaded(tmp_path: Path) -> None:
    """The folder of the package that writes a kind knows what can be done with it; storage does not."""
    content = {"object": {}, "vocabulary": None, "labels": None, "record": {}}
    writing.write(tmp_path / "half", "half a model", content, {})
    with pytest.raises(StorageError, match="cannot read a saved 'half a model'"):
        pgbn.load(tmp_path / "half")
    register_unloadable("half a model", lambda path: f"finish it with finish({path.name!r})")
    with pytest.raises(StorageError, match=r"half: finish it with finish\('half'\)"):
        pgbn.load(tmp_path / "half")


def test_a_kind_whose_package_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(archive._modules, "picture", "no_such_package.pictures")
    with pytest.raises(StorageError, match="a saved picture needs no_such_package, which is not"):
        archive.decode("picture", {}, lambda group: {})
