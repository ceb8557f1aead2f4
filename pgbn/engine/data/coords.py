"""Coords: the labels along dims, as data frames and xarray give them, or ``coords=``.

``{"term": ["alpha", "beta"], "doc": [10, 20]}``: they go with draws into xarray, ArviZ, reports and
files. A dim without labels is numbered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from pgbn.checks import first_difference
from pgbn.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from pgbn.network.network import Network

__all__ = [
    "Coords",
    "check_coords",
    "check_labels",
    "given_coords",
    "labels_of",
    "read_coords",
    "same_labels",
    "term_labels",
]  # fmt: skip

Coords = dict[str, list[Any]]


def read_coords(
    network: Network,
    data: Mapping[str, Any],
    given: Mapping[str, Any] | None = None,
    sizes: Mapping[str, int] | None = None,
) -> Coords:
    """The labels that data bring with them, and those ``given``, which come first."""
    out = check_coords(network, given, sizes or {})
    known = set(out)
    for name, value in data.items():
        for dim, labels in labels_of(network.nodes[name].axes, value).items():
            if dim in known:
                continue
            if out.setdefault(dim, labels) != labels:
                raise DataError(
                    f"{name}: the labels along {dim!r} are not those of the other data, such as "
                    f"{first_difference(labels, out[dim])}; bring them into one order, or give "
                    f"coords={{{dim!r}: [...]}}"
                )
    return out


def given_coords(network: Network, given: Any, names: Iterable[str], what: str = "given") -> Coords:
    """The labels that the given values of some nodes bring with them: those of `pgbn.Draws`, of
    data frames and of xarray. Refused where two of them name a dim, and not alike."""
    axes = {name: network.nodes[name].axes for name in names if name in network.nodes}
    if not isinstance(given, Mapping):
        known: Any = getattr(given, "coords", None) or {}
        used = {dim for each in axes.values() for dim in each}
        return {dim: list(known[dim]) for dim in used & set(known)}
    out: Coords = {}
    for name, dims in axes.items():
        value = given[name]
        if not hasattr(value, "dims") and len(getattr(value, "shape", ())) != len(dims):
            continue  # draws one below another, whose lines are no dim of the node
        for dim, labels in labels_of(dims, value).items():
            if out.setdefault(dim, labels) != labels:
                raise DataError(
                    f"{what}: the labels of {name!r} along {dim!r} are not those of the others, "
                    f"such as {first_difference(labels, out[dim])}; bring them into one order, or "
                    "give arrays without labels"
                )
    return out


def check_labels(network: Network, data: Any, what: str, values: Any, names: Iterable[str]) -> None:
    """Refuse values (``given=``, ``init=``) whose labels along a dim are not those of the data."""
    labels = given_coords(network, values, names, what)
    if labels and isinstance(data, Mapping):
        same_labels(what, labels, given_coords(network, data, data, "data"), "the data")


def same_labels(what: str, labels: Mapping[str, Any], known: Mapping[str, Any], of: str) -> None:
    """Refuse labels that are not those of others where both name a dim: columns in another order
    are other columns."""
    for dim in labels:
        if dim in known and list(labels[dim]) != list(known[dim]):
            raise DataError(
                f"{what}: the labels along {dim!r} are not those of {of}, such as "
                f"{first_difference(labels[dim], known[dim])}; bring them into one order, or give "
                "arrays without labels"
            )


def check_coords(network: Network, given: Any, sizes: Mapping[str, int]) -> Coords:
    """``coords=`` as a user gave it: a list of labels for each dim, as long as the dim."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise DataError(f"coords={given!r:.60}: give a dict, such as coords={{'term': names}}")
    out: Coords = {}
    for dim, labels in given.items():
        if dim not in network.dims:
            raise DataError(f"coords: no node has a dim {dim!r}.{did_you_mean(dim, network.dims)}")
        if isinstance(labels, (str, bytes, Mapping)) or not hasattr(labels, "__len__"):
            raise DataError(f"coords: {dim!r}: give a list of labels, not {labels!r:.40}")
        out[dim] = [_plain(label) for label in np.asarray(labels, object).ravel().tolist()]
        if dim in sizes and len(out[dim]) != sizes[dim]:
            raise DataError(
                f"coords: {len(out[dim])} labels along {dim!r}, but its size is {sizes[dim]}"
            )
    return out


def term_labels(cells: Any) -> list[str] | None:
    """The names of the columns of data that were read; None if they have none, or if these are no
    texts, or not all different."""
    names = cells.labels.get(cells.dims[-1], [])
    texts = bool(names) and all(isinstance(name, str) for name in names)
    return list(names) if texts and len(set(names)) == len(names) else None


def labels_of(axes: tuple[str, ...], value: Any) -> Coords:
    """The labels of a data frame, a series or an ``xarray.DataArray``, or of data that were read
    from one; numbers 0, 1, … are none."""
    if isinstance(getattr(value, "labels", None), dict):
        return dict(value.labels)
    if hasattr(value, "dims") and hasattr(value, "coords"):
        named = {str(dim): value.coords[dim] for dim in value.dims if dim in value.coords}
        pairs = {dim: labels for dim, labels in named.items() if dim in axes}
    elif hasattr(value, "index") and hasattr(value, "to_numpy"):
        found = [value.index, value.columns] if hasattr(value, "columns") else [value.index]
        pairs = dict(zip(axes, found, strict=False))
    else:
        return {}
    lists = {
        dim: [_plain(label) for label in np.asarray(labels, object).tolist()]
        for dim, labels in pairs.items()
    }
    return {dim: labels for dim, labels in lists.items() if labels != list(range(len(labels)))}


def _plain(label: Any) -> Any:
    """A label that JSON can hold: whole numbers and floats as they are, all else as text."""
    if isinstance(label, (bool, np.bool_)):
        return str(label)
    if isinstance(label, Integral):
        return int(label)
    return float(label) if isinstance(label, Real) else str(label)
