"""How much memory a process may have, and files that would need more."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pgbn
from pgbn.errors import DataError
from pgbn.storage import read_limits
from pgbn.storage.tables import read_numbers


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(("groups", "files", "expected"), [
    ("0::/jobs/7/step\n", {"memory.max": "max", "jobs/memory.max": "9000",
                           "jobs/7/memory.max": "4000", "jobs/7/step/memory.max": "max"}, 4000),
    ("0::/jobs/7\n", {"jobs/memory.max": "3000", "jobs/7/memory.max": "8000"}, 3000),
    ("0::/../other\n", {"memory.max": "5000"}, 5000),
    ("5:memory:/docker/ab\n3:cpu,cpuacct:/\n",
     {"memory/docker/ab/memory.limit_in_bytes": "6000",
      "memory/docker/memory.limit_in_bytes": "2000",
      "memory/memory.limit_in_bytes": "9223372036854771712"}, 2000),
    ("4:memory:/\n0::/a\n", {"unified/a/memory.max": "1500",
                             "memory/memory.limit_in_bytes": "1600"}, 1500),
    ("nonsense\n", {"memory.max": "700"}, 700),
])  # fmt: skip
def test_groups_around_a_process(
    tmp_path: Path, groups: str, files: dict[str, str], expected: int
) -> None:
    write(tmp_path / "proc/self/cgroup", groups)
    for name, text in files.items():
        write(tmp_path / "sys/fs/cgroup" / name, text)
    assert min(read_limits._group_limits(tmp_path)) == expected


def test_a_system_without_groups(tmp_path: Path) -> None:
    assert list(read_limits._group_limits(tmp_path)) == []


def test_the_limit_of_a_shell() -> None:
    """`ulimit -v` counts, as in a job of a cluster."""
    pytest.importorskip("resource")
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (3 * 10**9, 3 * 10**9))\n"
        "from pgbn.storage.read_limits import memory; print(memory())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 3 * 10**9


def test_what_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_limits, "memory", lambda: 10**9)
    read_limits.check_bytes("an array", 10**9, "")
    with pytest.raises(DataError, match=r"an array would need 2\.0 GB .* 1\.0 GB; take less"):
        read_limits.check_bytes("an array", 2 * 10**9, "take less")


MARKET = b"%%MatrixMarket matrix "


@pytest.mark.parametrize(("name", "content"), [
    ("dense.mtx", MARKET + b"array integer general\n100 1000\n" + 10**5 * b"1\n"),
    ("cells.mtx", MARKET + b"coordinate integer general\n9 9 15000\n" + 15_000 * b"1 1 1\n"),
    ("rows.mtx", MARKET + b"coordinate integer general\n10000 5 100\n" + 100 * b"1 1 1\n"),
    ("lines.svmlight", 10_000 * b"1 1:1 2:1\n"),
    ("ones.npz", b""),
])  # fmt: skip
def test_counts(name: str, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / (name if name == "ones.npz" else f"{name}.gz")
    path.write_bytes(gzip.compress(content))
    if name == "ones.npz":
        np.savez_compressed(path, X=np.ones((100, 1000), np.int8))
    assert pgbn.Corpus.read(path).counts.sum() > 0
    monkeypatch.setattr("pgbn.storage.read_limits.memory", lambda: 10**6)
    with pytest.raises(DataError, match=rf"{path.name}: its .* would need 0\.0 GB of memory"):
        pgbn.Corpus.read(path)


def test_tables_of_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "numbers.csv.gz"
    path.write_bytes(gzip.compress(1000 * (b",".join([b"12"] * 50) + b"\n")))
    assert read_numbers(path).values.shape == (1000, 50)
    monkeypatch.setattr("pgbn.storage.read_limits.memory", lambda: 10**6)
    with pytest.raises(DataError, match=r"numbers\.csv\.gz: its numbers would need"):
        read_numbers(path)
