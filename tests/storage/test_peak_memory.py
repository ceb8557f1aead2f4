"""What a file takes at its peak is compared with the memory, not what its arrays take at rest: a
few kilobytes that are packed well would otherwise end the process."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pgbn.errors import DataError
from pgbn.storage.corpus import read_corpus
from pgbn.storage.tables import read_numbers

MARKET = b"%%MatrixMarket matrix "


def ones_of_a_byte(path: Path) -> Path:
    np.savez_compressed(path / "ones.npz", X=np.ones((100, 1000), np.int8))
    return path / "ones.npz"


def written(name: str, content: bytes) -> Callable[[Path], Path]:
    def write(path: Path) -> Path:
        (path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path / name

    return write


CASES = {
    "a dense archive": ones_of_a_byte,
    "a dense market": written(
        "dense.mtx.gz", MARKET + b"array integer general\n100 1000\n" + 10**5 * b"1\n"
    ),
    "a sparse market": written(
        "cells.mtx.gz", MARKET + b"coordinate integer general\n9 9 15000\n" + 15_000 * b"1 1 1\n"
    ),
    "empty rows of a market": written(
        "rows.mtx", MARKET + b"coordinate integer general\n10000 5 100\n" + 100 * b"1 1 1\n"
    ),
    "svmlight": written("lines.svmlight.gz", 10_000 * b"1 1:1 2:1\n"),
}


@pytest.mark.parametrize("case", CASES)
def test_counts(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = CASES[case](tmp_path)
    assert read_corpus(path).counts.sum() > 0
    monkeypatch.setattr("pgbn.storage.read_limits.memory", lambda: 10**6)
    with pytest.raises(DataError, match=rf"{path.name}: its .* would need 0\.0 GB of memory"):
        read_corpus(path)


def test_tables_of_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "numbers.csv.gz"
    path.write_bytes(gzip.compress(1000 * (b",".join([b"12"] * 50) + b"\n")))
    assert read_numbers(path).values.shape == (1000, 50)
    for module in ("read_limits", "tables"):
        monkeypatch.setattr(f"pgbn.storage.{module}.memory", lambda: 10**6)
    with pytest.raises(DataError, match=r"numbers\.csv\.gz: its numbers would need"):
        read_numbers(path)
