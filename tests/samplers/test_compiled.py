"""Kernels where nothing can be cached: they run all the same."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba
import pytest

import pgbn
from pgbn.samplers import compiled
from tests.helpers.cached_kernel import hits, kernel

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


def test_no_kernel_insists_on_a_cache() -> None:
    """numba's own njit fails where none can be written: all take ours."""
    own = [path for path in PACKAGE.rglob("*.py") if path.name != "compiled.py"]
    wrong = r"from numba import[^\n]*\bnjit\b|numba\.njit\("
    assert [path.name for path in own if re.search(wrong, path.read_text("utf-8"))] == []


@contextmanager
def no_room() -> Iterator[None]:
    """As on a full disk or beyond a quota, no byte can be written, by root neither."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_under_the_cache(cache: Path) -> None:
    def run() -> None:
        with no_room():
            assert kernel(cache)(21) == 42
            assert kernel(cache)(21.0) == 42.0

    with pytest.warns(pgbn.PgbnWarning, match="not kept on disk .*File too large") as said:
        run()
    assert len(said) == 1
    assert not list(cache.rglob("*.nbi"))
    assert kernel(cache)(21) == 42  # there is room again
    again = kernel(cache)
    assert again(21) == 42
    assert hits(again) == 1


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_half_a_file_is_written_again(cache: Path, kind: str) -> None:
    kernel(cache)(21)
    (file,) = cache.rglob(f"*.{kind}")
    os.truncate(file, file.stat().st_size // 2)
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


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)

    def twice(x: int) -> int:
        return 2 * x

    assert compiled.njit(cache=True)(twice)(21) == 42


def test_with_a_numba_that_is_built_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "Kernel", None)
    half = compiled.njit(nogil=True, forceinline=True)(lambda x: x / 2)
    quarter = compiled.njit(cache=True, nogil=True)(_quarter_by(half))
    assert quarter(8.0) == 2.0
    assert [len(each.signatures) for each in (quarter, half)] == [1, 1]


def _quarter_by(half: Any) -> Any:
    def quarter(x: float) -> float:
        return half(half(x))

    return quarter
