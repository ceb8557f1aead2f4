"""pgbn: deep Bayesian models of counts, declared as networks of distribution nodes.

A public name is imported when it is asked for: who types ``pgbn --help`` waits for no compiler.
The names, and the module of each, are in the stub beside this file, ``__init__.pyi``.
"""

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pgbn.storage.codecs import codec_in
from pgbn.versions import __version__ as __version__

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text("utf-8")).body
_PUBLIC = {
    alias.name: node.module or ""
    for node in _STUB
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}
__all__ = next(ast.literal_eval(node.value) for node in _STUB if isinstance(node, ast.Assign))

# The room that can read each kind of folder.
for _kind, _room in {
    "network": "pgbn.network",
    "chain": "pgbn.engine",
    "trained": "pgbn.training",
    "training": "pgbn.training",
    "checkpoint": "pgbn.training",
    "estimator": "pgbn.estimators",
}.items():
    codec_in(_kind, _room)


def __getattr__(name: str) -> Any:
    """A public name, or a module of the package."""
    module = _PUBLIC.get(name, "pgbn")
    if module == "pgbn":
        if name.startswith("_") or find_spec(f"pgbn.{name}") is None:
            raise AttributeError(f"module 'pgbn' has no attribute {name!r}")
        return import_module(f"pgbn.{name}")
    try:
        value = getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("sklearn"):
            raise
        raise ImportError(f"pgbn.{name} needs scikit-learn: pip install 'pgbn[sklearn]'") from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
