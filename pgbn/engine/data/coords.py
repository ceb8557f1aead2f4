"""Coords: the labels along dims, from data frames, xarray or ``coords=``.

``{"term": ["alpha", "beta"], "doc": [10, 20]}``: they go with draws into xarray, ArviZ, reports and
files. A dim without labels is numbered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.checks import check_unmasked, first_difference, in_order, numbers
from pgbn.errors import DataError, did_you_mean
from pgbn.nodes.base import Latent, Node, Observed

if TYPE_CHECKING:
    from pgbn.network.network import Network


Coords = dict[str, list[Any]]


def read_coords(
    network: Network,
    data: Mapping[str, Any],
    given: Mapping[str, Any] | None = None,
    sizes: Mapping[str, int] | None = None,
) -> Coords:
    """The labels that data bring with them, and those ``given``, which come first."""
    out = check_coords(network, given, sizes or {})
    first = set(out)
    for name, value in data.items():
        labels = labels_of(network.nodes[name].axes, value)
        own = {dim: each for dim, each in labels.items() if dim not in first}
        same_labels(name, own, out, "the other data", "coords={{{dim!r}: [...]}}")
        out |= own
    return out


def given_coords(network: Network, given: Any, names: Iterable[str], what: str = "given") -> Coords:
    """The labels that the given values of some nodes bring with them: those of `pgbn.Draws`, of
    data frames and of xarray. They are rejected if two of them name a dim differently."""
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
        labels = labels_of(dims, value)
        same_labels(f"{what}: {name!r}", labels, out, "the others")
        out |= labels
    return out


def check_labels(network: Network, data: Any, what: str, values: Any, names: Iterable[str]) -> None:
    """Reject values (``given=``, ``init=``) whose labels along a dim are not those of the data."""
    labels = given_coords(network, values, names, what)
    if labels and isinstance(data, Mapping):
        same_labels(what, labels, given_coords(network, data, data, "data"), "the data")


def same_labels(
    what: str,
    labels: Mapping[str, Any],
    known: Mapping[str, Any],
    of: str,
    remedy: str = "arrays without labels",
) -> None:
    """Reject labels that differ from those of others along a dim that both name: columns in another
    order are other columns. ``remedy`` names an alternative argument, for ``{dim}``."""
    for dim in labels:
        if dim in known and list(labels[dim]) != list(known[dim]):
            raise DataError(
                f"{what}: the labels along {dim!r} are not those of {of}, such as "
                f"{first_difference(labels[dim], known[dim])}; bring them into one order, or give "
                f"{remedy.format(dim=dim)}"
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
    """A label that JSON can hold: integers and floats as they are, all else as text."""
    if isinstance(label, (bool, np.bool_)):
        return str(label)
    if isinstance(label, Integral):
        return int(label)
    return float(label) if isinstance(label, Real) else str(label)


def check_network(network: Network) -> Network:
    """A network, or an error that names the argument."""
    if not hasattr(network, "categories"):
        raise DataError(f"network={network!r:.60} is no pgbn.Network")
    return network


def bind_indexes(network: Network, data: Any) -> tuple[Network, Any]:
    """The network with the numbers of categories from ``data``, and the other data.

    Everything that is saved with the network, or made of it, then has them.
    """
    check_network(network)
    if not isinstance(data, Mapping):
        return network, data
    found = {
        name: in_order(name, network.categories[name].dims, value)
        for name, value in data.items()
        if name in network.categories
    }
    rest = {name: value for name, value in data.items() if name not in found}
    for name in found:
        if labels := labels_of(network.categories[name].dims, data[name]):
            known = {n: value for n, value in rest.items() if n in network.observed}
            same_labels(name, labels, given_coords(network, known, known, "data"), "the data")
    return (network.with_indexes(**found) if found else network), rest


# ---- values of nodes that a user gives: one for each node, or draws of it ----

_DRAWS = ("chain", "draw")  # dims of draws, before those of their node


def given_arrays(given: Any) -> dict[str, Any]:
    """The given values by name: a dict, or `pgbn.Draws`, which have one as ``values``."""
    named = given if isinstance(given, Mapping) else getattr(given, "values", None)
    if given is not None and not isinstance(named, Mapping):
        raise DataError(
            f"given={given!r:.60}: give a dict, such as given={{'name': array}}, or pgbn.Draws"
        )
    if named is not given and not callable(getattr(given, "given_value", None)):  # chains, new rows
        raise DataError(
            f"given is a {type(given).__name__}, no dict and no pgbn.Draws; give its values, "
            "given=….values"
        )
    found = {str(name): value for name, value in (named or {}).items()}
    if isinstance(given, Mapping):
        return found
    for name in getattr(given, "given", ()):  # the values that were given for `pgbn.Draws`
        found.setdefault(name, given.given_value(name))
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
        complaint = None
        if not np.isfinite(each).all():
            wrong = each[~np.isfinite(each)].flat[0]
            complaint = f"has the value {wrong:g}; give an array of finite numbers"
        elif isinstance(node, Latent):
            complaint = node.refuses(each)
        elif isinstance(node, Observed) and (found := node.check(each)):
            complaint = f"has {found}"
        if complaint:
            raise DataError(f"{what} {complaint}")
    return stack, array.shape[:extra]
