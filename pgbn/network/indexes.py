"""The categories of a network, and the arrays of numbers that are known of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.errors import NetworkError, did_you_mean
from pgbn.nodes.base import Node
from pgbn.nodes.categories import Categories, as_categories
from pgbn.nodes.edge import Edge
from pgbn.nodes.expression import Expression

__all__ = ["Indexes", "find_categories", "known_indexes"]

Indexes = dict[str, NDArray[np.int64]]


def find_categories(nodes: Iterable[Node]) -> dict[str, Categories]:
    """The categories that stand in the slots of nodes, by name, checked against the nodes."""
    every = {node.name: node for node in nodes}
    dims = {dim for node in every.values() for dim in node.axes}
    found: dict[str, Categories] = {}
    for node in every.values():
        for slot in node.slots():
            for each in _in(getattr(node, slot)):
                known = found.setdefault(each.name, each)
                if not _same(known, each):
                    raise NetworkError(f"two categories are called {each.name!r}; rename one")
    for name, each in found.items():
        if name in every:
            raise NetworkError(
                f"{name!r} is the name of categories and of a node; rename the categories, as "
                f"pgbn.Categories('{name}_of', …)"
            )
        for dim in each.dims:
            if dim not in dims:
                where = next(
                    node.name
                    for node in every.values()
                    for slot in node.slots()
                    if any(other.name == name for other in _in(getattr(node, slot)))
                )
                raise NetworkError(
                    f"{where}: the categories {name} have the dim {dim!r}, which no node has."
                    f"{did_you_mean(dim, dims)} Give them dims of {where} or of a node in its slots"
                )
    return found


def _in(expression: Expression) -> Iterator[Categories]:
    """The categories in an expression; those of other nodes are theirs."""
    if isinstance(expression, Categories):
        yield expression
    if isinstance(expression, Node):
        return
    if isinstance(expression, Edge):
        for part in expression.parts:
            yield from _in(part)
        return
    for name in type(expression).model_fields:
        value = getattr(expression, name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Expression):
                yield from _in(part)


def _same(one: Categories, other: Categories) -> bool:
    alike = (one.dims, one.of) == (other.dims, other.of)
    if one.values is None or other.values is None:
        return alike and one.values is other.values
    return alike and np.array_equal(one.values, other.values)


def known_indexes(categories: Mapping[str, Categories], given: Mapping[str, Any]) -> Indexes:
    """The numbers that were declared with the categories, or those ``given``, which come first."""
    for name in given:
        if name not in categories:
            raise NetworkError(
                f"indexes: there are no categories {name!r}.{did_you_mean(name, categories)}"
            )
    known = {name: each.values for name, each in categories.items() if each.values is not None}
    known |= {n: as_categories(n, value, categories[n].dims) for n, value in given.items()}
    return known
