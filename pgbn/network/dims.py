"""The dims of the nodes of a network."""

from __future__ import annotations

from collections.abc import Iterable

from pgbn.errors import NetworkError, printable
from pgbn.nodes.base import Node

__all__ = ["all_dims"]


def all_dims(nodes: Iterable[Node]) -> list[str]:
    """The dims of some nodes, each once. They are shown as they are, in terminals and formulas, so
    that what would command a terminal is no name."""
    found = list(dict.fromkeys(dim for node in nodes for dim in node.axes))
    for dim in found:
        if printable(dim, one_line=True) != dim:
            raise NetworkError(f"dims: {dim!r} holds control characters; use letters and digits")
    return found
