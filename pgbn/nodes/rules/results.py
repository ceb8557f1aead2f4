"""What the functions of a user's rules return, checked where it is first read.

The rules of pgbn itself have their tests, and are not checked again in every sweep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.errors import DataError
from pgbn.nodes.base import Node
from pgbn.nodes.rules.evidence import Evidence
from pgbn.nodes.rules.registry import is_own
from pgbn.nodes.rules.types import EvidenceRule

__all__ = ["checked_rule", "drawn_counts", "link_counts"]

# what these kinds count are events; the counts of other kinds are their owner's affair
_KINDS = ("poisson", "probability", "odds")
_MOST = 2**53  # beyond it reals have no units, and sums of integers may overflow


def checked_rule(
    function: Callable[..., Any], node: Node, slot: str, shape: tuple[int, ...]
) -> Callable[..., Any]:
    """A function of a rule that computes a count or an exposure: as many numbers as ``shape``
    has, that of all it reads; () for one number."""
    if not is_own(function):
        return function

    @wraps(function)
    def check(**arguments: Any) -> Any:
        return _numbers(node, slot, function, function(**arguments), shape)

    return check


def drawn_counts(
    node: Node, slot: str, rule: EvidenceRule, result: Any, stream: tuple[int, ...],
    sizes: Mapping[str, int],
) -> Any:  # fmt: skip
    """The counts, or the `Evidence`, that a rule drew."""
    count = rule.count
    assert callable(count)
    if rule.drawn is None:
        if isinstance(result, Evidence):
            raise DataError(
                f"{_name(node, slot, count)} returned an Evidence; return the counts alone, or "
                "give drawn= instead of exposure= if the exposure is drawn too"
            )
        return _whole(node, slot, count, result, stream, rule.kind)
    if not isinstance(result, Evidence):
        raise DataError(
            f"{_name(node, slot, count)} returned {_what(result)}; a rule with drawn= must return "
            "pgbn.Evidence(count, exposure)"
        )
    given = rule.drawn(node)
    shape = (stream[0], *(sizes[dim] for dim in node.axes if dim in given))
    exposure = _numbers(node, slot, count, result.exposure, shape, "as exposure ")
    return Evidence(_whole(node, slot, count, result.count, stream, rule.kind), exposure)


def link_counts(
    node: Node, slot: str, function: Callable[..., Any], result: Any, stream: tuple[int, ...]
) -> NDArray[Any]:
    """The counts behind data that a link rule drew."""
    return _whole(node, slot, function, result, stream, "poisson")


def _whole(
    node: Node, slot: str, function: Callable[..., Any], result: Any, shape: tuple[int, ...],
    kind: str,
) -> NDArray[Any]:  # fmt: skip
    array = _numbers(node, slot, function, result, shape).reshape(shape)
    if kind not in _KINDS:
        return array
    wrong = array[~((array >= 0) & (array <= _MOST) & (array == np.floor(array)))]
    if wrong.size:
        raise DataError(
            f"{_name(node, slot, function)} drew the count {wrong[0]:g}; a count that is drawn "
            "must be 0, 1, 2, …, and so must one of a rule with integer=True, since it may be "
            "shared out (a count that needs no random numbers may be real: leave out the parameter "
            "stream, and integer=True)"
        )
    return array.astype(np.int64, copy=False)


def _numbers(
    node: Node, slot: str, function: Callable[..., Any], result: Any, shape: tuple[int, ...],
    part: str = "",
) -> NDArray[Any]:  # fmt: skip
    array = np.asarray(result)
    same = [n for n in array.shape if n != 1] == [n for n in shape if n != 1]
    if array.dtype.kind not in "iufb" or not same:
        expected = f"an array of the shape {shape}" if shape else "one number"
        remedy = "; np.broadcast_to(…, …) fills an array" if prod(shape) != 1 else ""
        raise DataError(
            f"{_name(node, slot, function)} returned {part}{_what(result)}; it must return "
            f"{expected}, that of what it reads{remedy}"
        )
    return array


def _name(node: Node, slot: str, function: Callable[..., Any]) -> str:
    own = getattr(function, "__qualname__", repr(function)).rpartition(".")[2]
    return f"{node.name}: the rule of {type(node).__name__} for {slot!r}, {own}(),"


def _what(result: Any) -> str:
    if isinstance(result, np.ndarray) and result.ndim:
        return f"an array of the shape {result.shape} and the type {result.dtype}"
    return "None" if result is None else f"{result!r:.60} of the type {type(result).__name__}"
