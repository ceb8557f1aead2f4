"""Codecs: how an object becomes JSON and arrays, and how it is made again.

Every room registers those of its own types; this room knows none of them. A codec turns an object
into a `Parts` (JSON content, and groups of arrays that become files) and back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from pgbn.errors import StorageError
from pgbn.storage.in_parts import InParts

__all__ = [
    "Decode",
    "Encode",
    "Files",
    "Group",
    "Parts",
    "check_loadable",
    "codec_in",
    "decode",
    "encode",
    "encode_documents",
    "register_codec",
    "register_decoder",
    "register_documents",
    "register_unloadable",
]

Group = dict[str, NDArray[Any]]
Files = Callable[[str], Group]  # the arrays of a group, read when they are asked for


@dataclass
class Parts:
    """An object taken to pieces. ``names`` are those that it has for its ``terms`` columns."""

    content: dict[str, Any]
    arrays: Mapping[str, Group | InParts] = field(default_factory=dict)
    names: Sequence[str] | Mapping[str, int] | None = None
    terms: int | None = None


class Encode(Protocol):
    """The pieces of an object."""

    def __call__(self, value: Any, /) -> Parts: ...


class Decode(Protocol):
    """The object again, from its content and files; chains run on ``threads``, and ``names`` are
    those of the terms, if they were saved."""

    def __call__(
        self,
        content: Mapping[str, Any],
        files: Files,
        /,
        *,
        threads: int | None = None,
        names: Sequence[str] | None = None,
    ) -> Any: ...


_types: dict[type, tuple[str, str, Encode]] = {}
_decoders: dict[str, Decode] = {}
_modules: dict[str, str] = {}  # of codecs that are imported when they are needed
_unloadable: dict[str, Callable[[Path], str]] = {}
_documents: list[Callable[[Any], Group]] = []


def register_codec(
    kind: str, owner: type, encode: Encode, decode: Decode, article: str = ""
) -> None:
    """Objects of the type ``owner`` are saved as ``kind``; ``article`` is what a list of all that
    can be saved calls them."""
    _types[owner] = (kind, article or f"a {owner.__name__}", encode)
    _decoders[kind] = decode


def register_decoder(kind: str, decode: Decode) -> None:
    """Folders of this ``kind`` are read by ``decode``; no object is saved as one."""
    _decoders[kind] = decode


def codec_in(kind: str, module: str) -> None:
    """The codec of ``kind`` is registered when ``module``, which may be slow to import or need an
    extra, is imported."""
    _modules[kind] = module


def register_unloadable(kind: str, reason: Callable[[Path], str]) -> None:
    """A folder of this ``kind`` cannot be loaded as an object; ``reason(path)`` says what it is,
    and what can be done with it."""
    _unloadable[kind] = reason


def check_loadable(kind: str, path: Path) -> None:
    """Refuse a folder whose kind is registered as one that cannot be loaded."""
    _import_codec(kind)
    if kind in _unloadable:
        raise StorageError(f"{path}: {_unloadable[kind](path)}")


def encode(value: Any) -> tuple[str, Parts]:
    """The kind and the pieces of an object that can be saved."""
    for owner in type(value).__mro__:
        if owner in _types:
            kind, _, pieces = _types[owner]
            return kind, pieces(value)
    _import_codecs()
    known = ", ".join(article for _, article, _ in _types.values())
    raise StorageError(f"a {type(value).__name__} cannot be saved; what can: {known}")


def decode(
    kind: str,
    content: Mapping[str, Any],
    files: Files,
    threads: int | None = None,
    names: Sequence[str] | None = None,
) -> Any:
    """The object that was saved as ``kind``."""
    _import_codec(kind)
    if kind not in _decoders:
        raise StorageError(f"this pgbn does not know what a saved {kind!r} is; install a newer one")
    return _decoders[kind](content, files, threads=threads, names=names)


def _import_codec(kind: str) -> None:
    if kind in _modules and kind not in _decoders:
        try:
            import_module(_modules[kind])
        except ModuleNotFoundError as error:
            package = (error.name or "a package").partition(".")[0]
            raise StorageError(
                f"a saved {kind} needs {package}, which is not installed; install it, or the extra "
                "of pgbn that has it"
            ) from error


def _import_codecs() -> None:
    for module in _modules.values():
        with suppress(ImportError):  # an extra that is not installed
            import_module(module)


# ---- documents that are saved beside a model --------------------------------------------


def register_documents(arrays: Callable[[Any], Group]) -> None:
    """``arrays(X)`` are those of documents × terms in any form that data may have."""
    _documents[:] = [arrays]


def encode_documents(X: Any) -> Group:
    """Documents × terms as arrays of a file."""
    if not _documents:
        _import_codecs()
    return _documents[0](X)
