"""Readers end well, or by an error that names the file: on what was found, and, where atheris is
installed, on what it finds in some seconds. The campaign `changes` changes what was found."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

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
