"""Tests mirror the rooms: pgbn/<room>/<name>.py is tested by tests/<room>/test_<name>.py."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.rooms.table import PACKAGE, ROOMS

TESTS = PACKAGE.parent / "tests"

# Rooms in which some modules have no file of tests yet: take out a room once it has (its test then
# says "XPASS"), and add none.
TO_COME = {
    "cli", "estimators", "evaluation", "explain", "report", "samplers", "storage", "training", "zoo",
}  # fmt: skip


def modules(room: str) -> list[Path]:
    """The modules of a room. A package is tested by the tests of its modules."""
    return sorted(path for path in (PACKAGE / room).rglob("*.py") if path.stem != "__init__")


def mirrored(module: Path) -> Path:
    """The file that holds the tests of a module."""
    place = module.relative_to(PACKAGE)
    return TESTS / place.with_name(f"test_{place.name}")


def has_tests(path: Path) -> bool:
    """Whether a file has a test, as a function or in a class."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(
        isinstance(node, ast.FunctionDef) and node.name.startswith("test")
        for node in ast.walk(tree)
    )


def missing(room: str) -> list[str]:
    """The files of tests that a room lacks, or that are empty."""
    files = [mirrored(module) for module in modules(room)]
    return [
        str(path.relative_to(TESTS)) for path in files if not path.exists() or not has_tests(path)
    ]


@pytest.mark.parametrize(
    "room",
    [
        pytest.param(room, marks=pytest.mark.xfail(reason="to come")) if room in TO_COME else room
        for room in ROOMS
    ],
)
def test_every_module_has_its_tests(room: str) -> None:
    assert missing(room) == []


def test_the_rooms_to_come_exist() -> None:
    assert set(ROOMS) >= TO_COME


def test_folders_of_tests_can_be_imported() -> None:
    """Files of one name in two folders need packages."""
    folders = {path.parent for path in TESTS.rglob("test_*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


@pytest.mark.parametrize(
    ("module", "test"),
    [
        ("nodes/gamma.py", "nodes/test_gamma.py"),
        ("engine/first_layer/base.py", "engine/first_layer/test_base.py"),
    ],
)
def test_the_place_of_tests(module: str, test: str) -> None:
    assert mirrored(PACKAGE / module) == TESTS / test


def test_a_file_without_a_test_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "test_empty.py"
    path.write_text('"""Nothing."""\n\ndef check():\n    pass\n')
    assert not has_tests(path)
    path.write_text("class Tests:\n    def test_one(self):\n        pass\n")
    assert has_tests(path)
