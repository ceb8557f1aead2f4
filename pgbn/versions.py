"""The version of pgbn, and those of what it stands on."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TextIO

from pgbn.checks import thread_count
from pgbn.errors import DataError

__version__ = "0.2.0"

_NEEDED = ("numpy", "scipy", "numba", "llvmlite", "networkx", "pydantic")
_OPTIONAL = ("scikit-learn", "xarray", "arviz-base", "matplotlib", "typer", "rich")
_INSTRUCTIONS = (
    "sse4.2",
    "avx2",
    "fma",
    "avx512f",
    "neon",
    "sve",
)  # what the kernels may gain from


def show_versions(file: TextIO | None = None) -> None:
    """Print what a bug report needs: versions, machine, threads, where kernels are cached.

    It imports nothing that pgbn does not import itself.

    Parameters
    ----------
    file
        Where it prints to, by default the standard output.

    Examples
    --------
    >>> import io
    >>> import pgbn
    >>> text = io.StringIO()
    >>> pgbn.show_versions(text)
    >>> text.getvalue().split()[:1]
    ['pgbn']
    """
    for name, fact in _facts():
        print(f"{name:<14}{fact}", file=file)


def _facts() -> Iterator[tuple[str, str]]:
    yield "pgbn", __version__
    yield "python", f"{platform.python_version()} ({platform.python_implementation()})"
    yield "platform", platform.platform()
    yield "processor", _processor()
    for package in (*_NEEDED, *_OPTIONAL):
        yield package, _version_of(package)
    yield "threads", _threads()
    yield "numba cache", _cache()
    set_ = sorted(f"{name}={text}" for name, text in os.environ.items() if name[:6] == "NUMBA_")
    yield "NUMBA_*", ", ".join(set_) or "not set"


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    """The machine, and the processor as the compiler of the kernels names it."""
    try:
        from llvmlite import binding
    except ImportError:
        return f"{platform.machine()}, without numba"
    features = binding.get_host_cpu_features()
    known = " ".join(name for name in _INSTRUCTIONS if features.get(name))
    return f"{binding.get_host_cpu_name()}, {platform.machine()} ({known or 'no vectors known'})"


def _threads() -> str:
    variable = os.environ.get("PGBN_THREADS")
    said = "PGBN_THREADS not set" if variable is None else f"PGBN_THREADS={variable}"
    try:
        return f"{thread_count(None)} ({said})"
    except DataError as error:  # worth a report of its own, and no reason to fail here
        return str(error)


def _cache() -> str:
    """Where numba keeps compiled kernels; it asks for the folders in this order too."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        return given
    package = Path(__file__).parent
    if os.access(package, os.W_OK):
        return f"__pycache__ in {package}"
    return f"the user's cache folder, since {package} cannot be written to"
