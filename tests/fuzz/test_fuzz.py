"""Readers end well, or by an error that names the file: on what was found, on changes of it, and,
where atheris is installed, on what it finds in some seconds."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import FOUND, TARGETS

COVERAGE_SECONDS = 3


def found(target: str) -> list[Path]:
    return sorted((FOUND / target).iterdir())


def run(*arguments: str, seconds: float = 60.0) -> None:
    command = [sys.executable, "-W", "ignore", "-m", *arguments]
    done = subprocess.run(command, capture_output=True, timeout=seconds, check=False)
    assert done.returncode == 0, (done.stdout[-300:] + done.stderr[-3000:]).decode(errors="replace")


@pytest.mark.parametrize("target", TARGETS)
def test_what_was_found(target: str) -> None:
    """In a process of its own; `feed` measures the time that each file takes."""
    assert found(target)
    run("tests.fuzz.targets", target, *map(str, found(target)), seconds=300.0)


@st.composite
def changed(draw: st.DrawFn, target: str) -> bytes:
    """A found case with some bytes replaced, left out, doubled, or put in."""
    data = bytearray(draw(st.sampled_from([path.read_bytes() for path in found(target)])))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        stop = min(len(data), start + draw(st.integers(0, 8)))
        piece = draw(st.binary(max_size=6) | st.sampled_from(
            [b"", b"-1", b"1e999", b"9" * 30, b"null", b"[[", b"\x00", b"\r\n", b'"', b"\xff\xfe"]
        ))  # fmt: skip
        data[start:stop] = piece
    return bytes(data)


# In the process of the tests: readers that can end it get no changed input here.
SAFE = [name for name in TARGETS if name != "corpus"]


@pytest.mark.parametrize("target", SAFE)
def test_changes_of_it(target: str, tmp_path: Path) -> None:
    _campaign(target, tmp_path, 60)


@pytest.mark.long
@pytest.mark.parametrize("target", TARGETS)
def test_many_changes_of_it(target: str, tmp_path: Path) -> None:
    _campaign(target, tmp_path, 5000)


def _campaign(target: str, place: Path, examples: int) -> None:
    @settings(max_examples=examples)
    @given(changed(target))
    def each(data: bytes) -> None:
        TARGETS[target](data, place)

    each()


@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed")
@pytest.mark.parametrize("target", TARGETS)
def test_by_coverage(target: str, tmp_path: Path) -> None:
    """New cases go to a folder that is thrown away, a finding to a file named in the output."""
    _by_coverage(target, tmp_path, COVERAGE_SECONDS)


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed")
@pytest.mark.parametrize("target", TARGETS)
def test_long_by_coverage(target: str, tmp_path: Path) -> None:
    _by_coverage(target, tmp_path, 600)


def _by_coverage(target: str, place: Path, seconds: int) -> None:
    limits = [f"-max_total_time={seconds}", "-timeout=30", "-rss_limit_mb=4096"]
    prefix = f"-artifact_prefix={place}/"
    run("tests.fuzz.harness", target, str(place), str(FOUND / target), prefix, *limits,
        seconds=300 + 2 * seconds)  # fmt: skip
