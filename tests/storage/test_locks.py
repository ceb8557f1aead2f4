"""One writer at a time in a folder."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import zoo
from pgbn.errors import StorageError
from pgbn.storage.atomic_files import locked, make_folder

HOLD = """
import sys, time
from pathlib import Path
from pgbn.storage.atomic_files import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def save(folder: Path) -> None:
    pgbn.save(zoo.pfa(3), folder)


def test_the_thread_that_holds_it_writes_and_others_are_refused(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        with locked(tmp_path), locked(tmp_path):
            save(tmp_path)
            with pytest.raises(StorageError, match=r"another process is writing.*another folder"):
                pool.submit(save, tmp_path).result()
            save(tmp_path / "other")
        pool.submit(save, tmp_path).result()


def test_a_dead_process_holds_nothing(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(StorageError, match="another process is writing there"):
            save(tmp_path)
        other.send_signal(signal.SIGKILL)
        other.wait()
    save(tmp_path)


def test_a_child_does_not_hold_what_its_parent_has_left(tmp_path: Path) -> None:
    with locked(tmp_path):
        ready, done = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            os.write(ready[1], b"1")
            os.read(done[0], 1)
            os._exit(0)
        os.read(ready[0], 1)
    try:
        save(tmp_path)
    finally:
        os.write(done[1], b"1")
        os.waitpid(child, 0)


def test_a_folder_that_was_removed_is_held_again(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    with locked(folder), ThreadPoolExecutor(1) as pool:
        shutil.rmtree(folder)
        save(folder)
        with pytest.raises(StorageError, match="another process"):
            pool.submit(save, folder).result()


def test_a_disk_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl")

    def none(*arguments: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", none)
    with locked(tmp_path):
        save(tmp_path)


def test_a_file_in_the_place_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("mine")
    for path in (tmp_path / "f", tmp_path / "f" / "m"):
        with pytest.raises(StorageError, match=r"f is a file\); name a folder"):
            make_folder(path)
    assert (tmp_path / "f").read_text() == "mine"


@pytest.mark.parametrize("below", ["", "m"])
def test_a_link_to_nowhere_is_no_folder(tmp_path: Path, below: str) -> None:
    link = tmp_path / "link"
    link.symlink_to("nowhere")
    says = re.escape(f"({link} is a link to nowhere, which is not there)")
    with pytest.raises(StorageError, match=says):
        make_folder(link / below)


def test_a_folder_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of another user, or too many open files: the errors were Python's own."""

    def refusing(true: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *arguments: Any, **options: Any) -> Any:
            if Path(path).is_relative_to(tmp_path):
                raise PermissionError(13, "Permission denied")
            return true(path, *arguments, **options)

        return call

    monkeypatch.setattr(os, "open", refusing(os.open))
    for name in ("is_file", "exists"):  # as Python 3.11 does in such a folder
        monkeypatch.setattr(Path, name, refusing(getattr(Path, name)))
    X = np.ones((3, 3), int)
    for write in (
        save,
        lambda path: pgbn.checkpoint.train(X, path, 2, 1),
        lambda path: zoo.pfa(3).sample({"x": X}, 1, 1, save=path),
    ):
        with pytest.raises(StorageError, match=r"m: could not be written \(Permission denied\)"):
            write(tmp_path / "m")


def test_ctrl_c_while_it_is_taken(tmp_path: Path) -> None:
    """At whichever line: a notebook held the folder until its end."""

    def attempt(last: int) -> bool:
        lines = 0

        def press(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal lines
            if frame.f_code.co_filename != locked.__wrapped__.__code__.co_filename:
                return None
            lines += event == "line"
            if event == "line" and lines == last:
                raise KeyboardInterrupt
            return press

        before = sys.gettrace()
        sys.settrace(press)
        try:
            with locked(tmp_path):
                sys.settrace(before)
                return True
        except KeyboardInterrupt:
            return False
        finally:
            sys.settrace(before)

    with ThreadPoolExecutor(1) as pool:
        for last in range(1, 100):
            if attempt(last):
                break
            pool.submit(save, tmp_path).result()
    assert last > 15
