"""The settings of the tests themselves: found from a fresh clone, and right for other systems."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from tests.helpers.posix import words_of_posix
from tests.helpers.repository import ROOT


def stop() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def directly(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")


def by_a_helper() -> None:
    stop()


def never(tmp_path: Path) -> None:
    empty = tmp_path / "empty"  # which has the letters of a word of POSIX
    assert not empty.exists()


@pytest.mark.parametrize(
    ("test", "words"), [(directly, ["symlink_to"]), (by_a_helper, ["os.kill"]), (never, [])]
)
def test_what_needs_posix_is_found(test, words: list[str]) -> None:
    assert words_of_posix(test) == words


def test_settings_do_not_come_from_the_shell() -> None:
    assert "PGBN_THREADS" not in os.environ
    assert os.environ["MPLBACKEND"] == "Agg"
    assert settings().derandomize
    assert settings().database is None


@pytest.mark.parametrize("command", [["-m", "pytest"], ["-c", "import pytest; pytest.main()"]])
def test_tests_import_each_other_from_a_fresh_clone(command: list[str], tmp_path: Path) -> None:
    """`pytest` and `python -m pytest` (which adds the folder to the path) both find `tests`."""
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text(encoding="utf-8"),
                                             encoding="utf-8")  # fmt: skip
    for name, text in {
        "tests/__init__.py": "",
        "tests/helpers/__init__.py": "ANSWER = 42",
        "tests/room/__init__.py": "",
        "tests/room/test_one.py": "from tests.helpers import ANSWER\n\ndef test(): assert ANSWER == 42",
        "tests/other/__init__.py": "",
        "tests/other/test_one.py": "from tests.helpers import ANSWER\n\ndef test(): pass",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-P", *command], cwd=tmp_path, env=environment, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert "2 passed" in done.stdout, done.stdout + done.stderr
