"""Values of nodes that a user gives: one for each node, or draws of it, stacked.

Draws have the dims "draw", or "chain" and "draw", before those of their node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.checks import check_unmasked, in_order, numbers
from pgbn.errors import DataError
from pgbn.nodes.base import Latent, Node, Observed

__all__ = ["given_arrays", "read_stack"]

_DRAWS = ("chain", "draw")


def given_arrays(given: Any) -> dict[str, Any]:
    """What was given, by name: a dict, or `pgbn.Draws`, which have one as ``values``."""
    named = given if isinstance(given, Mapping) else getattr(given, "values", None)
    if given is not None and not isinstance(named, Mapping):
        raise DataError(
            f"given={given!r:.60}: give a dict, such as given={{'name': array}}, or pgbn.Draws"
        )
    if named is not given and not callable(getattr(given, "held", None)):  # chains, new rows
        raise DataError(
            f"given is a {type(given).__name__}, no dict and no pgbn.Draws; give its values, "
            "given=….values"
        )
    found = {str(name): value for name, value in (named or {}).items()}
    if isinstance(given, Mapping):
        return found
    for name in getattr(given, "given", ()):  # at which the nodes of `pgbn.Draws` were held
        found.setdefault(name, given.held(name))
    return found


def read_stack(node: Node, value: Any) -> tuple[NDArray[Any], tuple[int, ...]]:
    """Checked values of a node with the dims (draw, *axes), and the sizes of the dims of draws:
    none for a single value."""
    what = f"given: {node.name!r}"
    check_unmasked(what, value)
    dims = getattr(value, "dims", ())
    drawn = tuple(dim for dim in _DRAWS if isinstance(dims, tuple) and dim in dims)
    value = in_order(what, (*drawn, *node.axes), value)
    array = numbers(what, value.toarray() if sp.issparse(value) else value)
    extra = array.ndim - len(node.axes)
    if not 0 <= extra <= len(_DRAWS) or not array.size:
        raise DataError(
            f"{what} is an array of shape {array.shape}, but its dims are {node.axes}; give an "
            "array of these, or draws with the dims draw, or chain and draw, before them"
        )
    array = array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
    stack = array.reshape(-1, *array.shape[extra:])
    for each in stack:
        _check(node, what, each)
    return stack, array.shape[:extra]


def _check(node: Node, what: str, value: NDArray[Any]) -> None:
    """Refuse values that are not possible."""
    if not np.isfinite(value).all():
        raise DataError(f"{what} has the value {value[~np.isfinite(value)].flat[0]:g}; give an "
                        "array of finite numbers")  # fmt: skip
    complaint = None
    if isinstance(node, Latent):
        complaint = node.refuses(value)
    elif isinstance(node, Observed) and (wrong := node.check(value)):
        complaint = f"has {wrong}"
    if complaint:
        raise DataError(f"{what} {complaint}")
