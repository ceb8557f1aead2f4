"""Standard streams that cannot be written to."""

from __future__ import annotations

import errno
import io
from typing import Any

__all__ = ["unwritable"]


class Full(io.StringIO):
    """A terminal or a file that takes nothing, as /dev/full and a closed terminal do."""

    def isatty(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def unwritable(kind: str | None) -> Any:
    """None, as under pythonw; a stream that is "closed"; or one that is "full"."""
    if kind is None:
        return None
    stream = Full() if kind == "full" else io.StringIO()
    if kind == "closed":
        stream.close()
    return stream
