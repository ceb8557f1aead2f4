"""Files that are there whole or not at all, wherever their names lead to."""

from __future__ import annotations

import errno
import os
import stat
import threading
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import pgbn as pg
from pgbn.storage.atomic_files import new_file
from pgbn.training.trained import TrainedNetwork

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, pipes and rights of POSIX")


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
    assert [path.name for path in target.parent.iterdir()] == ["page.html"]


def test_a_failure_behind_a_link_keeps_what_was_there(tmp_path: Path) -> None:
    target, link = tmp_path / "page.html", tmp_path / "link.html"
    target.write_bytes(b"old")
    link.symlink_to(target)
    with pytest.raises(TypeError, match="bytes-like"):
        write(link, "not bytes")  # type: ignore[arg-type]
    assert target.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.html", "page.html"]


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


def test_a_folder_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    for name in ("folder", "link"):
        with pytest.raises(OSError, match="directory"):
            write(tmp_path / name, b"page")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "link"]


def test_a_folder_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, flags: int) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "open", refuse)
    write(tmp_path / "page.html", b"page")
    assert (tmp_path / "page.html").read_bytes() == b"page"


def test_a_model_is_all_in_its_own_folder(tmp_path: Path) -> None:
    """A manifest that is a link is replaced: through it, another model would lose its arrays."""
    one, two = (TrainedNetwork((np.full((k, 4), 0.25),), np.ones(k), np.ones(1)) for k in (2, 3))
    pg.save(one, tmp_path / "one")
    (tmp_path / "two").mkdir()
    for path in (tmp_path / "one").iterdir():
        (tmp_path / "two" / path.name).symlink_to(path)
    pg.save(two, tmp_path / "two")
    assert pg.load(tmp_path / "one").widths == (2,)
    assert pg.load(tmp_path / "two").widths == (3,)


def test_the_longest_name_that_a_disk_allows(tmp_path: Path) -> None:
    target = tmp_path / ("n" * 251 + ".csv")
    with new_file(target) as file:
        file.write(b"x")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [(target.name, b"x")]


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
