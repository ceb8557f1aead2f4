"""Forged models and bytes of corpora: a result, or an error of pgbn, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("sklearn")
import pgbn
from pgbn.errors import StorageError
from tests.helpers.forged_folders import Folders
from tests.helpers.forgery import Corpora, campaign_of


@pytest.mark.parametrize("kind", [Corpora, Folders])
def test_a_few_seconds_of_cases(kind: type, tmp_path: Path) -> None:
    done, found = campaign_of(kind(tmp_path), range(400), seconds=2.0)
    assert found == []
    assert done > 0


@pytest.mark.long
@pytest.mark.parametrize(("kind", "number"), [(Corpora, 20_000), (Folders, 4_000)])
def test_many_cases(kind: type, number: int, tmp_path: Path) -> None:
    done, found = campaign_of(kind(tmp_path), range(number))
    assert found == []
    assert done == number


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(folder: Path) -> None:
    """Neither for the arrays nor for the manifest."""
    for path in sorted(folder.iterdir(), reverse=True):
        path.unlink()
        os.mkfifo(path)
        with pytest.raises(StorageError, match="not a file, but a pipe"):
            pgbn.load(folder)


def test_a_file_of_the_system_is_not_read(folder: Path) -> None:
    """Of these some are waited for: they say that they are empty."""
    manifest = folder / "model.json"
    manifest.unlink()
    manifest.symlink_to("/proc/self/status" if Path("/proc/self/status").exists() else os.devnull)
    with pytest.raises(StorageError, match=r"it is empty|not a file"):
        pgbn.load(folder)


def test_a_manifest_that_is_too_large_is_not_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (folder / "model.json").open("r+b") as file:
        file.truncate(2**30)  # takes no room on the disk
    with pytest.raises(StorageError, match="at most 268435456 are read"):
        pgbn.load(folder)
    (folder / "model.json").write_text("[" + "[]," * 100_000 + "0]")
    monkeypatch.setattr("pgbn.storage.read_limits.memory", lambda: 10**7)
    with pytest.raises(StorageError, match=r"model.json: it would need"):
        pgbn.load(folder)
