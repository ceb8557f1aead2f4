"""Arrays in files: those made to do harm, and groups whose rows several writers have."""

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

import pgbn
from pgbn.errors import StorageError
from pgbn.storage import archive
from pgbn.storage.arrays import InParts, WrittenPart, write_part
from pgbn.storage.writing import still_there, write
from tests.helpers.saved import Trap, forge, npy, npz


def test_hostile_arrays(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    trap = pickle.dumps(Trap())
    shape = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }"
    hostile = {
        "a pickle": {"0/r.npy": npy(shape % ("|O", "(1,)"), trap)},
        "only a pickle": {"0/r.npy": trap},
        "a huge shape": {"0/r.npy": npy(shape % ("<f8", "(99999999999, 99999999999)"))},
        "a negative shape": {"0/r.npy": npy(shape % ("<f8", "(-1,)"))},
        "strings": {"0/r.npy": npy(shape % ("<U4", "(1,)"), b"\0" * 16)},
        "a record": {"0/r.npy": npy(shape % ("V8", "(1,)"), b"\0" * 8)},
        "code for a header": {"0/r.npy": npy("__import__('os').mkdir('pwned')")},
        "a long header": {"0/r.npy": npy("(" * 60_000)},
        "nothing": {},
        "paths": {"../../../etc/passwd.npy": npy(shape % ("<f8", "()"), b"\0" * 8)},
    }
    for entries in hostile.values():
        forge(folder, model=npz(tmp_path, entries))
        with pytest.raises(StorageError):
            pgbn.load(folder)
    bomb = npy(shape % ("<f8", "(10000000,)"), b"\0" * 80_000_000)
    forge(folder, model=npz(tmp_path, {"0/r.npy": bomb}, zipfile.ZIP_DEFLATED))
    with pytest.raises(StorageError, match="compressed"):
        pgbn.load(folder)
    forge(folder, model=b"not a zip file")
    with pytest.raises(StorageError):
        pgbn.load(folder)
    assert not (tmp_path / "pwned").exists()


SHAPE = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }"
ONE = npy(SHAPE % ("<f8", "(1,)"), b"\0" * 8)


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
    for data, words in ((twice, "twice"), (plain, "no array"), (both, "overlap")):
        forge(folder, model=data)
        with pytest.raises(StorageError, match=words):
            pgbn.load(folder)


@pytest.mark.parametrize("kind", ["<f2", ">f8", "<f16", ">i4", "<c16", "<M8[s]"])
def test_numbers_that_kernels_do_not_read(tmp_path: Path, folder: Path, kind: str) -> None:
    size = int(kind[2]) * (10 if kind == "<f16" else 1) + 6 * (kind in ("<f16", "<c16"))
    forge(folder, model=npz(tmp_path, {"0/r.npy": npy(SHAPE % (kind, "(1,)"), b"\0" * size)}))
    with pytest.raises(StorageError, match="not arrays of pgbn"):
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


def test_a_reader_gets_whole_arrays(tmp_path: Path) -> None:
    groups = write(tmp_path, "thing", {}, {"state": spread(), "other": {"a": np.ones(1)}})
    body = archive.read_manifest(tmp_path)
    assert len(body["parts"]["state"]["files"]) == len(EDGES)
    assert json.loads((tmp_path / "model.json").read_text())["version"] == 2
    assert set(groups) == {"state", "other"}
    assert names(tmp_path) == {"model.json", *body["files"]}
    found = read(tmp_path)
    assert set(found) == {"rows", "wide", "shared"}
    assert np.array_equal(found["rows"], ROWS)
    assert np.array_equal(found["wide"], WIDE)


