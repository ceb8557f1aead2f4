"""A quantity beside a node: an array in the node's 4-d layout (see `layout`), or a number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Beside", "added"]


@dataclass(frozen=True, slots=True)
class Beside:
    """A quantity beside a node: ``get()`` gives a 4-d array or a number.

    ``dims`` are those along which it varies.
    """

    get: Callable[[], Any]
    dims: frozenset[str]
    replicates: int
    is_number: bool


def added(parts: Sequence[Beside]) -> Beside:
    """The sum of quantities beside one node, added from left to right."""
    if not parts:
        return Beside(lambda: 0.0, frozenset(), 1, True)
    first, *rest = [part.get for part in parts]

    def total() -> Any:
        result = first()
        for get in rest:
            result = result + get()
        return result

    return Beside(
        total if rest else first,
        frozenset(dim for part in parts for dim in part.dims),
        max(part.replicates for part in parts),
        all(part.is_number for part in parts),
    )
