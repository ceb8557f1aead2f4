"""A folder of JSON and arrays that is complete at every moment, whatever happens to the writer.

    model.json                  the manifest: what it is, and the SHA-256 of every array file
    state-1f2e3d4c5b6a7988.npz  arrays, named after their content; never changed once written

A group of arrays is one file, or several files with a part of the rows each (`pgbn.storage.arrays`,
version 2 of the format). A reader sees the old or the new content, never a mixture:
`pgbn.storage.writing` explains how. Nothing is pickled and no name in a file is used as a path.

Each folder of the package registers codecs of its own types: how an object is turned into JSON and
arrays, and back.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

from numpy.typing import NDArray
from pydantic import Field, InstanceOf, TypeAdapter, ValidationError

from pgbn.checks import check_path, validated
from pgbn.errors import PgbnError, StorageError
from pgbn.storage.arrays import InParts, join_parts, read_npz
from pgbn.storage.old_folders import converted
from pgbn.storage.read_limits import check_bytes, check_regular

FORMAT, MANIFEST = "pgbn-model", "model.json"
VERSIONS = (1, 2)  # without, and with groups in parts
LARGEST_MANIFEST = 2**28  # bytes; read and checked in seconds

Entry = dict[str, Any]  # {"sha256": …, "bytes": …}
Texts = list[InstanceOf[str]]  # of any characters; pydantic's own rejects half ones
_Name = Annotated[str, Field(pattern=r"^[a-z]{1,20}-[0-9a-f]{16}\.npz$")]
_Files = Annotated[list[str], Field(min_length=1)]


def is_archive(folder: str | Path) -> bool:
    """Whether there is a manifest, good or bad, that can be seen."""
    try:
        return (Path(folder) / MANIFEST).is_file()
    except PermissionError:  # a folder that cannot be read cannot be written either
        return False


# ---- reading ------------------------------------------------------------------------------


def read_manifest(folder: str | Path, name: str = MANIFEST) -> dict[str, Any]:
    """The manifest, checked: its format, version and checksum, and the names in it."""
    folder = check_path("path", folder)
    path = folder if folder.name == MANIFEST else folder / name
    try:
        check_regular(path, LARGEST_MANIFEST, least=1)
        text = path.read_bytes()
        parts = sum(text.count(sign) for sign in b",[{:")  # each an object at most
        check_bytes(f"{path}: it", 4 * len(text) + 100 * parts, "is it a manifest of pgbn?")
        document = json.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        raise StorageError(
            f"{folder}: no saved model there (no {MANIFEST}); pgbn.save(model, path) and the "
            "command pgbn fit write one"
        ) from None
    except OSError as error:
        raise StorageError(f"{path}: cannot be read ({error.strerror})") from error
    except PgbnError as error:
        raise StorageError(str(error)) from None
    except (ValueError, RecursionError) as error:
        raise StorageError(f"{path}: damaged or not of pgbn: it is not JSON ({error})") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise StorageError(f"{path}: this file was not written by pgbn")
    version, body = document.get("version"), document.get("body")
    if not isinstance(version, int):
        raise StorageError(f"{path}: damaged: it lacks the version of its format")
    if version not in VERSIONS:
        raise StorageError(
            f"{path}: format version {version!r}, but this pgbn reads versions up to "
            f"{VERSIONS[-1]}; install a newer pgbn"
        )
    good = False
    with suppress(RecursionError, ValueError):
        good = isinstance(body, dict) and document.get("sha256") == body_digest(body)
    if not isinstance(body, dict) or not good:
        raise StorageError(f"{path}: damaged (its checksum is wrong); use a copy or save anew")
    if not _is_well_formed(body):
        raise StorageError(f"{path}: not a manifest of pgbn: a name or an entry is not allowed")
    return converted(body)


def _is_well_formed(body: Any) -> bool:
    """Whether a manifest has its entries and names only its own files. No file may be a part twice,
    since a small folder could then claim much memory."""
    try:
        check_form(
            body,
            {"kind": str, "content": dict, "groups": dict[str, str], "files": dict[_Name, Entry]},
            {"parts": dict[str, dict[str, Any]]},
        )
        for entry in body["files"].values():
            check_form(entry, {"bytes": int})
        parts = body.get("parts", {}).values()
        for part in parts:
            check_form(part, {"files": _Files, "axes": dict[str, int]})
    except StorageError:
        return False
    named = [*body["groups"].values(), *(name for part in parts for name in part["files"])]
    once = all(len(part["files"]) == len(set(part["files"])) for part in parts)
    return once and set(named) <= body["files"].keys()


def read_arrays(folder: str | Path, body: Mapping[str, Any], group: str) -> Group:
    """The arrays of one group, after checksums were compared."""
    if group not in body["groups"]:
        raise StorageError(f"{folder}: damaged: it has no arrays {group!r}")
    found, parts = _read_file(folder, body, body["groups"][group]), body.get("parts", {}).get(group)
    if parts is None:
        return found
    rows = [_read_file(folder, body, name) for name in parts["files"]]
    return {**found, **join_parts(parts["axes"], rows)}


@dataclass(frozen=True)
class FolderArrays:
    """The groups of a folder, each read on demand."""

    folder: Path
    body: Mapping[str, Any]

    def __call__(self, group: str) -> Group:
        return read_arrays(self.folder, self.body, group)


def _read_file(folder: str | Path, body: Mapping[str, Any], name: str) -> Group:
    path, entry = Path(folder) / name, body["files"][name]
    try:
        check_regular(path)
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size != entry["bytes"]:
                raise StorageError(f"{path}: damaged: not of {entry['bytes']} bytes; use a copy")
            if hashlib.file_digest(file, "sha256").hexdigest() != entry.get("sha256"):
                raise StorageError(f"{path}: damaged (its checksum is wrong); use a copy")
            return read_npz(path, file)
    except FileNotFoundError:
        raise StorageError(f"{path}: this file of the model is missing") from None
    except OSError as error:
        raise StorageError(f"{path}: cannot be read ({error.strerror})") from error


def body_digest(body: Any) -> str:
    """The checksum of a manifest, which does not depend on the order of its entries."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def check_form(content: Any, needed: Mapping[str, Any], optional: Mapping[str, Any] = {}) -> None:
    """Check that ``content`` is an object with the ``needed`` entries, and perhaps the ``optional``
    ones, of these types. True is not a number, and 1.0 is not an integer.

    A checksum does not show that a file is valid. An entry of another type, such as the number 3
    for a list of names, may fail much later, far from the file.
    """
    if not isinstance(content, dict):
        raise StorageError(f"damaged: {content!r:.40} is not an object")
    for name, kind in {**needed, **optional}.items():
        if name not in content:
            if name in needed:
                raise StorageError(f"damaged: there is no entry {name!r}")
            continue
        try:
            _reader(kind).validate_python(content[name], strict=True)
        except ValidationError as error:
            wrong = error.errors(include_url=False)[0]
            place = "/".join(str(step) for step in (name, *wrong["loc"]))
            raise StorageError(
                f"damaged: {place} is {wrong['input']!r:.40}: {wrong['msg']}"
            ) from None


