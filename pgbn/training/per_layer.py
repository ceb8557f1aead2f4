"""Arguments that are one number, or one a layer."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from pgbn.checks import is_finite_number, is_integral
from pgbn.errors import DataError

__all__ = ["integers", "positives"]


def integers(name: str, value: Any, depth: int, least: int = 1) -> tuple[int, ...]:
    """An integer for every layer."""
    each = [value] * depth if is_integral(value) else _list(name, value, depth)
    if not all(is_integral(number) and number >= least for number in each):
        raise DataError(
            f"{name}={value!r} must be an integer of at least {least}, or one such for each layer"
        )
    return tuple(int(number) for number in each)


def positives(name: str, value: Any, depth: int) -> tuple[float, ...]:
    """A positive number for every layer."""
    each = [value] * depth if isinstance(value, Real) else _list(name, value, depth)
    if not all(is_finite_number(number) and float(number) > 0 for number in each):
        raise DataError(
            f"{name}={value!r} must be positive and finite, one number or one for each layer"
        )
    return tuple(float(number) for number in each)


def _list(name: str, value: Any, depth: int) -> list[Any]:
    """A list as long as the network is deep: what is too short or too long is a mistake."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != depth:
        layers = f"each of {depth} layers" if depth > 1 else "the one layer"
        raise DataError(f"{name}={value!r}: give one number, or one for {layers}")
    return list(value)
