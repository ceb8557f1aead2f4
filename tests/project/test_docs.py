"""The pages: their code runs, and they name only what exists (names of pgbn, files, links)."""

from __future__ import annotations

import importlib
import inspect
import pydoc
import re
from pathlib import Path

import pytest

import pgbn
from pgbn.nodes.base import Node
from tests.helpers.repository import DOCS, ROOT, doc_pages

RUN = [ROOT / "README.md", *doc_pages()]
PAGES = [
    *RUN,
    *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
    *sorted((ROOT / ".github").rglob("*.md")),
]
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))

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


@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_blocks_run(page: Path, tmp_path, monkeypatch) -> None:
    """The blocks of a page run one after another, in one namespace, from an empty folder."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "page"}
    for kind, text in blocks(page):
        if kind == "bash":
            run_commands(text)
        else:
            exec(compile(text, str(page), "exec", dont_inherit=True), namespace)


def test_the_pattern_finds_the_code() -> None:
    """A page of notebooks without code would pass unseen."""
    assert len(blocks(RUN[0])) >= 3
    for page in sorted((DOCS / "tutorials").glob("*.md")):
        cells = page.read_text(encoding="utf-8").count("```{code-cell}")
        assert len(blocks(page)) >= cells >= 5


def test_nothing_in_the_reference_is_gone() -> None:
    """`test_docstrings` tests that nothing is missing."""
    for page in (DOCS / "api").glob("*.md"):
        for entry in re.findall(r"^\.\. auto\w+:: (\S+)", page.read_text("utf-8"), re.MULTILINE):
            assert pydoc.locate(entry) is not None, entry


# ---- names, files and links ----------------------------------------------------------------

DOTTED = re.compile(r"(?<![\w./-])(?:pgbn|pg)(?:\.[A-Za-z_]\w*)+(?![\w/])")
# Paths from the root, but for the folder that `make docs` builds.
FOLDERS = "pgbn|tests|examples|docs|benchmarks|nodes|samplers|\\.ci|\\.github"
PATH = re.compile(rf"(?<![\w./-])(?:{FOLDERS})/(?!_build)[\w./-]*[\w/]")
LINK = re.compile(r"(?:\]\(|^```\{figure\} )(?![a-z]+:|#)([^)#\s]+)", re.MULTILINE)
DOC = re.compile(r"\{doc\}`(?:[^`<]*<)?([^`<>]+)>?`")
SUFFIXES = (".svg", ".css", ".html", ".cff")


def exists(name: str) -> bool:
    """Whether a dotted name is a module of pgbn or an attribute in one."""
    parts = name.split(".")
    parts[0] = "pgbn"
    found = importlib.import_module("pgbn")
    for index, part in enumerate(parts[1:], 2):
        if not hasattr(found, part):
            try:
                importlib.import_module(".".join(parts[:index]))
            except ImportError:
                # A field of a model has no attribute of the class.
                return part in getattr(found, "model_fields", {}) and index == len(parts)
        found = getattr(found, part)
    return True


def wrong_names(text: str) -> list[str]:
    """Dotted names that are not there."""
    names = {name for name in DOTTED.findall(text) if not name.endswith(SUFFIXES)}
    return sorted(name for name in names if not exists(name))


def wrong_paths(text: str, folder: Path) -> list[str]:
    """Paths from the root of the repository, and links from the page, to files that are not there.

    `nodes` and `samplers` at the root are links into the package, and may be plain files where
    the system has no links.
    """
    paths = {
        path if not path.startswith(("nodes/", "samplers/")) else f"pgbn/{path}"
        for path in PATH.findall(text)
    }
    wrong = {path for path in paths if not (ROOT / path).exists()}
    links = {*LINK.findall(text), *(f"{name}.md" for name in DOC.findall(text))}
    wrong |= {link for link in links if not (folder / link).exists()}
    return sorted(wrong)


@every_page
def test_names_files_and_links_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert (wrong_names(text), wrong_paths(text, page.parent)) == ([], [])


def test_the_search_finds_what_is_wrong() -> None:
    """Each of the right ones has a wrong neighbour."""
    names = "`pgbn.zoo.pgbn([4])`, pg.Gamma, images/pgbn.svg, `pgbn.PGBN.fit`; pg.Gama, `pgbn.no.x`"
    assert wrong_names(names) == ["pg.Gama", "pgbn.no.x"]
    paths = """`pgbn/nodes/gamma.py`, `nodes/gamma.py`, `pgbn/none.py`, `nodes/none.py`
[a](docs/concepts.md) [b](docs/none.md#x) [d](LICENCE) {doc}`README` {doc}`that <none>`
```{figure} none.png"""
    assert wrong_paths(paths, ROOT) == ["LICENCE", "docs/none.md", "none.md", "none.png",
                                        "pgbn/nodes/none.py", "pgbn/none.py"]  # fmt: skip


def test_the_table_of_the_zoo_has_every_model() -> None:
    """Each call of the table is one of the zoo, and no model is missing."""
    rows = re.findall(r"^\| (`[a-z_].*?) \|", (DOCS / "zoo.md").read_text("utf-8"), re.MULTILINE)
    called = {name for row in rows for name in re.findall(r"`([a-z_]+)\(", row)}
    assert called == {*pgbn.zoo.__all__} - {"phrase_windows"}


def test_the_language_reference_has_every_node_type() -> None:
    """Each type of pgbn has its row, with its slots in their order."""
    text = (DOCS / "language.md").read_text(encoding="utf-8")
    calls = dict(re.findall(r"`([A-Z]\w+)\(name, ([^)`]*)\)`", text))
    for kind in (getattr(pgbn, name) for name in pgbn.__all__):
        if not (inspect.isclass(kind) and issubclass(kind, Node)):
            continue
        known = inspect.signature(kind).parameters
        positional = [n for n, p in known.items() if p.kind is p.POSITIONAL_OR_KEYWORD][1:]
        shown = [each.split("=")[0].strip() for each in calls[kind.__name__].split(",")]
        assert shown[: len(positional)] == positional, kind
        assert {*shown} <= {*known}, kind


def test_every_class_attribute_of_a_type_is_explained() -> None:
    page = (DOCS / "api" / "extend.md").read_text(encoding="utf-8")
    known = {
        **pgbn.extend.Latent.__annotations__,
        **pgbn.extend.Observed.__annotations__,
        **Node.__annotations__,
    }
    switches = [name for name, kind in known.items() if "ClassVar" in str(kind)]
    assert len(switches) >= 5
    for name in ("tag", *switches):
        assert f"| `{name}` |" in page, name
    methods = {
        name
        for kind in (pgbn.extend.Latent, pgbn.extend.Observed)
        for name, member in vars(kind).items()
        if inspect.isfunction(member) and not name.startswith("_")
    }
    assert len(methods) >= 5
    shown = {each for line in re.findall(r":members: (.+)", page) for each in line.split(", ")}
    assert methods <= shown
