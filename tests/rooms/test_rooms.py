"""Every file stands in a folder of the table, and imports what that folder may."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rooms.table import (
    ARCHITECTURE,
    BEGIN,
    END,
    FOUNDATION,
    PACKAGE,
    ROOMS,
    TOP,
    UPWARD,
    architecture_table,
)

FILES = sorted(PACKAGE.rglob("*.py"))
MODULES = {".".join(("pgbn", *path.relative_to(PACKAGE).with_suffix("").parts)) for path in FILES}


def room_of(path: Path) -> str:
    """The folder of the package that a file stands in; "" at the top."""
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else ""


def imports_of(source: str) -> Iterator[tuple[int, str]]:
    """The modules of pgbn that a file imports anywhere, also in functions and for types only."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""  # ruff allows no relative imports in the package
            full = [f"{module}.{alias.name}" for alias in node.names]
            names = [name if name in MODULES else module for name in full]
            names = [name if name != "pgbn" else full[0] for name in names]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.startswith("pgbn"))


def wrong_imports(path: Path, source: str) -> list[str]:
    """What a file imports and may not."""
    own = room_of(path)
    found = []
    for line, module in imports_of(source):
        target = module.split(".")[1] if "." in module else ""
        if own == "" and path.stem not in FOUNDATION:
            continue  # an entrance may import every room
        if str(path.relative_to(PACKAGE)) in UPWARD or target in (own, *FOUNDATION):
            continue
        allowed = ROOMS[own].imports if own else ()
        if target not in allowed:
            found.append(
                f"{own or path.name}/{path.name}:{line} imports {module}; "
                f"it may import {', '.join((*allowed, *FOUNDATION)) or 'nothing'}"
            )
    return found


def test_every_file_stands_in_a_room():
    assert {room_of(path) for path in FILES} - {""} == set(ROOMS)
    assert {path.stem for path in FILES if room_of(path) == ""} <= {*TOP, *FOUNDATION}


def test_a_file_imports_what_its_room_may():
    found = [wrong_imports(path, path.read_text(encoding="utf-8")) for path in FILES]
    assert len(found) > 50
    assert [line for lines in found for line in lines] == []


def test_rooms_have_an_order():
    """A room imports rooms that do not import it, however many steps away."""
    done: set[str] = set()
    waiting = dict(ROOMS)
    while waiting:
        free = [name for name, room in waiting.items() if set(room.imports) <= done]
        assert free, f"these rooms import each other: {sorted(waiting)}"
        done |= set(free)
        waiting = {name: room for name, room in waiting.items() if name not in done}


@pytest.mark.parametrize(
    ("file", "source", "wrong"),
    [
        ("samplers/random.py", "import pgbn.nodes", True),
        ("nodes/gamma.py", "def f():\n    from pgbn import engine", True),
        ("nodes/gamma.py", "if TYPE_CHECKING:\n    from pgbn.engine.run.chain import Chain", True),
        ("explain/model.py", "from pgbn.samplers.random import Stream", True),
        ("errors.py", "from pgbn.nodes import Gamma", True),
        ("nodes/gamma.py", "from pgbn.errors import DataError\nfrom pgbn import checks", False),
        ("cli/use.py", "from pgbn.report import write_report", False),
    ],
)
def test_the_walk_finds_wrong_imports(file, source, wrong):
    assert bool(wrong_imports(PACKAGE / file, source)) is wrong


@pytest.mark.parametrize("file", UPWARD)
def test_methods_of_folders_above_import_them_when_called(file):
    path = PACKAGE / file
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    text = "\n".join(map(ast.unparse, top))
    assert wrong_imports(path.with_stem("other"), text) == []


def test_the_table_stands_in_architecture():
    text = ARCHITECTURE.read_text(encoding="utf-8")
    assert text.split(BEGIN)[1].split(END)[0].strip() == architecture_table()
