"""Files that are there whole or not at all, wherever their names lead to."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest

import pgbn as pg
from pgbn.storage.writing import new_file
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
