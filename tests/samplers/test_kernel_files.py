"""Kernels on disk: only those that are whole, of these arguments and of these sources, are run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import pgbn
from pgbn.samplers import compiled, kernel_files
from tests.helpers.cached_kernel import KERNEL, hits, kernel


def test_an_index_that_is_newer_than_its_data(cache: Path) -> None:
    """A small index found room on a full disk, and its data did not: those of another version, which
    have the same name, are not taken for them."""
    resource = pytest.importorskip("resource")
    kernel(cache)(21)
    (cache.parent / "kernel.py").write_text(KERNEL.replace("2 * x", "3 * x"))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        with pytest.warns(pgbn.PgbnWarning, match="not kept on disk"):
            assert kernel(cache)(21) == 63
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
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


def test_zeros_in_the_middle_of_a_file(cache: Path) -> None:
    """A power cut can leave a block of zeros: machine code that would end the interpreter."""
    kernel(cache)(21)
    (data,) = cache.rglob("*.nbc")
    whole = data.read_bytes()
    half = len(whole) // 2
    data.write_bytes(whole[:half] + bytes(500) + whole[half + 500 :])
    repaired, again = kernel(cache), kernel(cache)
    assert repaired(21) == again(21) == 42
    assert (hits(repaired), hits(again)) == (0, 1)


def test_a_kernel_is_another_if_what_it_calls_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """numba looks at the file of the kernel alone: a newer pgbn would run with kernels of the old."""
    monkeypatch.setattr(kernel_files, "_SAMPLERS", tmp_path)
    own, called, far = (tmp_path / f"{name}.py" for name in ("own", "called", "far"))
    own.write_text("from pgbn.samplers.called import f\n")
    called.write_text("def f():\n    from pgbn.samplers import far, own\n")

    def stamp() -> str:
        kernel_files._read.cache_clear()
        kernel_files.kernel_stamp.cache_clear()
        return kernel_files.kernel_stamp(str(own))

    far.write_text("1")
    first = stamp()
    far.write_text("2")
    assert stamp() != first
    far.write_text("1")
    assert stamp() == first
    kernel_files._read.cache_clear()
    kernel_files.kernel_stamp.cache_clear()


def test_kernels_of_other_sources_are_compiled_anew(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel(cache)(21)
    monkeypatch.setattr(compiled, "kernel_stamp", lambda file: "of other sources")
    other, again = kernel(cache), kernel(cache)
    assert other(21) == again(21) == 42
    assert (hits(other), hits(again)) == (0, 1)
