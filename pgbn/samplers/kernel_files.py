"""The files of compiled kernels: read only if they are whole, and of this very kernel.

numba keeps an index for each function and a data file for each kind of its arguments. It trusts the
data file that an index names, and takes a function for unchanged if its own file is. But the index
may be newer than the data (a full disk, a kill, two processes at once), a block of the data may be
zeros after a power cut, which ends the interpreter, and a newer pgbn may have changed what a kernel
calls. So the data say here what they are of, with a checksum, and the stamp of a kernel covers the
files that its own one imports.
"""

from __future__ import annotations

import hashlib
import pickle
import re
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import IndexDataCacheFile

_SAMPLERS = Path(__file__).parent
_IMPORT = re.compile(r"^ *(?:from|import) +pgbn\.samplers([\w.]*)(?: +import +([\w, ]*))?", re.M)


class KernelFiles(IndexDataCacheFile):  # type: ignore[misc, unused-ignore]
    """numba's files, with data that name their stamp and their key."""

    def save(self, key: Any, data: Any) -> None:
        payload = self._dump(data)
        digest = hashlib.sha256(payload).digest()
        super().save(key, (self._source_stamp, key, digest, payload))

    def load(self, key: Any) -> Any:
        """What was kept under this key; else None, and it is compiled and written again."""
        found = super().load(key)
        if found is None:
            return None
        *whose, digest, payload = found
        if whose != [self._source_stamp, key] or hashlib.sha256(payload).digest() != digest:
            return None
        return pickle.loads(payload)


@cache
def kernel_stamp(file: str) -> str:
    """A checksum of a file of kernels and of all files of this room that it imports, and these."""
    found: dict[Path, bytes] = {}
    waiting = [Path(file)]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path], imported = _read(path)
            waiting.extend(imported)
    return hashlib.sha256(b"".join(sorted(found.values()))).hexdigest()


@cache
def _read(path: Path) -> tuple[bytes, list[Path]]:
    """The checksum of a file, and what it imports; nothing of one that is in an archive."""
    try:
        text = path.read_bytes()
    except OSError:
        return b"", []
    imported = []
    for module, names in _IMPORT.findall(text.decode("utf-8", "replace")):
        place = _SAMPLERS.joinpath(*module.split("."))
        inside = [place / name.strip() for name in names.split(",")]
        imported += [path.with_suffix(".py") for path in (place, *inside)]
    return hashlib.sha256(text).digest(), [path for path in imported if path.is_file()]
