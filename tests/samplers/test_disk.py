"""Rows in files: the arrays, the blocks, and the same bits as on threads."""

from __future__ import annotations

import errno
import gc
import mmap
import os
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import pgbn
from pgbn import zoo
from pgbn.samplers import disk
from pgbn.samplers.disk import Disk, reserve
from pgbn.samplers.executor import Threads

X = np.random.default_rng(0).poisson(0.5, (600, 70))
MODELS = {
    "pgbn": zoo.pgbn([30, 20, 10]),
    "layers of one width": zoo.pgbn([20, 20]),
    "bernoulli": zoo.pgbn([30, 20], link="bernoulli"),
}


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays from six hundred bytes on are files, and nothing is mapped beside a block."""
    monkeypatch.setattr(disk, "_SMALL", 1000)
    monkeypatch.setattr(disk, "_AROUND", 0)


def test_large_arrays_are_files_without_a_name(tmp_path: Path) -> None:
    executor = Disk(tmp_path / "rows", memory="1 MB", threads=1)
    large = executor.zeros((1000, 400), np.float64)
    assert executor._mapped == large.nbytes
    assert not large.any()
    assert executor.zeros((10, 10), np.int32).base is None  # in memory
    assert executor._mapped == large.nbytes
    assert not list((tmp_path / "rows").iterdir())
    del large
    gc.collect()
    assert executor._mapped == 0


def test_rows_come_in_blocks_that_fit(tmp_path: Path, small_pages: None) -> None:
    executor = Disk(tmp_path, memory=40_000, threads=1)
    out, seen = executor.zeros((1000, 10), np.float64), []

    def kernel(key: Any, start: int, stop: int, array: np.ndarray) -> None:
        seen.append((start, stop))
        array[start:stop] += np.arange(start, stop)[:, None] + float(key)

    executor.rows(kernel, 1000, 7, out)
    assert seen == [(start, start + 250) for start in range(0, 1000, 250)]
    assert executor.cut(1000, (out, 3)) == seen
    np.testing.assert_array_equal(out, np.broadcast_to(7.0 + np.arange(1000)[:, None], (1000, 10)))
    assert executor.calls([lambda i=i: i for i in range(5)]) == [0, 1, 2, 3, 4]


def test_rows_that_differ_are_cut_where_they_fit(tmp_path: Path, small_pages: None) -> None:
    """Row i has i tokens of four bytes, and ten numbers: no block is beyond half of the memory."""
    executor = Disk(tmp_path, memory=40_000, threads=1)
    starts = np.concatenate(([0], np.cumsum(np.arange(200))))
    word = executor.zeros((int(starts[-1]),), np.int32)
    m = executor.zeros((200, 10), np.float64)
    edges = executor.cut(200, (starts, word), m)
    assert [start for start, _ in edges[1:]] == [stop for _, stop in edges[:-1]]
    assert (edges[0][0], edges[-1][1]) == (0, 200)
    sizes = [4 * (starts[b] - starts[a]) + 80 * (b - a) for a, b in edges]
    assert max(sizes) <= 20_000 < 2 * min(sizes[:-1])


def test_a_memory_that_holds_no_row_is_refused(tmp_path: Path, small_pages: None) -> None:
    executor = Disk(tmp_path, memory=40_000, threads=1)
    starts = np.array([0, 10, 9000, 9010])
    word = executor.zeros((9010,), np.int32)
    words = r"memory=40000: row 1 of 3 needs 35961 bytes of 1 files, .* at least memory=71923"
    with pytest.raises(pgbn.DataError, match=words):
        executor.rows(lambda *_: None, 3, 0, (starts, word))
    Disk(tmp_path, memory=71_923, threads=1).cut(3, (starts, word))


def resident(folder: Path) -> int:
    """The bytes of files of a folder that are in the memory of this process."""
    total, own = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split(" ")[0]:
            own = str(folder) in line
        elif own and line.startswith("Rss:"):
            total += int(line.split()[1]) * 1024
    return total


def largest_resident(folder: Path, chain: Any) -> int:
    """The most that was in memory when blocks were let go; it only grows in between."""
    found, seen = [0], [0]
    own = Disk.release

    def release(self: Disk) -> None:
        shared = int(Path("/proc/self/statm").read_text().split()[2])  # pages of all files, quick
        if shared > seen[0]:
            seen[0] = shared
            found.append(resident(folder))
        own(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Disk, "release", release)
        chain()
    return max(found)


@pytest.mark.skipif(sys.platform != "linux", reason="resident pages are read from /proc")
@pytest.mark.parametrize(
    ("name", "sampler"), [("pgbn", "partial"), ("pgbn", "blocked"), ("pgbn", "collapsed")]
)
def test_no_more_is_resident_than_was_asked_for(name: str, sampler: str, tmp_path: Path) -> None:
    """Documents of 1 to 24 tokens, the long ones together; three times the memory and more."""
    rng = np.random.default_rng(1)
    longer = np.sort(rng.uniform(0.01, 1.2, 20_000))
    data = {"x": rng.poisson(np.repeat(longer, 100).reshape(-1, 100) * 0.2)}
    executor = Disk(tmp_path, memory="4MB", threads=1)
    chains: list[Any] = []

    def begin() -> None:
        chains.append(MODELS[name].chain(data, sampler=sampler, executor=executor))

    if sampler == "collapsed":  # sorts tokens by words when it begins
        begin()
    else:
        assert largest_resident(tmp_path, begin) <= executor.memory
    found = largest_resident(tmp_path, lambda: chains[0].sweep(1))
    assert executor._mapped > 3 * executor.memory
    assert executor.memory // 4 < found <= executor.memory


@pytest.mark.parametrize(
    ("name", "sampler"),
    [
        ("pgbn", "partial"),
        ("pgbn", "blocked"),
        ("pgbn", "collapsed"),
        ("layers of one width", "partial"),  # arrays of one shape: the scores of both were one
        ("bernoulli", "auto"),
    ],
)
def test_it_gives_the_bits_of_threads(
    name: str, sampler: str, tmp_path: Path, small_pages: None
) -> None:
    data = {"x": np.minimum(X, 1) if name == "bernoulli" else X}
    executor = Disk(tmp_path, memory=40_000, threads=2)
    own = MODELS[name].chain(data, sampler=sampler, executor=executor).sweep(3)
    assert executor._mapped > 8 * executor.memory
    threads = MODELS[name].chain(data, sampler=sampler, threads=1).sweep(3)
    for node, value in threads.values.items():
        assert np.array_equal(own.values[node], value), node
    state = own.state()
    again = MODELS[name].chain(data, sampler=sampler, executor=Threads(1)).restore(state, 3).sweep()
    for node, value in own.sweep().values.items():
        assert np.array_equal(again.values[node], value), node


@pytest.mark.parametrize("memory", ["much", "2XB", 0, True, "-1GB", "", 10**400])
def test_memory_is_a_number_of_bytes(memory: Any, tmp_path: Path) -> None:
    with pytest.raises(pgbn.DataError, match=r"Disk: memory=.*such as '2GB'"):
        Disk(tmp_path, memory=memory)
    assert Disk(tmp_path, memory="1.5 GB").memory == 3 * 2**29


def test_a_folder_is_a_path_that_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file" / "rows", None, ""):
        with pytest.raises(pgbn.DataError, match="Disk: folder="):
            Disk(folder)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_an_error(code: int, tmp_path: Path, monkeypatch: Any) -> None:
    """Room is taken before it is written: a page of a hole, written where the disk is full, ends
    the process."""
    with (tmp_path / "file").open("w+b") as file:
        reserve(file.fileno(), 2**20)
        assert os.fstat(file.fileno()).st_blocks * 512 >= 2**20

    def full(*ignored: Any) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(pgbn.DataError, match=r"no file of 8388608 bytes.*give another folder"):
        Disk(tmp_path).zeros((2**20,), np.float64)


class _NoAdvice(mmap.mmap):
    """Pages of which the system takes no advice, as where they are locked in memory."""

    refused: ClassVar[set[int]] = set()

    def madvise(self, advice: int, *where: int) -> None:
        if advice in self.refused:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


def test_a_system_that_takes_no_advice(
    tmp_path: Path, small_pages: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To read ahead is only faster; memory that is not let go breaks the promise of ``memory``."""
    monkeypatch.setattr(mmap, "mmap", _NoAdvice)

    def swept() -> pgbn.Chain:
        executor = Disk(tmp_path, memory=60_000, threads=1)
        return zoo.pgbn([30]).chain({"x": X}, sampler="blocked", executor=executor).sweep(1)

    monkeypatch.setattr(_NoAdvice, "refused", {mmap.MADV_WILLNEED})
    swept()
    monkeypatch.setattr(_NoAdvice, "refused", {mmap.MADV_DONTNEED})
    with pytest.raises(
        pgbn.DataError, match=r"Disk: memory=60000: .*\(Invalid argument\).*threads="
    ):
        swept()
