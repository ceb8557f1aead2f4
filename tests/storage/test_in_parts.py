"""Groups whose rows several writers have: whole arrays when they are read, whatever happens."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pgbn.errors import StorageError
from pgbn.storage import archive
from pgbn.storage.arrays import InParts, WrittenPart, write_part
from pgbn.storage.writing import still_there, write

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
