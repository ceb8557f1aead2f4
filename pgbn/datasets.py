"""Datasets: texts to try pgbn with, and the table of what can be loaded.

    texts = pgbn.datasets.load_docstrings()
    corpus = pgbn.Corpus.from_texts(texts, stop_words="english", min_df=5)

`DATASETS` names every dataset, its licence, and the command that installs it.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pgbn.checks import check_integer, listed
from pgbn.errors import DataError, missing_name

__all__ = ["DATASETS", "Dataset", "load_docstrings"]

_SKIP = {"blas", "lapack", "tests", "testing", "conftest", "setup", "f2py", "distutils"}


@dataclass(frozen=True)
class Dataset:
    """A dataset that pgbn can load: what it is, its licence, and the command that installs it.

    Parameters
    ----------
    name
        The name of the dataset; ``pgbn.datasets.load_NAME`` loads it.
    what
        The content, in one line.
    licence
        The licence of the content.
    install
        The command that installs the packages it is read from.

    Examples
    --------
    >>> import pgbn
    >>> print(pgbn.datasets.DATASETS["docstrings"].install)
    pip install numpy scipy
    """

    name: str
    what: str
    licence: str
    install: str


# A new loader is a function load_NAME here, and its entry in this table.
#: The datasets, by their names.
DATASETS = {
    each.name: each
    for each in (
        Dataset(
            "docstrings",
            "the docstrings of installed packages, by the names of functions and classes",
            "that of each package; BSD-3-Clause for numpy and scipy",
            "pip install numpy scipy",
        ),
    )
}


def load_docstrings(
    packages: Sequence[str] = ("numpy", "scipy"), shortest: int = 200
) -> dict[str, str]:
    """Load the docstrings of packages: a corpus that needs no download.

    Public functions, classes and methods are read. Each text occurs once.

    Parameters
    ----------
    packages
        The names of installed packages.
    shortest
        The least number of characters of a docstring.

    Returns
    -------
    dict
        The docstrings by names such as "scipy.linalg.svd".

    Raises
    ------
    pgbn.DataError
        If a package is not installed.

    Examples
    --------
    >>> import pgbn
    >>> texts = pgbn.datasets.load_docstrings(["keyword"], shortest=10)
    >>> list(texts)
    ['keyword.iskeyword']
    >>> corpus = pgbn.Corpus.from_texts(texts)
    """
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
        raise DataError(
            f"packages: {package!r:.60} is not an installed package; install it, or omit it"
        ) from None
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


# What other packages call their texts.
_OTHERS = ("fetch_20newsgroups", "load_20newsgroups", "load_newsgroups", "load_texts")

if not TYPE_CHECKING:  # it would hide unknown names from type checkers

    def __getattr__(name: str) -> Any:
        """No such name: an error with a similar one."""
        other = "pgbn has no other texts; give any list of texts, or pgbn.Corpus.read(path)"
        raise missing_name("pgbn.datasets", name, __all__, dict.fromkeys(_OTHERS, other))
