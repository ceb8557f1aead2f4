"""The hash of a value: arrays by type, shape and bytes, and what is made of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import scipy.sparse as sp

__all__ = ["digest"]


def digest(value: object) -> str:
    """The SHA-256 of a value made of arrays, sparse matrices, numbers, texts, dicts and lists.

    The order of a dict's entries does not count, nor whether a list is a tuple, nor whether a
    number is numpy's or Python's.
    """
    found = hashlib.sha256()
    for part in _parts(value):
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.hexdigest()


def _parts(value: object) -> Iterator[bytes]:
    match value:
        case None:
            yield b"none"
        case bool() | np.bool_():
            yield b"bool %d" % bool(value)
        case int() | np.integer():
            yield b"int %d" % int(value)
        case float() | np.floating():
            yield f"float {float(value).hex()}".encode()
        case str():
            yield b"text"
            yield value.encode("utf-8", "surrogatepass")
        case np.ndarray() if value.dtype.kind in "OUS":
            yield from _parts(value.tolist())
        case np.ndarray():
            yield f"array {value.dtype.str} {value.shape}".encode()
            yield np.ascontiguousarray(value).tobytes()
        case Mapping():
            yield b"dict %d" % len(value)
            for key, entry in sorted(value.items(), key=lambda pair: str(pair[0])):
                yield str(key).encode()
                yield from _parts(entry)
        case _ if sp.issparse(value):
            yield f"sparse {value.shape}".encode()
            rows = sp.csr_array(value)
            for array in (rows.indptr, rows.indices, rows.data):
                yield from _parts(array)
        case Iterable():
            entries = list(value)
            yield b"list %d" % len(entries)
            for entry in entries:
                yield from _parts(entry)
        case _:
            raise TypeError(f"no hash for a {type(value).__name__}")
