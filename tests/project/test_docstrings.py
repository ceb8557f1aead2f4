"""Docstrings of the public callables: complete by numpydoc, with examples that run.

A docstring has the section Parameters (if the callable takes any), with exactly its parameters, and
the section Examples.
"""

from __future__ import annotations

import doctest
import inspect
import pydoc
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn.nodes import base, edge
from pgbn.nodes import rules as registry
from pgbn.storage import archive
from pgbn.zoo import links
from tests.helpers.repository import DOCS

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def modules() -> dict[str, ModuleType]:
    """The modules with public names: the top level, its subpackages, and theirs."""
    found, waiting = {}, ["pgbn"]
    while waiting:
        name = waiting.pop(0)
        found[name] = resolved(name)
        parts = {part: getattr(found[name], part) for part in found[name].__all__}
        waiting += [f"{name}.{part}" for part, thing in parts.items() if inspect.ismodule(thing)]
    return found


def resolved(name: str) -> Any:
    """What a dotted name stands for."""
    thing: Any = pgbn
    for part in name.split(".")[1:]:
        thing = getattr(thing, part)
    return thing


def names_in(module: ModuleType) -> list[str]:
    extra = ["PGBN", "PFA", "NetworkTransformer"] if module is pgbn else []
    return [*module.__all__, *extra]


def is_callable(thing: Any) -> bool:
    return inspect.isclass(thing) or inspect.isroutine(thing) or hasattr(thing, "__wrapped__")


def public_things() -> dict[str, Any]:
    """The public classes and functions by dotted name, each under its first name."""
    found: dict[str, Any] = {}
    seen: set[int] = set()
    for home, module in modules().items():
        for name in names_in(module):
            thing = getattr(module, name)
            if is_callable(thing) and getattr(thing, "__module__", "").startswith("pgbn"):
                if id(thing) not in seen:
                    found[f"{home}.{name}"] = thing
                seen.add(id(thing))
    return found


def methods_of(cls: type, public: set[type]) -> Iterator[tuple[str, Any]]:
    """The public methods of a class, those of private base classes included.

    A method that a public base class has too is documented there."""
    bases = [each for each in cls.__mro__ if each.__module__.startswith("pgbn")]
    above = [each for each in bases if each is not cls and each in public]
    known = {name for each in above for name in dir(each)}
    for name in sorted({name for each in bases for name in vars(each)} - known):
        made = inspect.getattr_static(cls, name)
        plain = isinstance(made, classmethod | staticmethod) or inspect.isfunction(made)
        if plain and not name.startswith("_"):
            yield name, getattr(cls, name)


def public_callables() -> dict[str, Any]:
    """All public callables: functions, classes (not errors), and methods of classes."""
    things = public_things()
    public = {thing for thing in things.values() if inspect.isclass(thing)}
    found = {}
    for name, thing in things.items():
        if not (inspect.isclass(thing) and issubclass(thing, BaseException | Warning)):
            found[name] = thing
        if inspect.isclass(thing):
            found.update({f"{name}.{own}": method for own, method in methods_of(thing, public)})
    return found


CALLABLES = public_callables()


