"""Names as arrays of a file: their UTF-8 bytes one after another, and where each of them ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pgbn.errors import StorageError
from pgbn.storage.codecs import Group
from pgbn.storage.sparse import compact

__all__ = ["name_arrays", "read_names"]


def name_arrays(names: Sequence[str]) -> Group:
    """A list of texts as two arrays; half characters, which UTF-8 cannot have, are kept too."""
    parts = [name.encode("utf-8", "surrogatepass") for name in names]
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return {"text": np.frombuffer(b"".join(parts), np.uint8), "ends": compact(ends)}


def read_names(text: Any, ends: Any) -> list[str]:
    """The texts again, checked."""
    if text.ndim != 1 or text.dtype != np.uint8 or ends.ndim != 1 or ends.dtype.kind not in "iu":
        raise StorageError("the names are damaged: not the arrays of a list of texts")
    edges = np.concatenate(([0], ends)).astype(np.int64)
    if (np.diff(edges) < 0).any() or edges[-1] != text.size:
        raise StorageError("the names are damaged: their ends do not fit their text")
    whole = text.tobytes()
    try:
        return [
            whole[start:stop].decode("utf-8", "surrogatepass")
            for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
        ]
    except UnicodeDecodeError as error:
        raise StorageError(f"the names are damaged: not UTF-8 ({error})") from None
