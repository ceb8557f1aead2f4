"""The public names, which are imported when they are asked for."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import pgbn


def fresh(code: str) -> str:
    """What a new process prints."""
    words = [sys.executable, "-c", f"import pgbn\n{code}"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("name", pgbn.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(pgbn, name) is not None
    assert name in dir(pgbn)


def test_type_checkers_see_the_same_names_from_the_same_modules() -> None:
    stub = ast.parse(Path(pgbn.__file__).with_suffix(".pyi").read_text())
    homes = {
        alias.name: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert homes.pop("__version__") == "pgbn.versions"
    assert homes == pgbn._HOMES
    [names] = [node.value for node in stub.body if isinstance(node, ast.Assign)]
    assert sorted(ast.literal_eval(names)) == pgbn.__all__


def test_estimators_are_public_though_they_are_an_extra() -> None:
    pytest.importorskip("sklearn")
    assert pgbn.PGBN.__name__ == "PGBN"
    assert "PGBN" not in pgbn.__all__
    assert "PGBN" in dir(pgbn)
    hidden = "import sys; sys.modules['sklearn'] = None\ntry:\n    pgbn.PGBN\nexcept ImportError as e:\n    print(e)"
    assert fresh(hidden) == "pgbn.PGBN needs scikit-learn: pip install 'pgbn[sklearn]'"


def test_rooms_are_there_without_an_import_of_their_own() -> None:
    assert fresh("print(pgbn.datasets.load_docstrings.__name__)") == "load_docstrings"
    assert fresh("from pgbn import *; print(zoo.pfa(2).observed, Gamma)").startswith("['x']")


def test_what_is_not_there_is_an_attribute_error() -> None:
    package: Any = pgbn
    for name in ("nothing", "_nothing"):
        with pytest.raises(AttributeError, match=f"module 'pgbn' has no attribute '{name}'"):
            getattr(package, name)


def test_a_folder_is_loaded_by_the_room_that_knows_it(tmp_path: Any) -> None:
    """Nothing but pgbn.load was asked for before."""
    pgbn.save(pgbn.zoo.pfa(2), tmp_path / "network")
    pgbn.save(pgbn.zoo.pfa(2).chain({"x": [[1, 2], [3, 4]]}), tmp_path / "chain")
    pgbn.save(
        pgbn.train_layerwise([[1, 2], [3, 4]], 2, 1, burn_in=1, sweeps=1), tmp_path / "training"
    )
    for name, kind in (
        ("network", "Network"),
        ("chain", "Chain"),
        ("training", "LayerwiseTraining"),
    ):
        assert fresh(f"print(type(pgbn.load({str(tmp_path / name)!r})).__name__)") == kind
    with pytest.raises(pgbn.StorageError) as complaint:
        pgbn.save(3, tmp_path / "nowhere")  # type: ignore[arg-type, unused-ignore]
    assert all(kind in str(complaint.value) for kind in ("a Network", "a Chain", "Draws"))


def test_threads_may_ask_for_names_at_once() -> None:
    """Each imports rooms that the others need: none may meet one that is half imported."""
    code = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "asks = [lambda: pgbn.PGBN, lambda: pgbn.zoo.pfa(3), lambda: pgbn.train_layerwise,\n"
        "        lambda: pgbn.plot, lambda: pgbn.Gamma, lambda: pgbn.load]\n"
        "with ThreadPoolExecutor(6) as pool:\n"
        "    print(len([each.result() for each in [pool.submit(ask) for ask in asks]]))"
    )
    assert fresh(code) == "6"


def test_pgbn_in_a_zip(tmp_path: Path) -> None:
    """As a cluster gets it: it read its own names from a file that is none there."""
    package, archive = Path(pgbn.__file__).parent, tmp_path / "pgbn.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in package.rglob("*.py"):
            file.write(path, path.relative_to(package.parent))
    code = "import pgbn; print(pgbn.__file__, pgbn.DataError.__name__, len(dir(pgbn)))"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(archive)},
    )  # fmt: skip
    place = archive / "pgbn" / "__init__.py"
    assert shown.stdout.split() == [str(place), "DataError", str(len(dir(pgbn)))], shown.stderr
