"""Arguments that are one number, or one for each layer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from pgbn.checks import DEPTH, is_finite_number, is_integral
from pgbn.errors import DataError

__all__ = ["budgets", "integers", "layers_asked", "positives"]


def budgets(name: str, value: Any, depth: int) -> int | tuple[int, ...]:
    """How wide layers may be: one number for the first of them, where K_t ≤ K_{t−1} above it, or
    numbers that do not grow, one for each layer (those beyond ``depth`` are not used)."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if is_integral(value) and value >= 1:
        return int(value)
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        raise DataError(
            f"{name}={value!r} must be an integer of at least 1, or one such for each layer, as in "
            f"{name}=(100, 30, 10)"
        )
    if not all(is_integral(number) and number >= 1 for number in value):
        raise DataError(f"{name}={value!r} must hold integers of at least 1, one for each layer")
    each = tuple(int(number) for number in value)
    if len(each) < depth:
        raise DataError(
            f"{name}={value!r}: {len(each)} of depth={depth} layers; give one number for each of "
            "them, or one for the first layer"
        )
    for below, above in pairwise(each):
        if above > below:
            raise DataError(
                f"{name}={value!r}: {above} is more than the {below} of the layer below, and no "
                "layer is wider than the one below; give numbers that do not grow"
            )
    return each


def layers_asked(max_width: Any, depth: Any) -> Any:
    """How many layers are asked for: ``depth``, or, where it is None, as many as ``max_width`` has
    budgets; of one number, the default."""
    if depth is not None:
        return depth
    each = np.ndim(max_width) == 1 if isinstance(max_width, np.ndarray) else None
    if each or (isinstance(max_width, Sequence) and not isinstance(max_width, (str, bytes))):
        return max(len(max_width), 1)
    return DEPTH


def integers(name: str, value: Any, depth: int, least: int = 1) -> tuple[int, ...]:
    """An integer for every layer."""
    each = [value] * depth if is_integral(value) else _list(name, value, depth)
    if not all(is_integral(number) and number >= least for number in each):
        raise DataError(
            f"{name}={value!r} must be an integer of at least {least}, or one such for each layer"
        )
    if any(number >= 2**63 for number in each):  # what no array or loop can have
        raise DataError(f"{name}={value!r:.60}: give numbers below 2^63")
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
