"""A corpus that needs no download: the docstrings of packages that are installed anyway."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any

from pgbn.checks import check_integer, listed
from pgbn.errors import DataError

_SKIP = {"blas", "lapack", "tests", "testing", "conftest", "setup", "f2py", "distutils"}


def docstrings(packages: Sequence[str] = ("numpy", "scipy"), shortest: int = 200) -> dict[str, str]:
    """A dict from names such as "scipy.linalg.svd" to docstrings, for the public functions, classes
    and methods of some packages. Each text occurs once, and has at least ``shortest``
    characters."""
    packages = listed("packages", packages, 'give a list of names, such as ("numpy", "scipy")')
    shortest = check_integer("shortest", shortest, 0)
    found: dict[str, str] = {}
    seen: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for package in packages:
            for module in _modules(package):
                for name, value in _members(module):
                    text = _text(value)
                    if len(text) >= shortest and text not in seen:
                        seen.add(text)
                        found[name] = text
    return found


def _modules(package: str) -> Iterator[ModuleType]:
    """The package and its public modules, in order of their names."""
    try:
        root = importlib.import_module(package)
    except (ImportError, AttributeError, TypeError, ValueError):
        raise DataError(f"packages: {package!r:.60} is not an installed package") from None
    yield root
    found = pkgutil.iter_modules(getattr(root, "__path__", ()), package + ".")
    for info in sorted(found, key=lambda info: info.name):
        last = info.name.rpartition(".")[2]
        if last.startswith("_") or last in _SKIP:
            continue
        with suppress(Exception):  # a part that does not work here, for any reason
            yield from _modules(info.name) if info.ispkg else [importlib.import_module(info.name)]


def _members(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Public names of a module and the methods of its classes, with values of its own package."""
    package = module.__name__.partition(".")[0]
    for name in sorted(vars(module)):
        value = vars(module)[name]
        if name.startswith("_") or inspect.ismodule(value):
            continue
        if not str(getattr(value, "__module__", None) or package).startswith(package):
            continue
        yield f"{module.__name__}.{name}", value
        if inspect.isclass(value):
            for member in sorted(vars(value)):
                if not member.startswith("_"):
                    yield f"{module.__name__}.{name}.{member}", vars(value)[member]


def _text(value: Any) -> str:
    """A docstring; that of a constant belongs to its type and does not count."""
    if callable(value) or isinstance(value, property):
        with suppress(Exception):  # objects that compute their docstring and fail
            return inspect.getdoc(value) or ""
    return ""
