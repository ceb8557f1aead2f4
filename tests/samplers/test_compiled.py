"""Kernels where nothing can be cached, and bundles of arrays without reference counts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit

import pgbn
from pgbn.samplers import compiled
from pgbn.samplers.compiled import keep, uncounted
from pgbn.samplers.random import new_rng
from tests.helpers.cached_kernel import KERNEL, hits, kernel

PACKAGE = Path(pgbn.__file__).parent
DRAW = """
import warnings
import numpy as np
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import pgbn
    from pgbn.samplers.random import restart
    rng = np.zeros(2, np.uint64)
    restart(rng, np.uint64(1), 2)
print(pgbn.__file__, rng.any(), [str(each.message) for each in said])
"""


def test_no_folder_for_a_cache(tmp_path: Path) -> None:
    """Neither the package nor the home can be written to (files stand where folders would be
    made, which binds root too): import and kernels work, and one note says so."""
    shutil.copytree(PACKAGE, tmp_path / "pgbn", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in {path.parent for path in tmp_path.rglob("*.py")}:
        (folder / "__pycache__").write_text("")
    known = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": "", "HOME": "/proc/none",
             "XDG_CACHE_HOME": "/proc/none"}  # fmt: skip
    done = subprocess.run([sys.executable, "-c", DRAW], env=known, text=True, cwd=tmp_path,
                          capture_output=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{tmp_path / 'pgbn' / '__init__.py'} True")
    assert done.stdout.count("compiled kernels are not kept on disk") == 1
    assert "NUMBA_CACHE_DIR" in done.stdout


@contextmanager
def room(size: int) -> Iterator[None]:
    """As on a full disk or beyond a quota, no more bytes can be written, by root neither."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_under_the_cache(cache: Path) -> None:
    with pytest.warns(pgbn.PgbnWarning, match="not kept on disk .*File too large") as said, room(0):  # noqa: PT031
        assert kernel(cache)(21) == 42
        assert kernel(cache)(21.0) == 42.0
    assert len(said) == 1
    assert not list(cache.rglob("*.nbi"))
    assert kernel(cache)(21) == 42  # there is room again
    again = kernel(cache)
    assert again(21) == 42
    assert hits(again) == 1


def halved(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def with_zeros(file: Path) -> None:
    """As a power cut can leave it: machine code that would end the interpreter."""
    data = bytearray(file.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 500] = bytes(500)
    file.write_bytes(data)


@pytest.mark.parametrize(
    ("kind", "damage"), [("nbi", halved), ("nbc", halved), ("nbc", with_zeros)]
)
def test_a_damaged_file_is_written_again(
    cache: Path, kind: str, damage: Callable[[Path], None]
) -> None:
    kernel(cache)(21)
    (file,) = cache.rglob(f"*.{kind}")
    damage(file)
    repaired, again = kernel(cache), kernel(cache)
    assert repaired(21) == again(21) == 42
    assert (hits(repaired), hits(again)) == (0, 1)


def test_a_file_that_cannot_be_read(cache: Path) -> None:
    kernel(cache)(21)
    (file,) = cache.rglob("*.nbi")
    file.unlink()
    file.mkdir()
    with pytest.warns(pgbn.PgbnWarning, match="not kept on disk"):
        assert kernel(cache)(21) == 42


def test_half_an_index_that_cannot_be_replaced(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where it belongs to another user, in a folder like /tmp."""
    kernel(cache)(21)
    (index,) = cache.rglob("*.nbi")
    os.truncate(index, 5)

    def refuse(*names: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.warns(pgbn.PgbnWarning, match="not kept on disk"):
        assert kernel(cache)(21) == 42


# ---- only files that are whole, of these arguments and of these sources, are run -------


def test_an_index_that_is_newer_than_its_data(cache: Path) -> None:
    """A small index found room on a full disk, and its data did not: those of another version, which
    have the same name, are not taken for them."""
    kernel(cache)(21)
    (cache.parent / "kernel.py").write_text(KERNEL.replace("2 * x", "3 * x"))
    with pytest.warns(pgbn.PgbnWarning, match="not kept on disk"), room(2000):
        assert kernel(cache)(21) == 63
    assert kernel(cache)(21) == 63
    again = kernel(cache)
    assert again(21) == 63
    assert hits(again) == 1


def test_data_of_other_arguments(cache: Path) -> None:
    """Of two processes that write at once, one wrote the index last, the other its data."""
    kernel(cache)(21)
    (data,) = cache.rglob("*.nbc")
    whole = data.read_bytes()
    shutil.rmtree(cache)
    kernel(cache)(21.5)
    (data,) = cache.rglob("*.nbc")
    data.write_bytes(whole)
    assert kernel(cache)(21.5) == 43.0


def test_a_kernel_is_another_if_what_it_calls_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """numba looks at the file of the kernel alone: a newer pgbn would run with kernels of the old."""
    monkeypatch.setattr(compiled, "_SAMPLERS", tmp_path)
    own, called, far = (tmp_path / f"{name}.py" for name in ("own", "called", "far"))
    own.write_text("from pgbn.samplers.called import f\n")
    called.write_text("def f():\n    from pgbn.samplers import far, own\n")

    def stamp() -> str:
        compiled._read.cache_clear()
        compiled.kernel_stamp.cache_clear()
        return compiled.kernel_stamp(str(own))

    far.write_text("1")
    first = stamp()
    far.write_text("2")
    assert stamp() != first
    far.write_text("1")
    assert stamp() == first
    compiled._read.cache_clear()
    compiled.kernel_stamp.cache_clear()


def test_kernels_of_other_sources_are_compiled_anew(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel(cache)(21)
    monkeypatch.setattr(compiled, "kernel_stamp", lambda file: "of other sources")
    other, again = kernel(cache), kernel(cache)
    assert other(21) == again(21) == 42
    assert (hits(other), hits(again)) == (0, 1)


# ---- bundles without reference counts -------------------------------------------------------


class Inner(NamedTuple):
    x: np.ndarray
    number: float


class Outer(NamedTuple):
    inner: Inner
    y: np.ndarray


@njit
def _keeper(size, rounds):
    room = Outer(Inner(np.ones(size), 1.0), np.ones((size, 1)))
    free, total = uncounted(room), 0.0
    for _ in range(rounds):
        other = np.full(free.y.size, -1.0)
        total += free.y.sum() + other.sum()
    keep(room)
    return total


def test_arrays_live_until_they_are_no_longer_kept():
    assert _keeper(1000, 200) == 0.0


@njit
def _next(rng):
    rng[0] += rng[1]
    return rng[0]


@njit
def _two_streams(steps):
    first, second = new_rng(), new_rng()
    first[0], first[1], second[0], second[1] = 0, 1, 0, 10
    for _ in range(steps):
        _next(first)
        _next(second)
    return first[0], second[0], first.size


def test_every_stream_has_words_of_its_own():
    assert _two_streams(7) == (7, 70, 2)
