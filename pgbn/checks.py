"""Checks of arguments that several modules share."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from pgbn.errors import DataError

__all__ = ["check_integer", "is_integral"]


def is_integral(value: Any) -> bool:
    """Whether a value is an integer; an integral float will do, a bool will not."""
    if isinstance(value, bool):
        return False
    return isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())


def check_integer(name: str, value: Any, least: int) -> int:
    """``value`` as an int, or an error that names the argument."""
    if not is_integral(value) or value < least:
        raise DataError(f"{name}={value!r} must be an integer of at least {least}")
    return int(value)
