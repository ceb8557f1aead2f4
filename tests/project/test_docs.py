"""The code in the README and the documentation runs."""

import inspect
import pydoc
import re
from pathlib import Path

import pytest

import pgbn
from pgbn import testing
from pgbn.samplers import vectorised
from tests.helpers.repository import DOCS, ROOT, doc_pages

PAGES = [ROOT / "README.md", *doc_pages()]
# Blocks of Python, cells of notebooks, and commands, in the order of the page.
BLOCK = re.compile(r"^```(python|bash|\{code-cell\}[^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
OPTIONS = re.compile(r"\A(?::[a-z-]+:[^\n]*\n)+")


def blocks(page: Path) -> list[tuple[str, str]]:
    """(kind, text) of the code of a page; the options of a cell (":tags: …") are left out."""
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [(kind, OPTIONS.sub("", text)) for kind, text in found]


def run_commands(text: str) -> None:
    """Run lines such as ``pgbn fit …``."""
    from pgbn.cli import run_command as run

    for line in text.strip().splitlines():
        program, *arguments = line.split()
        assert program == "pgbn", line
        assert run(arguments) == 0, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_blocks_run(page: Path, tmp_path, monkeypatch) -> None:
    """The blocks of a page run one after another, in one namespace, from an empty folder."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "page"}
    for kind, text in blocks(page):
        if kind == "bash":
            run_commands(text)
        else:
            exec(compile(text, str(page), "exec"), namespace)


def test_readme_has_code() -> None:
    assert len(blocks(PAGES[0])) >= 3


def test_tutorials_have_cells() -> None:
    """The pattern finds the cells: a page of notebooks without code would pass unseen."""
    for page in sorted((DOCS / "tutorials").glob("*.md")):
        cells = page.read_text(encoding="utf-8").count("```{code-cell}")
        assert cells >= 5
        assert len(blocks(page)) >= cells


def test_reference_is_complete() -> None:
    """Every public name is in the API reference, and nothing that is gone."""
    text = "".join(page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md"))
    entries = re.findall(r"^\.\. auto\w+:: (\S+)", text, re.MULTILINE)
    shown = {entry.rpartition(".")[2] for entry in entries}
    for module in (pgbn, pgbn.zoo, testing, vectorised):
        names = [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]
        assert set(names) <= shown, f"{module.__name__}: {sorted(set(names) - shown)}"
    for entry in entries:
        assert pydoc.locate(entry) is not None, entry


def test_pictures_exist() -> None:
    """Every picture that a page shows is in the repository."""
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        text = page.read_text(encoding="utf-8")
        shown = re.findall(r"!\[[^\]]*\]\(([^)]+)\)|^```\{figure\} (\S+)", text, re.MULTILINE)
        for name in (a or b for a, b in shown):
            assert (page.parent / name).is_file(), f"{page.name}: {name}"