def test_parts_are_kept_and_replaced_with_their_group(tmp_path: Path) -> None:
    groups = write(tmp_path, "thing", {}, {"state": spread()})
    before = archive.read_manifest(tmp_path)
    assert still_there(tmp_path, groups) == groups
    write(tmp_path, "thing", {}, {"other": {"a": np.ones(1)}}, groups)
    assert archive.read_manifest(tmp_path)["parts"] == before["parts"]
    assert np.array_equal(read(tmp_path)["rows"], ROWS)
    write(tmp_path, "thing", {}, {"state": {"rows": ROWS + 1}})
    body = archive.read_manifest(tmp_path)
    assert "parts" not in body
    assert json.loads((tmp_path / "model.json").read_text())["version"] == 1
    assert names(tmp_path) == {"model.json", *body["files"]}


def test_a_part_that_is_gone_is_noticed(tmp_path: Path) -> None:
    groups = write(tmp_path, "thing", {}, {"state": spread()})
    gone = archive.read_manifest(tmp_path)["parts"]["state"]["files"][1]
    (tmp_path / gone).write_bytes(b"")
    assert still_there(tmp_path, groups) == {}
    with pytest.raises(StorageError, match=gone):
        read(tmp_path)


def test_who_does_not_see_the_folder_writes_nothing(tmp_path: Path) -> None:
    assert write_part(tmp_path / "elsewhere" / "probe", "state", (0, 6), {"rows": ROWS}) is None
    whole = spread()
    for answer in (None, [WrittenPart(".state.npz-1.part", "0" * 64, 5)]):  # not seen by the driver
        blind = InParts(whole.here, whole.axes, lambda probe, stem, a=answer: a, whole.whole)
        write(tmp_path, "thing", {}, {"state": blind})
        assert "parts" not in archive.read_manifest(tmp_path)
        assert np.array_equal(read(tmp_path)["rows"], ROWS)


@pytest.mark.parametrize("moment", ["parts", "manifest", "names"])
def test_what_was_there_stays_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Whoever is killed, and whenever: the last content is there, and the next writer tidies up."""
    write(tmp_path, "thing", {}, {"state": spread()})
    killed = spread(ROWS + 1)

    def die(*arguments: object) -> None:
        raise KeyboardInterrupt

    if moment == "parts":

        def some(probe: Path, stem: str) -> list[WrittenPart]:
            killed.write(probe, stem)
            raise KeyboardInterrupt

        group = InParts(killed.here, killed.axes, some, killed.whole)
    else:
        group = killed
    with monkeypatch.context() as patch:
        patch.setattr("pgbn.storage.writing._remove", lambda *arguments: None)  # SIGKILL tidies not
        if moment == "manifest":
            patch.setattr("pgbn.storage.writing._write_manifest", die)
        if moment == "names":
            patch.setattr(Path, "replace", die)
        with pytest.raises(KeyboardInterrupt):
            write(tmp_path, "thing", {}, {"state": group})
    assert np.array_equal(read(tmp_path)["rows"], ROWS)
    assert any(name.endswith(".part") for name in names(tmp_path))
    write(tmp_path, "thing", {}, {"state": spread(ROWS + 2)})
    assert np.array_equal(read(tmp_path)["rows"], ROWS + 2)
    assert names(tmp_path) == {"model.json", *archive.read_manifest(tmp_path)["files"]}


def test_parts_that_do_not_follow_each_other_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "thing", {}, {"state": spread(edges=[(0, 2), (3, 6)])})
    with pytest.raises(StorageError, match="rows 3 to 6, not from 2 on"):
        read(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda each: each.update(files=[]),
        lambda each: each.update(files=each["files"][:1] * 9),
        lambda each: each.update(files=["../../x"]),
        lambda each: each.update(axes={"wide": "0"}),
        lambda each: each.update(axes=None),
        lambda each: each.clear(),
    ],
)
def test_forged_parts_are_refused(tmp_path: Path, change: object) -> None:
    write(tmp_path, "thing", {}, {"state": spread()})
    document = json.loads((tmp_path / "model.json").read_text())
    change(document["body"]["parts"]["state"])  # type: ignore[operator]
    document["sha256"] = archive.body_digest(document["body"])
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(StorageError, match="not a manifest of pgbn"):
        archive.read_manifest(tmp_path)
