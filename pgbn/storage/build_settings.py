"""What a build of a corpus was asked for, as JSON, to compare it when the build goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pgbn.checks import is_finite_number, is_integral
from pgbn.errors import DataError

__all__ = ["as_plain", "digest", "is_sound"]


def digest(names: Sequence[str]) -> str:
    """What tells one list of names from another."""
    return hashlib.sha256("\0".join(names).encode("utf-8", "surrogatepass")).hexdigest()


def as_plain(settings: Mapping[str, Any]) -> Any:
    """Settings as they will be read again."""
    try:
        return json.loads(json.dumps(settings))
    except (TypeError, ValueError) as error:
        raise DataError(f"options: a corpus keeps its options as JSON ({error})") from None


def is_sound(found: Any, fresh: Mapping[str, Any]) -> bool:
    """Whether what a folder says of its build has the form of what a build begins with."""
    if not isinstance(found, dict) or found.keys() != fresh.keys():
        return False
    sizes = [found[key] for key in ("rows", "entries", "read", "block_rows")]
    sizes += found["runs"] if isinstance(found["runs"], list) else [None]
    sizes += [] if found["columns"] is None else [found["columns"]]
    return (
        all(is_integral(size) and 0 <= size < 2**62 for size in sizes)
        and all(isinstance(found[key], dict) for key in ("settings", "options"))
        and all(isinstance(found[key], bool) for key in ("complete", "named"))
        and is_finite_number(found["total"])
    )
