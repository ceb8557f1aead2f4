"""Writing folders that are complete at every moment: failing disks, killed writers, others' files."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import pgbn
from pgbn import zoo
from pgbn.errors import StorageError
from pgbn.storage import writing
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
TEXTS = [network.to_json() for network in NETWORKS]
NAMES = st.sampled_from(["notes.txt", "state-0123456789abcdef.npz", ".model.json-77.part"])


class _Killed(BaseException):
    """What stands for the end of the process: nothing catches it."""


class FolderLife(RuleBasedStateMachine):
    """``possible`` are the texts of the networks that the folder may hold; None, that it holds
    nothing yet; ``damaged`` says that it may be refused."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        self.folder = self.place / "model"
        self.possible: set[str | None] = {None}
        self.damaged = False

    def refusal(self, run: Callable[[], object]) -> str:
        """The words of the error that a call ends in; none if it does not."""
        try:
            run()
        except pgbn.PgbnError as error:
            return str(error)
        return ""

    def teardown(self) -> None:
        shutil.rmtree(self.place)

    @rule(which=st.integers(0, len(NETWORKS) - 1))
    def save(self, which: int) -> None:
        refusal = self.refusal(lambda: pgbn.save(NETWORKS[which], self.folder))
        if refusal:  # what is not ours is never written over
            assert self.damaged, refusal
            shutil.rmtree(self.folder)
            pgbn.save(NETWORKS[which], self.folder)
        self.possible, self.damaged = {TEXTS[which]}, False

    @rule(which=st.integers(0, len(NETWORKS) - 1), call=st.integers(1, 6))
    @precondition(lambda self: not self.damaged)
    def kill_in_a_save(self, which: int, call: int) -> None:
        """A save dies in one of the calls that it makes of the system."""
        left = call

        def deadly(function):  # type: ignore[no-untyped-def]
            def run(*arguments, **options):  # type: ignore[no-untyped-def]
                nonlocal left
                left -= 1
                if left == 0:
                    raise _Killed
                return function(*arguments, **options)

            return run

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fsync", deadly(os.fsync))
            patch.setattr(Path, "replace", deadly(Path.replace))
            patch.setattr(Path, "unlink", deadly(Path.unlink))
            try:
                pgbn.save(NETWORKS[which], self.folder)
                self.possible = {TEXTS[which]}
            except _Killed:
                self.possible = {*self.possible, TEXTS[which]}

    @rule(place=st.integers(0, 10**6), bit=st.integers(0, 7))
    @precondition(lambda self: (self.folder / "model.json").exists())
    def corrupt(self, place: int, bit: int) -> None:
        files = sorted(path for path in self.folder.iterdir() if path.stat().st_size)
        path = files[place % len(files)]
        data = bytearray(path.read_bytes())
        data[place % len(data)] ^= 1 << bit
        path.write_bytes(data)
        self.damaged = True

    @rule(size=st.integers(0, 400))
    @precondition(lambda self: (self.folder / "model.json").exists())
    def cut(self, size: int) -> None:
        path = self.folder / "model.json"
        path.write_bytes(path.read_bytes()[:size])
        self.damaged = True

    @rule(name=NAMES)
    def leave(self, name: str) -> None:
        """Files of others, and of writers that died."""
        self.folder.mkdir(exist_ok=True)
        (self.folder / name).write_bytes(b"x")

    @rule()
    @precondition(lambda self: self.folder.exists())
    def move(self) -> None:
        target = self.place / ("other" if self.folder.name == "model" else "model")
        self.folder.rename(target)
        self.folder = target

    @invariant()
    def holds_what_was_saved(self) -> None:
        refusal = self.refusal(lambda: pgbn.load(self.folder))
        if refusal:
            assert self.folder.name in refusal
            assert self.damaged or None in self.possible, refusal
            return
        held = pgbn.load(self.folder).to_json()
        assert held in self.possible
        if not self.damaged:
            self.possible = {held}


class LongFolderLife(FolderLife):
    """The same, at length."""


TestFolderLife = FolderLife.TestCase
TestFolderLife.settings = settings(max_examples=25, stateful_step_count=12)
TestLongFolderLife = pytest.mark.long(LongFolderLife.TestCase)
TestLongFolderLife.settings = settings(max_examples=1500, stateful_step_count=40)