@cache
def _reader(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


# ---- codecs -------------------------------------------------------------------------------


Group = dict[str, NDArray[Any]]
Files = Callable[[str], Group]  # the arrays of a group, read on demand


@dataclass
class Parts:
    """The pieces of an object, as `pgbn.extend.register_codec` saves it.

    Parameters
    ----------
    content : dict
        What can be written as JSON.
    arrays : dict
        Groups of arrays by name; each group, a dict of arrays, becomes a file.
    names : sequence of str or dict, optional
        The names of the terms.
    terms : int, optional
        The number of terms.

    Examples
    --------
    >>> parts = pgbn.extend.Parts({"unit": "day"}, {"times": {"t": np.arange(3)}})
    >>> list(parts.arrays)
    ['times']
    """

    content: dict[str, Any]
    arrays: Mapping[str, Group | InParts] = field(default_factory=dict)
    names: Sequence[str] | Mapping[str, int] | None = None
    terms: int | None = None


Encode = Callable[[Any], Parts]
# Restore an object: decode(content, files, threads=…, names=…). Chains run on ``threads``, and
# ``names`` are those of the terms, if they were saved.
Decode = Callable[..., Any]

_types: dict[type, tuple[str, str, Encode]] = {}
_decoders: dict[str, Decode] = {}
_modules: dict[str, str] = {}  # of codecs that are imported when they are needed
_unloadable: dict[str, Callable[[Path], str]] = {}
_documents: list[Callable[[Any], Group]] = []


@validated
def register_codec(
    kind: str, owner: type, encode: Encode, decode: Decode, article: str = ""
) -> None:
    """Save objects of a type by `pgbn.save`, and read them by `pgbn.load`.

    Parameters
    ----------
    kind : str
        The name of the type in files: unique, with your prefix.
    owner : type
        The type.
    encode : callable
        ``encode(value)`` returns the `pgbn.extend.Parts` of an object.
    decode : callable
        ``decode(content, files, threads=…, names=…)`` returns the object. ``files(group)`` reads
        a group of arrays, ``names`` are those of the terms.
    article : str
        Its name in the list of all types that can be saved, such as "a network".

    Examples
    --------
    >>> class Times:
    ...     def __init__(self, t):
    ...         self.t = t
    >>> def encode(times):
    ...     return pgbn.extend.Parts({}, {"times": {"t": times.t}})
    >>> def decode(content, files, **options):
    ...     return Times(files("times")["t"])
    >>> pgbn.extend.register_codec("docs.times", Times, encode, decode)
    >>> pgbn.save(Times(np.arange(3)), "times")
    >>> pgbn.load("times").t
    array([0, 1, 2])
    """
    _types[owner] = (kind, article or f"a {owner.__name__}", encode)
    _decoders[kind] = decode


def register_decoder(kind: str, decode: Decode) -> None:
    """Read folders of this ``kind`` by ``decode``; no object is saved as one."""
    _decoders[kind] = decode


def codec_in(kind: str, module: str) -> None:
    """Import ``module``, which registers the codec of ``kind``, only when it is needed: it may be
    slow or need an extra."""
    _modules[kind] = module


def register_unloadable(kind: str, reason: Callable[[Path], str]) -> None:
    """Register that a folder of this ``kind`` cannot be loaded as an object. ``reason(path)`` says
    what it is, and what can be done with it."""
    _unloadable[kind] = reason


def register_documents(arrays: Callable[[Any], Group]) -> None:
    """Register ``arrays(X)``, which turns documents × terms in any form into arrays."""
    _documents[:] = [arrays]


def check_loadable(kind: str, path: Path) -> None:
    """Reject a folder whose kind is registered as one that cannot be loaded."""
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
    raise StorageError(f"a {type(value).__name__} cannot be saved; these can: {known}")


def encode_documents(X: Any) -> Group:
    """Documents × terms as arrays of a file."""
    if not _documents:
        _import_codecs()
    return _documents[0](X)


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
        raise StorageError(f"this pgbn cannot read a saved {kind!r}; install a newer one")
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
