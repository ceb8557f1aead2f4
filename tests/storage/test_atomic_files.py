"""Files that are complete or absent, and one writer at a time in a folder."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import pgbn
import pgbn as pg
from pgbn import zoo
from pgbn.errors import StorageError
from pgbn.storage.atomic_files import locked, make_folder, new_file
from pgbn.training.checkpoints import train_with_checkpoints
from pgbn.training.trained import TrainedNetwork

posix = pytest.mark.skipif(os.name != "posix", reason="links, pipes and rights of POSIX")


def write(target: Path, content: bytes) -> None:
    with new_file(target) as file:
        file.write(content)


def test_what_a_link_points_to_is_written(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "page.html", tmp_path / "link.html"
    link.symlink_to(target)
    for content in (b"new", b"old"):  # the target is missing at first
        write(link, content)
        assert link.is_symlink()
        assert target.read_bytes() == content
    with pytest.raises(TypeError, match="bytes-like"):
        write(link, "not bytes")  # type: ignore[arg-type]
    assert target.read_bytes() == b"old"
    assert [path.name for path in target.parent.iterdir()] == ["page.html"]


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)  # as /dev/stdout is one
    for target in (pipe, link):
        writer = threading.Thread(target=write, args=(target, b"svg"), daemon=True)
        handle = os.open(pipe, os.O_RDWR)  # never waits for the other end
        writer.start()
        writer.join(10)
        os.set_blocking(handle, False)
        assert pipe.is_fifo()
        assert os.read(handle, 99) == b"svg"
        os.close(handle)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe"]


@posix
def test_a_folder_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, flags: int) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "open", refuse)
    write(tmp_path / "page.html", b"page")
    assert (tmp_path / "page.html").read_bytes() == b"page"


def test_a_model_is_all_in_its_own_folder(tmp_path: Path) -> None:
    """A manifest that is a link is replaced: through it, another model would lose its arrays."""
    one, two = (
        TrainedNetwork.of_topics((np.full((k, 4), 0.25),), np.ones(k), np.ones(1)) for k in (2, 3)
    )
    pg.save(one, tmp_path / "one")
    (tmp_path / "two").mkdir()
    for path in (tmp_path / "one").iterdir():
        (tmp_path / "two" / path.name).symlink_to(path)
    pg.save(two, tmp_path / "two")
    assert pg.load(tmp_path / "one").widths == (2,)
    assert pg.load(tmp_path / "two").widths == (3,)


@posix
def test_the_longest_name_that_a_disk_allows(tmp_path: Path) -> None:
    target = tmp_path / ("n" * 251 + ".csv")
    with new_file(target) as file:
        file.write(b"x")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [(target.name, b"x")]


@posix
def test_two_writers_of_one_file_do_not_meet(tmp_path: Path) -> None:
    """Two threads of a process shared a file, and readers found a page that was cut off."""
    target = tmp_path / "page.html"
    with new_file(target) as one:
        one.write(b"one")
        with new_file(target) as two:
            two.write(b"second")
        assert target.read_bytes() == b"second"
    assert target.read_bytes() == b"one"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize(("number", "passes"), [(errno.EINVAL, True), (errno.ENOTSUP, True),
                                                (errno.EIO, False)])  # fmt: skip
@posix
def test_folders_that_cannot_be_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, passes: bool
) -> None:
    """Some FUSE and SMB mounts: files are synced there, folders are not. Any other error counts."""
    true = os.fsync

    def fsync(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(number, os.strerror(number))
        true(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    with nullcontext() if passes else pytest.raises(pg.StorageError, match="could not be written"):
        pg.save(pg.zoo.pfa(3), tmp_path / "m")
    assert (tmp_path / "m" / "model.json").exists() == passes
    with nullcontext() if passes else pytest.raises(OSError, match=os.strerror(number)):
        write(tmp_path / "page.html", b"page")


def save_network(folder: Path) -> None:
    pgbn.save(zoo.pfa(3), folder)


def test_the_thread_that_holds_it_writes_and_others_are_refused(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        with locked(tmp_path), locked(tmp_path):
            save_network(tmp_path)
            with pytest.raises(StorageError, match=r"another process is writing.*another folder"):
                pool.submit(save_network, tmp_path).result()
            save_network(tmp_path / "other")
        pool.submit(save_network, tmp_path).result()


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
        save_network(tmp_path)
    finally:
        os.write(done[1], b"1")
        os.waitpid(child, 0)


def test_a_folder_that_was_removed_is_held_again(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    with locked(folder), ThreadPoolExecutor(1) as pool:
        shutil.rmtree(folder)
        save_network(folder)
        with pytest.raises(StorageError, match="another process"):
            pool.submit(save_network, folder).result()


def test_a_disk_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl")

    def none(*arguments: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", none)
    with locked(tmp_path):
        save_network(tmp_path)


@pytest.mark.parametrize("below", ["", "m"])
def test_what_is_in_the_place_of_a_folder_stays(tmp_path: Path, below: str) -> None:
    file, link = tmp_path / "f", tmp_path / "link"
    file.write_text("mine")
    link.symlink_to("nowhere")
    for place, kind in ((file, "a file"), (link, "a link to nowhere, which is not there")):
        with pytest.raises(StorageError, match=re.escape(f"({place} is {kind}); name a folder")):
            make_folder(place / below)
    assert file.read_text() == "mine"


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
        save_network,
        lambda path: train_with_checkpoints(X, path, 2, 1),
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
            pool.submit(save_network, tmp_path).result()
    assert last > 15
