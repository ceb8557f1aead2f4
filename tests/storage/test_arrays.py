"""Arrays in files: those made to do harm, and groups whose rows several writers have."""

from __future__ import annotations

import json
import pickle
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn.errors import StorageError
from pgbn.storage import archive
from pgbn.storage.arrays import InParts, WrittenPart, write_part
from pgbn.storage.writing import still_there, write
from tests.helpers.saved import Trap, forge, npy, npz

SHAPE = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }"
ONE = npy(SHAPE % ("<f8", "(1,)"), b"\0" * 8)
TRAP = pickle.dumps(Trap())


@pytest.mark.parametrize("entries", [
    {"0/r.npy": npy(SHAPE % ("|O", "(1,)"), TRAP)}, {"0/r.npy": TRAP}, {},
    {"0/r.npy": npy(SHAPE % ("<f8", "(99999999999, 99999999999)"))},
    {"0/r.npy": npy(SHAPE % ("<f8", "(-1,)"))},
    {"0/r.npy": npy("__import__('os').mkdir('pwned')")}, {"0/r.npy": npy("(" * 60_000)},
    {"../../../etc/passwd.npy": npy(SHAPE % ("<f8", "()"), b"\0" * 8)},
    *({"0/r.npy": npy(SHAPE % (kind, "(1,)"), b"\0" * size)} for kind, size in (
        ("<U4", 16), ("V8", 8), ("<f2", 2), (">f8", 8), ("<f16", 16), (">i4", 4), ("<c16", 16),
        ("<M8[s]", 8))),
])  # fmt: skip
def test_hostile_arrays(
    tmp_path: Path, folder: Path, entries: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code, claims that the bytes do not keep, and numbers that kernels do not read."""
    monkeypatch.chdir(tmp_path)
    forge(folder, model=npz(tmp_path, entries))
    with pytest.raises(StorageError):
        pgbn.load(folder)
    assert not (tmp_path / "pwned").exists()


def test_archives_that_are_none(tmp_path: Path, folder: Path) -> None:
    bomb = npy(SHAPE % ("<f8", "(10000000,)"), b"\0" * 80_000_000)
    forge(folder, model=npz(tmp_path, {"0/r.npy": bomb}, zipfile.ZIP_DEFLATED))
    with pytest.raises(StorageError, match="compressed"):
        pgbn.load(folder)
    forge(folder, model=b"not a zip file")
    with pytest.raises(StorageError, match="not arrays of pgbn"):
        pgbn.load(folder)


def test_entries_that_come_twice_or_overlap(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "forged.npz"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("0/r.npy", ONE)
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("0/r.npy", ONE)
    twice = path.read_bytes()
    plain = npz(tmp_path, {"0/r.npy": ONE, "0/r": ONE})  # one key for two entries
    inner = npz(tmp_path, {"b.npy": ONE})
    local = inner[: inner.index(b"PK\1\2")]  # the whole of b.npy, as a part of a.npy
    outer = npz(tmp_path, {"a.npy": npy(SHAPE % ("<u1", f"({len(local)},)"), local)})
    record = bytearray(inner[inner.index(b"PK\1\2") : inner.index(b"PK\5\6")])
    record[42:46] = outer.index(local).to_bytes(4, "little")
    start, end = outer.rindex(b"PK\1\2"), outer.rindex(b"PK\5\6")
    tail = bytearray(outer[end:])
    tail[8:12] = (2).to_bytes(2, "little") * 2
    tail[12:16] = (end - start + len(record)).to_bytes(4, "little")
    both = outer[:end] + bytes(record) + bytes(tail)
    for data, words in ((twice, "twice"), (plain, "not an array"), (both, "overlap")):
        forge(folder, model=data)
        with pytest.raises(StorageError, match=words):
            pgbn.load(folder)


ROWS = np.arange(12.0).reshape(6, 2)
WIDE = np.arange(18).reshape(3, 6)  # its rows along the last axis
EDGES = [(0, 2), (2, 5), (5, 6)]


def spread(rows: np.ndarray = ROWS, edges: list[tuple[int, int]] = EDGES) -> InParts:
    """Rows that three others have."""

    def others(probe: Path, stem: str) -> list[WrittenPart]:
        parts = [
            write_part(probe, stem, (a, b), {"rows": rows[a:b], "wide": WIDE[:, a:b]})
            for a, b in edges
        ]
        return [part for part in parts if part is not None]

    here = {"shared": np.ones(2)}
    return InParts(here, {"wide": -1}, others, lambda: {"rows": rows, "wide": WIDE, **here})


def read(folder: Path) -> dict[str, np.ndarray]:
    return archive.read_arrays(folder, archive.read_manifest(folder), "state")


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_parts_are_read_kept_and_replaced_with_their_group(tmp_path: Path) -> None:
    groups = write(tmp_path, "thing", {}, {"state": spread(), "other": {"a": np.ones(1)}})
    before = archive.read_manifest(tmp_path)
    assert len(before["parts"]["state"]["files"]) == len(EDGES)
    assert json.loads((tmp_path / "model.json").read_text())["version"] == 2
    assert names(tmp_path) == {"model.json", *before["files"]}
    found = read(tmp_path)
    assert set(found) == {"rows", "wide", "shared"}
    assert np.array_equal(found["rows"], ROWS)
    assert np.array_equal(found["wide"], WIDE)
    assert still_there(tmp_path, groups) == groups
    write(tmp_path, "thing", {}, {"other": {"a": np.ones(2)}}, {"state": groups["state"]})
    assert archive.read_manifest(tmp_path)["parts"] == before["parts"]
    assert np.array_equal(read(tmp_path)["rows"], ROWS)
    gone = before["parts"]["state"]["files"][1]
    (tmp_path / gone).write_bytes(b"")
    assert "state" not in still_there(tmp_path, groups)
    with pytest.raises(StorageError, match=gone):
        read(tmp_path)
    write(tmp_path, "thing", {}, {"state": {"rows": ROWS + 1}})
    body = archive.read_manifest(tmp_path)
    assert "parts" not in body
    assert json.loads((tmp_path / "model.json").read_text())["version"] == 1
    assert names(tmp_path) == {"model.json", *body["files"]}


def test_who_does_not_see_the_folder_writes_nothing(tmp_path: Path) -> None:
    assert write_part(tmp_path / "elsewhere" / "probe", "state", (0, 6), {"rows": ROWS}) is None
    whole = spread()
    for answer in (None, [WrittenPart(".state.npz-1.part", "0" * 64, 5)]):  # not seen by the driver
        blind = InParts(whole.here, whole.axes, lambda probe, stem, a=answer: a, whole.whole)
        write(tmp_path, "thing", {}, {"state": blind})
        assert "parts" not in archive.read_manifest(tmp_path)
        assert np.array_equal(read(tmp_path)["rows"], ROWS)


@pytest.mark.parametrize("moment", ["parts", "manifest", "names"])
def test_what_was_there_stays_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Whoever is killed, and whenever: the last content is there, and the next writer tidies up."""
    write(tmp_path, "thing", {}, {"state": spread()})
    group = spread(ROWS + 1)

    def die(*arguments: Any) -> Any:
        if moment == "parts":
            group.write(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("pgbn.storage.writing._remove", lambda *arguments: None)  # SIGKILL tidies not
        if moment == "manifest":
            patch.setattr("pgbn.storage.writing._write_manifest", die)
        if moment == "names":
            patch.setattr(Path, "replace", die)
        killed = replace(group, write=die) if moment == "parts" else group
        with pytest.raises(KeyboardInterrupt):
            write(tmp_path, "thing", {}, {"state": killed})
    assert np.array_equal(read(tmp_path)["rows"], ROWS)
    assert any(name.endswith(".part") for name in names(tmp_path))
    write(tmp_path, "thing", {}, {"state": spread(ROWS + 2)})
    assert np.array_equal(read(tmp_path)["rows"], ROWS + 2)
    assert names(tmp_path) == {"model.json", *archive.read_manifest(tmp_path)["files"]}


def test_parts_that_do_not_follow_each_other_are_rejected(tmp_path: Path) -> None:
    write(tmp_path, "thing", {}, {"state": spread(edges=[(0, 2), (3, 6)])})
    with pytest.raises(StorageError, match="rows 3 to 6, not from 2 on"):
        read(tmp_path)


@pytest.mark.parametrize("change", [
    {"files": []}, {"files": ["../../x"]}, {"files": None}, {"axes": {"wide": "0"}}, {"axes": None},
    {"files": "twice"},
])  # fmt: skip
def test_forged_parts_are_rejected(tmp_path: Path, change: dict[str, Any]) -> None:
    write(tmp_path, "thing", {}, {"state": spread()})

    def forged(body: Any) -> None:
        part = body["parts"]["state"]
        part.update({"files": part["files"][:1] * 2} if change == {"files": "twice"} else change)

    forge(tmp_path, forged)
    with pytest.raises(StorageError, match="not a manifest of pgbn"):
        archive.read_manifest(tmp_path)
