"""What can be saved and loaded, and what is said of the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

import pgbn
from pgbn import zoo
from pgbn.errors import DataError, StorageError
from pgbn.storage import archive, writing
from pgbn.storage.archive import register_unloadable


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
