"""The cells of a corpus, in its folder or in files: those of the array, whoever reads them."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import zoo
from pgbn.engine.data.reading import StoredCells, read_array
from pgbn.engine.shards import worker
from pgbn.storage.archive import read_manifest
from tests.engine.shards.test_driver import X, assert_same, everything
from tests.helpers.workers_here import Spread

NETWORK = zoo.pgbn([12, 6])


@pytest.fixture(params=[100, 256, 1000])
def corpus(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pgbn.Corpus:
    monkeypatch.chdir(tmp_path)
    return pgbn.Corpus.build(X, tmp_path / "corpus", block_rows=request.param)


def test_they_are_those_of_the_array(corpus: pgbn.Corpus) -> None:
    node: Any = NETWORK["x"]
    stored, cells = StoredCells(node, corpus), read_array(node, X)
    assert np.array_equal(stored.starts, cells.starts)
    assert (stored.size, stored.is_integer, stored.sum()) == (cells.size, True, cells.sum())
    assert np.array_equal(stored.totals(), cells.totals())
    for first, last in ((0, 256), (256, 600), (512, 600), (0, 600)):
        found, part = stored.part(first, last).read(), cells.part(first, last)
        assert (found.before, found.groups_before) == (part.before, part.groups_before)
        for name in ("starts", "indices", "values"):
            assert np.array_equal(getattr(found, name), getattr(part, name)), name
    assert np.array_equal(stored.dense(), cells.dense())
    again = pickle.loads(pickle.dumps(stored))
    assert np.array_equal(again.values, cells.values)


def test_the_driver_reads_no_cells(corpus: pgbn.Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the beginning of a chain to its checkpoint; the bits are those of the array."""

    def refuse(self: StoredCells) -> Any:
        raise AssertionError("the driver reads all cells")

    monkeypatch.setattr(StoredCells, "values", property(refuse))
    monkeypatch.setattr(StoredCells, "indices", property(refuse))
    chain = NETWORK.chain({"x": corpus}, executor=Spread(2)).sweep(2)
    assert isinstance(chain._program.cells["x"], StoredCells)
    other = NETWORK.chain({"x": X}, sampler="partial", threads=1).sweep(2)
    assert_same(everything(chain), everything(other))
    pgbn.save(chain, "saved")
    assert set(read_manifest("saved")["parts"]) == {"data", "state"}
    assert_same(everything(pgbn.load("saved", threads=1)), everything(other))
    spread = NETWORK.sample({"x": corpus}, 1, 2, executor=Spread(3), keep=["r"], progress=False)
    pgbn.train_layerwise(corpus, 8, 2, burn_in=1, sweeps=1, executor=Spread(2), progress=False)
    monkeypatch.undo()
    threads = NETWORK.sample({"x": X}, 1, 2, sampler="partial", threads=1, keep=["r"],
                             progress=False)  # fmt: skip
    assert np.array_equal(spread["r"], threads["r"])
    assert np.array_equal(spread.data["x"].values, threads.data["x"].values)


def test_a_folder_that_workers_do_not_see(
    corpus: pgbn.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver reads the rows of one worker after another, and hands them over."""
    monkeypatch.setattr(worker, "can_read", lambda room, name: False)
    seen: list[type] = []
    build = worker.own_cells

    def own(cells: Any) -> Any:
        seen.append(type(cells))
        return build(cells)

    monkeypatch.setattr(worker, "own_cells", own)
    chain = NETWORK.chain({"x": corpus}, executor=Spread(2)).sweep(1)
    assert StoredCells not in seen
    other = NETWORK.chain({"x": X}, sampler="partial", threads=1).sweep(1)
    assert_same(everything(chain), everything(other))


def test_a_damaged_block_is_named(corpus: pgbn.Corpus, tmp_path: Path) -> None:
    file = read_manifest(tmp_path / "corpus")["groups"]["block/0"]
    data = bytearray((tmp_path / "corpus" / file).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "corpus" / file).write_bytes(bytes(data))
    for executor in (Spread(2), pgbn.Threads(1)):
        with pytest.raises(pgbn.errors.StorageError, match=r"block 0 \(documents 0 to .*damaged"):
            NETWORK.chain({"x": corpus}, executor=executor)


def test_without_a_plate_the_driver_has_the_cells(corpus: pgbn.Corpus) -> None:
    network = zoo.gp_dpfa(4)
    chain = network.chain({"x": corpus}, executor=Spread(2)).sweep(1)
    assert chain._program.shards is None
    assert not isinstance(chain._program.cells["x"], StoredCells)
    assert_same(everything(chain), everything(network.chain({"x": X}, threads=1).sweep(1)))


def test_reals_in_some_blocks_make_all_of_them_reals(tmp_path: Path) -> None:
    values = X.astype(float)
    values[550:] *= 1.5
    corpus = pgbn.Corpus.build(values, tmp_path / "reals", block_rows=100)
    network = zoo.pgbn([6], link="gamma")
    other = everything(network.chain({"x": values}, threads=1).sweep(1))
    for executor in (Spread(2), pgbn.Threads(1)):
        assert_same(everything(network.chain({"x": corpus}, executor=executor).sweep(1)), other)


def test_rows_in_files(corpus: pgbn.Corpus, tmp_path: Path) -> None:
    executor = pgbn.Disk(tmp_path / "rows", threads=1)
    read = NETWORK.chain({"x": corpus}, executor=executor)
    assert read.sampler == "partial"
    np.testing.assert_array_equal(read._program.cells["x"].dense()[0], X)
    other = NETWORK.chain({"x": X}, sampler="partial", threads=1).sweep(2)
    assert_same(everything(read.sweep(2)), everything(other))
    options: dict[str, Any] = {"burn_in": 2, "sweeps": 1, "progress": False}
    disk = pgbn.train_layerwise(corpus, 10, 2, executor=executor, **options).deepest
    here = pgbn.train_layerwise(X, 10, 2, sampler="partial", threads=1, **options).deepest
    assert all(map(np.array_equal, disk.phi, here.phi))


_RUN = """
import sys, numpy as np, scipy.sparse as sp, pgbn

def high():
    lines = open("/proc/self/status").read().split("VmHWM:")[1]
    return int(lines.split()[0]) * 1024

net = pgbn.zoo.pfa(40)
rng = np.random.default_rng(0)
blocks = [sp.csr_matrix(rng.poisson(0.1, (1000, 1000))) for _ in range(20)] * 2
corpus = pgbn.Corpus.build(iter(blocks), sys.argv[1] + "/corpus", block_rows=1000)
small = pgbn.Corpus.build(iter(blocks[:1]), sys.argv[1] + "/small", block_rows=1000)
for memory, data in (("1MB", small), ("4MB", corpus)):
    executor = pgbn.Disk(sys.argv[1] + "/rows", memory, 1)
    open("/proc/self/clear_refs", "w").write("5")  # the high-water mark begins anew
    before = high()
    net.chain({"x": data}, executor=executor).sweep(1)
    chain = net.chain({"x": data}, executor=executor).sweep(1)
    print(executor._mapped, high() - before)
"""


@pytest.mark.long  # what the process needs beside the rows varies
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_the_rows_in_memory_are_bounded(tmp_path: Path) -> None:
    """Four million tokens, 90 MB of rows: the peak of a chain stays far below them."""
    found = subprocess.run(
        [sys.executable, "-c", _RUN, str(tmp_path)], capture_output=True, text=True, check=True
    )
    mapped, grown = map(int, found.stdout.split("\n")[1].split())
    assert mapped > 80e6
    assert grown < 0.3 * mapped, (mapped, grown)
