"""Arguments that are one number, or one a layer."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

from pgbn.checks import check_integer, is_integral
from pgbn.errors import DataError

__all__ = ["integers", "positives"]


def integers(name: str, value: Any, depth: int, least: int = 1) -> tuple[int, ...]:
    """An integer for every layer."""
    each = [value] * depth if is_integral(value) else _list(name, value, depth)
    return tuple(check_integer(name, number, least) for number in each[:depth])


def positives(name: str, value: Any, depth: int) -> tuple[float, ...]:
    """A positive number for every layer."""
    each = [value] * depth if isinstance(value, Real) else _list(name, value, depth)
    for number in each:
        if isinstance(number, bool) or not isinstance(number, Real) or not float(number) > 0:
            raise DataError(f"{name}={value!r} must be positive, one number or one a layer")
    return tuple(float(number) for number in each[:depth])


def _list(name: str, value: Any, depth: int) -> list[Any]:
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) < depth:
        raise DataError(f"{name}={value!r}: give one number, or one for each of {depth} layers")
    return list(value)
