"""Writing folders that are complete at every moment: failing disks, killed writers, others' files."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import pgbn
from pgbn import zoo
from pgbn.errors import StorageError
from pgbn.storage import writing
from tests.helpers.hostile import attempt
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


def test_files_of_others_stay(folder: Path, trained: pgbn.LayerwiseTraining) -> None:
    """Whatever they are called: `save` removes what a manifest of its own names, no more. A folder
    that is called like a leftover made every later `save` fail: "Is a directory"."""
    others = ("state-0123456789abcdef.npz", ".other.txt-77.part", "notes.txt")
    for name in others:
        (folder / name).write_text("x")
    for name in (".model.json-77.part", ".state.npz-78.part"):
        (folder / name).mkdir()
        (folder / name / "notes.txt").write_text("x")
    pgbn.save(trained, folder)
    pgbn.save(trained.deepest, folder)
    names = {path.name for path in all_files(folder)}
    assert set(others) < names
    assert len(names) == 7  # the manifest and the model
    assert len(list(folder.glob("*.part/notes.txt"))) == 2


def test_folders_made_for_work_that_failed_are_gone(tmp_path: Path) -> None:
    for name in ("a/b", "c"):
        with pytest.raises(ZeroDivisionError), writing.writing(tmp_path / name):
            raise ZeroDivisionError
    assert all_files(tmp_path) == []
    with writing.writing(tmp_path / "a" / "b"):
        pgbn.save(zoo.pfa(3), tmp_path / "a" / "b")
    assert pgbn.load(tmp_path / "a" / "b").to_json() == zoo.pfa(3).to_json()


NETWORKS = [zoo.pfa(2), zoo.pfa(3), zoo.pgbn([3, 2]), zoo.lda(2)]
SOME = st.sampled_from(NETWORKS)
NAMES = st.sampled_from(["notes.txt", "state-0123456789abcdef.npz", ".model.json-77.part"])


class _Killed(BaseException):
    """What stands for the end of the process: nothing catches it."""


class FolderLife(RuleBasedStateMachine):
    """``possible`` are the networks that the folder may hold, as JSON; None, that it holds nothing
    yet; ``damaged`` says that it may be rejected."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        self.folder = self.place / "model"
        self.possible: set[str | None] = {None}
        self.damaged = False

    def teardown(self) -> None:
        shutil.rmtree(self.place)

    @rule(network=SOME)
    def save(self, network: pgbn.Network) -> None:
        try:
            pgbn.save(network, self.folder)
        except pgbn.PgbnError:  # what is not ours is never written over
            assert self.damaged
            shutil.rmtree(self.folder)
            pgbn.save(network, self.folder)
        self.possible, self.damaged = {network.to_json()}, False

    @rule(network=SOME, call=st.integers(1, 6))
    @precondition(lambda self: not self.damaged)
    def kill_in_a_save(self, network: pgbn.Network, call: int) -> None:
        """A save dies in one of the calls that it makes of the system."""
        left = call

        def deadly(function: Any) -> Any:
            def run(*arguments: Any, **options: Any) -> Any:
                nonlocal left
                left -= 1
                if left == 0:
                    raise _Killed
                return function(*arguments, **options)

            return run

        with pytest.MonkeyPatch.context() as patch:
            for owner, name in ((os, "fsync"), (Path, "replace"), (Path, "unlink")):
                patch.setattr(owner, name, deadly(getattr(owner, name)))
            try:
                pgbn.save(network, self.folder)
                self.possible = {network.to_json()}
            except _Killed:
                self.possible = {*self.possible, network.to_json()}

    @rule(place=st.integers(0, 10**6), bit=st.integers(0, 8))
    @precondition(lambda self: (self.folder / "model.json").exists())
    def damage(self, place: int, bit: int) -> None:
        """A bit of a file is flipped, or the file is cut."""
        files = sorted(path for path in self.folder.iterdir() if path.stat().st_size)
        if not files:  # all of them were cut to nothing
            return
        path = files[place % len(files)]
        data = bytearray(path.read_bytes())
        place %= len(data)
        if bit < 8:
            data[place] ^= 1 << bit
        path.write_bytes(data if bit < 8 else data[:place])
        self.damaged = True

    @rule(name=NAMES)
    def leave(self, name: str) -> None:
        """Files of others, and of writers that died."""
        self.folder.mkdir(exist_ok=True)
        (self.folder / name).write_bytes(b"x")

    @rule()
    @precondition(lambda self: self.folder.exists())
    def move(self) -> None:
        self.folder = self.folder.rename(
            self.place / ("other" if self.folder.name == "model" else "model")
        )

    @invariant()
    def holds_what_was_saved(self) -> None:
        if self.damaged or None in self.possible:
            found = attempt(lambda: pgbn.load(self.folder), [self.folder.name])
            if found is None:
                return
        else:
            found = pgbn.load(self.folder)
        found = found.to_json()
        assert found in self.possible
        if not self.damaged:
            self.possible = {found}


class LongFolderLife(FolderLife):
    """The same, at length."""


TestFolderLife = FolderLife.TestCase
TestFolderLife.settings = settings(max_examples=25, stateful_step_count=12)
TestLongFolderLife = pytest.mark.long(LongFolderLife.TestCase)
TestLongFolderLife.settings = settings(max_examples=1500, stateful_step_count=40)
