"""A corpus as the data of a chain: read block by block, drawn by "partial", whoever runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn
from pgbn.storage.blocks import FolderCorpus

X = np.random.default_rng(1).poisson(0.4, (300, 40))
NET = pgbn.zoo.pgbn([20, 10])


@pytest.fixture
def corpus(tmp_path: Path) -> FolderCorpus:
    return pgbn.Corpus.build(sp.csr_matrix(X), tmp_path / "corpus", block_rows=64)


def test_it_is_the_matrix_in_blocks(corpus: FolderCorpus, tmp_path: Path) -> None:
    read = NET.chain({"x": corpus}, executor=pgbn.Disk(tmp_path / "rows", threads=1))
    assert read.layer1 == "partial"
    cells = read.program.cells["x"]
    np.testing.assert_array_equal(cells.dense()[0], X)
    whole = NET.chain({"x": X}, layer1="partial", threads=1).sweep(2)
    for name, value in read.sweep(2).values.items():
        assert np.array_equal(whole.values[name], value), name


def test_training_takes_it(corpus: FolderCorpus, tmp_path: Path) -> None:
    options = {"burn_in": 2, "collect": 1, "progress": False}
    disk = pgbn.train_layerwise(
        corpus, 10, 2, executor=pgbn.Disk(tmp_path / "rows", threads=1), **options
    )
    here = pgbn.train_layerwise(X, 10, 2, layer1="partial", threads=1, **options)
    for one, other in zip(disk.networks, here.networks, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one.phi, other.phi, strict=True))


def test_a_damaged_block_is_named(corpus: FolderCorpus, tmp_path: Path) -> None:
    files = sorted((tmp_path / "corpus").rglob("*"), key=lambda path: path.stat().st_size)
    largest = next(path for path in reversed(files) if path.is_file())
    content = bytearray(largest.read_bytes())
    content[len(content) // 2] ^= 255
    largest.write_bytes(content)
    with pytest.raises(pgbn.StorageError, match=r"block \d \(documents \d+ to \d+\)"):
        NET.chain({"x": pgbn.Corpus.open(tmp_path / "corpus")}, threads=1)


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
    print(executor.mapped, high() - before)
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
