"""The form of what a file says: each entry is of the type that its writer gives it.

    check_form(content, {"seed": int, "stopped": str}, {"feature_names": list[str]})

Whoever has made a file can sign anything. An entry of another type may be accepted by its reader
and fail much later, far from the file: a list of names that is the number 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from pgbn.errors import StorageError

__all__ = ["check_form"]


def check_form(content: Any, needed: Mapping[str, Any], optional: Mapping[str, Any] = {}) -> None:
    """``content`` is an object that has the ``needed`` entries, and perhaps the ``optional`` ones,
    with values of these types; true is no number, and 1.0 no integer."""
    if not isinstance(content, dict):
        raise StorageError(f"damaged: {content!r:.40} is no object")
    for name in needed:
        if name not in content:
            raise StorageError(f"damaged: there is no entry {name!r}")
    for name, kind in {**needed, **optional}.items():
        if name in content:
            _check(name, content[name], kind)


def _check(name: str, value: Any, kind: Any) -> None:
    try:
        _reader(kind).validate_python(value, strict=True)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        place = "/".join(str(step) for step in (name, *wrong["loc"]))
        raise StorageError(f"damaged: {place} is {wrong['input']!r:.40}: {wrong['msg']}") from None


@cache
def _reader(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
