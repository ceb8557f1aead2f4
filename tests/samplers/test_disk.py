"""Rows in files: the arrays, the blocks, and the same bits as on threads."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import zoo
from pgbn.samplers import disk
from pgbn.samplers.disk import Disk
from pgbn.samplers.executor import Threads, parts_of, rows_array

X = np.random.default_rng(0).poisson(0.5, (600, 70))
MODELS = {
    "pgbn": zoo.pgbn([30, 20, 10]),
    "bernoulli": zoo.pgbn([30, 20], link="bernoulli"),
    "lda": zoo.lda(30, 0.1, 0.1),
}


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays from a thousand bytes on are files."""
    monkeypatch.setattr(disk, "_SMALL", 1000)


def test_large_arrays_are_files_without_a_name(tmp_path: Path) -> None:
    executor = Disk(tmp_path / "rows", memory="1 MB", threads=1)
    large = rows_array(executor, (1000, 400), np.float64)
    assert executor.mapped == large.nbytes
    assert not large.any()
    assert rows_array(executor, (10, 10), np.int32).base is None  # in memory
    assert executor.mapped == large.nbytes
    assert not list((tmp_path / "rows").iterdir())
    del large
    gc.collect()
    assert executor.mapped == 0


def test_rows_come_in_blocks_that_fit(tmp_path: Path, small_pages: None) -> None:
    executor = Disk(tmp_path, memory=40_000, threads=1)
    out, seen = rows_array(executor, (1000, 10), np.float64), []

    def kernel(key: Any, start: int, stop: int, array: np.ndarray) -> None:
        seen.append((start, stop))
        array[start:stop] += np.arange(start, stop)[:, None] + float(key)

    executor.rows(kernel, 1000, 7, out)
    assert seen == [(start, start + 125) for start in range(0, 1000, 125)]
    assert parts_of(executor) == 8
    np.testing.assert_array_equal(out, np.broadcast_to(7.0 + np.arange(1000)[:, None], (1000, 10)))
    assert executor.calls([lambda i=i: i for i in range(5)]) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("name", "layer1"),
    [
        ("pgbn", "partial"),
        ("pgbn", "blocked"),
        ("pgbn", "collapsed"),
        ("bernoulli", "auto"),
        ("lda", "auto"),
    ],
)
def test_it_gives_the_bits_of_threads(
    name: str, layer1: str, tmp_path: Path, small_pages: None
) -> None:
    data = {"x": np.minimum(X, 1) if name == "bernoulli" else X}
    executor = Disk(tmp_path, memory=40_000, threads=2)
    own = MODELS[name].chain(data, layer1=layer1, executor=executor).sweep(3)
    assert executor.parts > 10
    threads = MODELS[name].chain(data, layer1=layer1, threads=1).sweep(3)
    for node, value in threads.values.items():
        assert np.array_equal(own.values[node], value), node
    state = own.state()
    again = MODELS[name].chain(data, layer1=layer1, executor=Threads(1)).restore(state, 3).sweep()
    for node, value in own.sweep().values.items():
        assert np.array_equal(again.values[node], value), node


@pytest.mark.parametrize("memory", ["much", "2XB", 0, True, "-1GB", ""])
def test_memory_is_a_number_of_bytes(memory: Any, tmp_path: Path) -> None:
    with pytest.raises(pgbn.DataError, match=r"Disk: memory=.*such as '2GB'"):
        Disk(tmp_path, memory=memory)
    assert Disk(tmp_path, memory="1.5 GB").memory == 3 * 2**29


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(pgbn.DataError, match=r"folder=.*file"):
        Disk(tmp_path / "file" / "rows")
