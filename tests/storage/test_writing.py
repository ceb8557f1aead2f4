"""Writing folders that are whole at every moment: failing disks, killed writers, others' files."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import pgbn
from pgbn import zoo
from pgbn.errors import StorageError
from pgbn.storage import archive, writing
from tests.helpers.saved import all_files, counts, failing, same_networks


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EIO, errno.EACCES])
@pytest.mark.parametrize(("function", "first"), [
    *((name, first) for name in ("fsync", "open", "replace") for first in (1, 2, 3)), ("open", 4),
])  # fmt: skip
def test_failing_disk(folder: Path, trained: pgbn.LayerwiseTraining, code: int, first: int,
                      function: str, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    """Whichever call fails: a clear error, and the old model is intact."""
    before = {path.name: path.read_bytes() for path in all_files(folder)}
    owner = Path if function == "replace" else os
    with monkeypatch.context() as patch:
        patch.setattr(owner, function, failing(getattr(owner, function), first, code))
        with pytest.raises(StorageError, match=os.strerror(code)):
            pgbn.save(trained.deepest, folder, data=counts(20))
    now = {path.name: path.read_bytes() for path in all_files(folder)}
    assert not [name for name in now if name.endswith(".part")]
    if first < 4:
        assert before.items() <= now.items()
        same_networks(pgbn.load(folder), trained)
    else:  # the folder could not be opened after the manifest was renamed
        assert isinstance(pgbn.load(folder), pgbn.TrainedNetwork)


def test_full_and_read_only_disk(tmp_path: Path, trained: pgbn.LayerwiseTraining) -> None:
    """The same with a real disk of 256 kB, where mounting one is possible."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("no right to mount a small disk here")
    try:
        pgbn.save(zoo.pfa(3), disk / "m")
        large = zoo.pgbn([30]).chain({"x": counts(2000, 400)}, layer1="composed")
        with pytest.raises(StorageError, match="No space left"):
            pgbn.save(large, disk / "m")
        assert pgbn.load(disk / "m").to_json() == zoo.pfa(3).to_json()
        assert [path.name for path in all_files(disk / "m")] == ["model.json"]
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        for where in ("m", "other"):
            with pytest.raises(StorageError, match="Read-only"):
                pgbn.save(trained, disk / where)
        assert pgbn.load(disk / "m").to_json() == zoo.pfa(3).to_json()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_files_of_others_stay(folder: Path, trained: pgbn.LayerwiseTraining) -> None:
    """Whatever they are called: `save` removes what a manifest of its own names, no more."""
    others = ("state-0123456789abcdef.npz", ".other.txt-77.part", "notes.txt")
    for name in others:
        (folder / name).write_text("x")
    pgbn.save(trained, folder)
    pgbn.save(trained.deepest, folder)
    names = {path.name for path in all_files(folder)}
    assert set(others) < names
    assert len(names) == 5  # the manifest and the model


def test_a_folder_that_is_called_like_a_leftover_stays(tmp_path: Path) -> None:
    """It made every later `save` fail: "Is a directory"."""
    pgbn.save(zoo.pfa(3), tmp_path / "m")
    for name in (".model.json-77.part", ".state.npz-78.part"):
        (tmp_path / "m" / name).mkdir()
        (tmp_path / "m" / name / "notes.txt").write_text("x")
    pgbn.save(zoo.pfa(2), tmp_path / "m")
    assert pgbn.load(tmp_path / "m").to_json() == zoo.pfa(2).to_json()
    assert len(list((tmp_path / "m").glob("*.part/notes.txt"))) == 2


def killed(folder: Path, trained: Any, calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that ends at the rename after ``calls`` of them, and cleans nothing up."""
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", failing(Path.replace, calls + 1, errno.EIO))
        patch.setattr("pgbn.storage.writing._remove", lambda *arguments: None)
        with pytest.raises(StorageError):
            pgbn.save(trained, folder, data=counts(20))


@pytest.mark.parametrize("calls", [0, 1, 2])
def test_leftovers_of_a_killed_writer_are_swept_up(
    folder: Path, trained: pgbn.LayerwiseTraining, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = {path.name for path in all_files(folder)}
    killed(folder, trained.deepest, calls, monkeypatch)
    left = {path.name for path in all_files(folder)} - whole
    assert len(left) == 3
    assert sum(name.endswith(".part") for name in left) == 3 - calls
    same_networks(pgbn.load(folder), trained)
    (folder / ".state.npz-78.part").write_text("half")
    pgbn.save(trained, folder)
    named = {"model.json", *archive.read_manifest(folder)["files"]}
    assert {path.name for path in all_files(folder)} == named


def test_files_that_are_gone(folder: Path, trained: pgbn.LayerwiseTraining) -> None:
    groups = archive.read_manifest(folder)["groups"]
    kept = {**groups, "other": "other-0123456789abcdef.npz"}
    assert writing.still_there(folder, kept) == groups
    (folder / groups.pop("model")).unlink()
    assert writing.still_there(folder, kept) == groups
    assert "documents" in groups
    assert writing.still_there(folder / "nowhere", kept) == {}


def test_folders_made_for_work_that_failed_are_gone(tmp_path: Path) -> None:
    for name in ("a/b", "c"):
        with pytest.raises(ZeroDivisionError), writing.writing(tmp_path / name):
            raise ZeroDivisionError
    assert all_files(tmp_path) == []
    with writing.writing(tmp_path / "a" / "b"):
        pgbn.save(zoo.pfa(3), tmp_path / "a" / "b")
    assert pgbn.load(tmp_path / "a" / "b").to_json() == zoo.pfa(3).to_json()


def test_long_names(tmp_path: Path) -> None:
    pgbn.save(zoo.pfa(3), tmp_path / ("m" * 255))
    assert pgbn.load(tmp_path / ("m" * 255)).to_json() == zoo.pfa(3).to_json()
