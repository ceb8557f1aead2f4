"""The pages name only what exists: names of pgbn, files of the repository, links to both."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

import pgbn
from pgbn.nodes.base import Node
from tests.helpers.repository import DOCS, ROOT, doc_pages

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
    *doc_pages(),
    *sorted((ROOT / ".github").rglob("*.md")),
]

DOTTED = re.compile(r"(?<![\w./-])(?:pgbn|pg)(?:\.[A-Za-z_]\w*)+(?![\w/])")
# Paths from the root, but for the folder that `make docs` builds.
FOLDERS = "pgbn|tests|examples|docs|benchmarks|nodes|samplers|\\.ci|\\.github"
PATH = re.compile(rf"(?<![\w./-])(?:{FOLDERS})/(?!_build)[\w./-]*[\w/]")
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)")
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_names_exist(page: Path) -> None:
    assert wrong_names(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_links_exist(page: Path) -> None:
    assert wrong_paths(page.read_text(encoding="utf-8"), page.parent) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("`pgbn.zoo.pgbn([4])` and pg.Gamma.", []),
        ("`pgbn.PGBN.fit`, `pgbn.report`", []),
        ("`pgbn.layer1_cost.estimate`", ["pgbn.layer1_cost.estimate"]),
        ("pg.Gama, pgbn.Gamma", ["pg.Gama"]),
        ("images/pgbn.svg", []),
    ],
)
def test_the_search_finds_wrong_names(text: str, wrong: list[str]) -> None:
    assert wrong_names(text) == wrong


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("`pgbn/nodes/gamma.py`, `nodes/gamma.py`, `.ci/run`", []),
        ("`pgbn/layer1.py`", ["pgbn/layer1.py"]),
        ("`nodes/nothing.py`", ["pgbn/nodes/nothing.py"]),
        ("[a](docs/concepts.md) [b](docs/none.md#x)", ["docs/none.md"]),
        ("[c](LICENSE) [d](LICENCE)", ["LICENCE"]),
        ("{doc}`README` {doc}`that <CONTRIBUTING>` {doc}`none`", ["none.md"]),
    ],
)
def test_the_search_finds_wrong_paths(text: str, wrong: list[str]) -> None:
    assert wrong_paths(text, ROOT) == wrong


@pytest.mark.parametrize("rule", [pgbn.evidence_rule, pgbn.draw_rule, pgbn.link_rule])
def test_every_keyword_of_a_rule_is_explained(rule) -> None:
    page = (DOCS / "api" / "rules.md").read_text(encoding="utf-8")
    section = page.split(f"pgbn.{rule.__name__}\n")[1].split("```{eval-rst}")[0]
    for keyword in inspect.signature(rule).parameters:
        assert f"`{keyword}`" in section, keyword


def test_every_class_attribute_of_a_type_is_explained() -> None:
    page = (DOCS / "api" / "rules.md").read_text(encoding="utf-8")
    known = {**pgbn.Latent.__annotations__, **pgbn.Observed.__annotations__, **Node.__annotations__}
    switches = [name for name, kind in known.items() if "ClassVar" in str(kind)]
    assert len(switches) >= 5
    for name in ("tag", "positional", *switches):
        assert f"| `{name}` |" in page, name
    methods = {
        name
        for kind in (pgbn.Latent, pgbn.Observed)
        for name, member in vars(kind).items()
        if inspect.isfunction(member) and not name.startswith("_")
    }
    assert len(methods) >= 5
    for name in methods:
        assert f"`{name}`" in page, name