def takes_any(thing: Any) -> bool:
    try:
        parameters = list(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        return True
    return bool([name for name in parameters if name != "self"])


def sections(thing: Any) -> set[str]:
    return set(re.findall(r"^(\w+)\n-{3,}$", inspect.getdoc(thing) or "", re.MULTILINE))


def missing_sections(thing: Any) -> list[str]:
    """The sections that a docstring lacks. A class of results may have Attributes instead."""
    has = sections(thing)
    if inspect.isclass(thing) and "Attributes" in has:
        has.add("Parameters")
    needed = ["Parameters"] * takes_any(thing) + ["Examples"]
    return [name for name in needed if name not in has]


def test_a_public_callable_has_parameters_and_examples() -> None:
    lacking = {name: missing_sections(thing) for name, thing in CALLABLES.items()}
    assert not {name: lacks for name, lacks in lacking.items() if lacks}


def documented_parameters(thing: Any) -> list[str]:
    """The names in the section Parameters, such as ``first, second : str``."""
    text = (inspect.getdoc(thing) or "").partition("Parameters\n----------\n")[2]
    text = re.split(r"\n\w+\n-{3,}\n", text)[0]  # until the next section
    names = re.findall(r"^(\*{0,2}\w[\w, *]*)(?: ?: .*)?$", text, re.MULTILINE)
    single = [name.strip() for each in names for name in each.split(",")]
    return [name.strip("*") for name in single if not name.startswith("**")]


@pytest.mark.parametrize("name", sorted(CALLABLES))
def test_the_parameters_of_a_docstring_are_those_of_the_signature(name: str) -> None:
    parameters = inspect.signature(CALLABLES[name]).parameters.items()
    takes = [each for each, kind in parameters if kind.kind is not kind.VAR_KEYWORD]
    takes = [each for each in takes if each != "self"]
    if "Attributes" not in sections(CALLABLES[name]):
        assert sorted(documented_parameters(CALLABLES[name])) == sorted(takes)


GROUPS = sorted({name.rsplit(".", 1)[0] for name in CALLABLES} | set(public_things()))


def examples_of(group: str) -> dict[str, Any]:
    """The callables of a class or module whose docstrings have examples."""
    own = {name: thing for name, thing in CALLABLES.items() if name.rsplit(".", 1)[0] == group}
    return {name: thing for name, thing in own.items() if ">>>" in (inspect.getdoc(thing) or "")}


@pytest.mark.parametrize("group", [group for group in GROUPS if examples_of(group)])
def test_examples_run(group: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a reader would type them, after ``import pgbn`` and ``import numpy as np``."""
    monkeypatch.chdir(tmp_path)
    for module in (registry, base, edge, archive, links):  # for what examples register
        for name, table in vars(module).copy().items():
            if isinstance(table, dict) and name.startswith("_") and not name.startswith("__"):
                monkeypatch.setattr(module, name, table.copy())
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    told: list[str] = []
    for name, thing in examples_of(group).items():
        names = {"pgbn": pgbn, "np": np}
        text = inspect.getdoc(thing) or ""
        test = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
        runner.run(test, out=told.append)
    assert not told, "\n".join(told)


# ---- the API reference ----------------------------------------------------------------------

ENTRY = re.compile(r"^\.\. auto(\w+):: (\S+)\n((?:   .*\n)*)", re.MULTILINE)


def anchors() -> set[str]:
    """The dotted names that the pages of docs/api show."""
    found: set[str] = set()
    for page in sorted((DOCS / "api").glob("*.md")):
        for kind, name, options in ENTRY.findall(page.read_text(encoding="utf-8")):
            found.add(name)
            thing, members = pydoc.locate(name), re.search(r" :members:(.*)", options)
            if kind == "module" and ":no-members:" not in options:
                found |= {f"{name}.{own}" for own in thing.__all__}
            if kind != "class" or ":no-members:" in options:
                continue
            shown = re.findall(r"\w+", members[1]) if members else []
            inherited = ":inherited-members:" in options
            shown = shown or [own for own in dir(thing) if inherited or own in vars(thing)]
            found |= {f"{name}.{own}" for own in shown}
    return found


def names_of(thing_name: str) -> set[str]:
    """All dotted names of a thing: a function of a subpackage may be on the top level too."""
    head, _, method = thing_name.rpartition(".")
    if not inspect.ismodule(resolved(head)):
        return {f"{name}.{method}" for name in names_of(head)}
    thing = resolved(thing_name)
    return {
        f"{home}.{name}"
        for home, module in modules().items()
        for name in names_in(module)
        if getattr(module, name) is thing
    }


def test_every_public_name_is_in_the_reference() -> None:
    """Under one of its names. A method that is inherited needs :inherited-members:."""
    shown, names = anchors(), {*CALLABLES, *public_things()}
    assert not sorted(name for name in names if not names_of(name) & shown)
