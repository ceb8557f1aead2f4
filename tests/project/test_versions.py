"""What a bug report says, and that the version is the same wherever it is written."""

from __future__ import annotations

import importlib.metadata
import io
import re
import subprocess
import sys
import tomllib

import numpy as np
import pytest

import pgbn
from tests.helpers.repository import ROOT

RECIPE = ROOT / ".github" / "conda" / "meta.yaml"


def shown() -> dict[str, str]:
    """The lines of a report, by their first column of 14 characters."""
    out = io.StringIO()
    pgbn.show_versions(out)
    return {line[:14].strip(): line[14:] for line in out.getvalue().splitlines()}


def test_a_report_names_what_pgbn_stands_on() -> None:
    facts = shown()
    assert facts["pgbn"] == pgbn.__version__
    assert facts["python"].startswith(".".join(map(str, sys.version_info[:3])))
    assert facts["numpy"] == np.__version__
    needed = {"scipy", "numba", "llvmlite", "networkx", "pydantic"}
    optional = {"scikit-learn", "xarray", "arviz-base", "matplotlib", "typer", "rich"}
    machine = {"platform", "processor", "threads", "numba cache", "NUMBA_*"}
    assert needed | optional | machine <= set(facts)
    assert all(fact.strip() for fact in facts.values())


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "rich":
            raise importlib.metadata.PackageNotFoundError(name)
        return "1.2"

    monkeypatch.setattr("pgbn.versions.version", version)
    facts = shown()
    assert facts["rich"] == "not installed"
    assert facts["typer"] == "1.2"


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("3", "3 (PGBN_THREADS=3)"),
        ("many", "PGBN_THREADS='many' must be a positive integer"),
        (None, "PGBN_THREADS not set"),
    ],
)
def test_threads_and_their_variable(
    variable: str | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if variable is None:
        monkeypatch.delenv("PGBN_THREADS", raising=False)
    else:
        monkeypatch.setenv("PGBN_THREADS", variable)
    assert said in shown()["threads"]


def test_extras_are_not_imported_for_a_report() -> None:
    script = (
        "import sys, pgbn; pgbn.show_versions();"
        "extras = {'sklearn', 'xarray', 'arviz_base', 'matplotlib', 'typer', 'rich'};"
        "assert not extras & set(sys.modules), extras & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_one_version_everywhere() -> None:
    """The package, its metadata, the citation, the recipe and the newest changes agree."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = {
        "pyproject.toml": project["version"],
        "CITATION.cff": re.findall(r"^version: (\S+)$", citation, re.MULTILINE)[0],
        "meta.yaml": re.findall(r'set version = "(.+)"', RECIPE.read_text("utf-8"))[0],
        "CHANGELOG.md": re.findall(r"^## (\S+)", changes, re.MULTILINE)[0],
    }
    assert found == dict.fromkeys(found, pgbn.__version__)


def test_the_conda_recipe_needs_what_the_package_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    run = RECIPE.read_text("utf-8").split("  run:\n")[1].split("\n\n")[0]
    needed = [line.strip(" -").replace(" ", "") for line in run.splitlines()]
    assert needed == [f"python{project['requires-python']}", *project["dependencies"]]


def test_the_oldest_versions_are_those_that_are_tried() -> None:
    """.ci/oldest.txt pins every lower bound of what is installed with pgbn[sklearn]."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    bounds = [*project["dependencies"], *project["optional-dependencies"]["sklearn"]]
    pins = (ROOT / ".ci" / "oldest.txt").read_text("utf-8").split()
    assert sorted(pins) == sorted(bound.replace(">=", "==") for bound in bounds)
    assert all(re.fullmatch(r"[\w-]+==\d+(\.\d+)+", pin) for pin in pins)
