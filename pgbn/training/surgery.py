"""Change the width or the depth of a network and keep its state.

A state is a dict from the names of latent nodes to their arrays (`Chain.values`). Both functions
are pure: they return a new state for a new network, and where the old entries went.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgbn.checks import check_integer, numbers
from pgbn.errors import DataError, did_you_mean
from pgbn.nodes.base import Latent, Node

if TYPE_CHECKING:
    from pgbn.network.network import Network


State = dict[str, NDArray[np.float64]]


def prune(
    network: Network,
    state: Mapping[str, ArrayLike],
    dim: str,
    keep: ArrayLike,
    rescale: str | Iterable[str] = (),
) -> tuple[State, NDArray[np.int64]]:
    """The state without some entries of ``dim``, and the old index of each entry that is left.

    ``keep`` is a boolean mask or a list of indices. Every node with that dim loses the other
    entries; a vector of proportions along it is normalised again. Nodes named in ``rescale`` (one
    name, or several) are multiplied by K_new / K_old: γ0 ← γ0 · K_new / K_old preserves the mass γ0
    / K of every remaining factor.
    """
    _check_network("prune", network, state=state)
    if not isinstance(dim, str) or dim not in network.dims:
        raise DataError(f"prune: no node has a dim {dim!r:.60}.{did_you_mean(dim, network.dims)}")
    try:
        chosen = np.asarray(keep)
    except ValueError:  # rows of unequal length
        chosen = np.empty((), object)
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "biu"):
        raise DataError(
            f"prune: keep={keep!r:.60}: give a list with True or False for every entry of "
            f"{dim!r}, or of the indices (integers from 0 on) that stay"
        )
    index = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
    if index.size == 0:
        raise DataError(f"prune: keep is empty; at least one entry of {dim!r} must stay")
    out: State = {}
    old = new = index.size
    for name, value in state.items():
        node = network[name]
        array = _read_state("prune", node, value)
        if dim in node.axes:
            axis = node.axes.index(dim)
            old = array.shape[axis]
            if chosen.dtype == bool and chosen.shape != (old,):
                raise DataError(
                    f"prune: keep has shape {chosen.shape}, but {name} has size {old} along {dim!r}"
                )
            if index.min() < 0 or index.max() >= old or np.unique(index).size < new:
                raise DataError(f"prune: keep must list distinct indices from 0 to {old - 1}")
            array = np.take(array, index, axis=axis)
            if node.simplex == dim:
                total = array.sum(axis=axis, keepdims=True)
                array = np.where(total > 0, array / np.where(total > 0, total, 1.0), 1.0 / new)
        out[name] = array.copy()
    if not isinstance(rescale, Iterable):
        raise DataError(f"prune: rescale={rescale!r}: give the name of a node, or a list of names")
    for name in [rescale] if isinstance(rescale, str) else rescale:
        if name not in out:
            raise DataError(f"prune: rescale: no node {name!r}.{did_you_mean(name, out)}")
        out[name] = out[name] * (new / old)
    return out, index


def grow(
    network: Network,
    state: Mapping[str, ArrayLike],
    values: Mapping[str, ArrayLike],
    sizes: Mapping[str, int] | None = None,
) -> tuple[State, dict[str, NDArray[np.int64]]]:
    """The state of a larger ``network`` from that of a smaller one, and where old entries are.

    ``values`` gives the new nodes, and those to start anew; a number stands for an array filled
    with it. A node that ``state`` has at a smaller size keeps its old entries in the first places
    and takes ``values[name]`` in the others. A vector of proportions is normalised again. Nodes in
    neither are omitted: a chain draws them from the prior. The second result has, for each dim that
    grew, the new index of each old entry.
    """
    sizes = {} if sizes is None else sizes
    _check_network("grow", network, state=state, values=values, sizes=sizes)
    given = {dim: check_integer(f"grow: sizes[{dim!r}]", n, 1) for dim, n in sizes.items()}
    every = {**network.sizes, **given}
    for name in values:
        if name not in network.latent:
            raise DataError(
                f"grow: {name!r} is not a latent node.{did_you_mean(name, network.latent)}"
            )
    out: State = {}
    places: dict[str, NDArray[np.int64]] = {}
    for name in network.latent:
        node = network[name]
        missing = [dim for dim in node.axes if dim not in every]
        if name in state:
            old = _read_state("grow", node, state[name])
            shape = tuple(every.get(d, n) for d, n in zip(node.axes, old.shape, strict=True))
        elif name in values:
            array = _read("grow", node, values[name])
            if missing and array.ndim != len(node.axes):
                raise DataError(f"grow: give sizes={{{missing[0]!r}: ...}} for the new {name}")
            if missing:
                every |= {dim: array.shape[node.axes.index(dim)] for dim in missing}
            shape = tuple(every[dim] for dim in node.axes)
            old = np.empty((0,) * len(shape))
        else:
            continue
        if old.shape == shape and name not in values:
            out[name] = _possible(node, old.copy())
            continue
        if any(n > m for n, m in zip(old.shape, shape, strict=True)):
            raise DataError(f"grow: {name} has shape {old.shape}, larger than {shape}; use prune")
        if name not in values:
            raise DataError(
                f"grow: {name} grows from {old.shape} to {shape}: give values[{name!r}]"
            )
        out[name] = _enlarge(old, values[name], shape, node)
        if old.shape != shape:
            for dim, before, after in zip(node.axes, old.shape, shape, strict=True):
                if 0 < before < after:
                    places[dim] = np.arange(before, dtype=np.int64)
    return out, places


def _enlarge(
    old: NDArray[np.float64], value: ArrayLike, shape: tuple[int, ...], node: Node
) -> NDArray[np.float64]:
    """``value`` in the given shape, with ``old`` in its first places if it is smaller."""
    array = _read("grow", node, value)
    try:
        new: NDArray[Any] = np.broadcast_to(array, shape).copy()
    except ValueError:
        raise DataError(
            f"grow: {node.name} has shape {array.shape}; give a number or an array of shape {shape}"
        ) from None
    if old.shape != shape and old.size:
        new[tuple(slice(0, size) for size in old.shape)] = old
    if node.simplex is not None:
        total = new.sum(axis=node.axes.index(node.simplex), keepdims=True)
        if not (np.isfinite(new).all() and (new >= 0).all() and (total > 0).all()):
            raise DataError(
                f"grow: {node.name} holds proportions over {node.simplex!r}; give finite values of "
                "at least 0, and not only 0"
            )
        new /= total
    return _possible(node, new)


def _possible(node: Node, value: NDArray[np.float64]) -> NDArray[np.float64]:
    complaint = node.refuses(value) if isinstance(node, Latent) else None
    if complaint:
        raise DataError(f"grow: {node.name} {complaint}")
    return value


# ---- arguments ------------------------------------------------------------------------


def _check_network(function: str, network: Any, **mappings: Any) -> None:
    from pgbn.network.network import Network

    if not isinstance(network, Network):
        raise DataError(
            f"{function}: network is {type(network).__name__}; give a pgbn.Network, e.g. "
            "chain.network or trained.network"
        )
    for argument, value in mappings.items():
        if not isinstance(value, Mapping):
            raise DataError(f"{function}: {argument} is {type(value).__name__}; give a dict")


def _read(function: str, node: Node, value: Any) -> NDArray[np.float64]:
    """The values of a node as an array of numbers."""
    return numbers(f"{function}: {node.name}", value).astype(np.float64, copy=False)


def _read_state(function: str, node: Node, value: Any) -> NDArray[np.float64]:
    """The same, checked against the dims of the node."""
    array = _read(function, node, value)
    if array.ndim != len(node.axes):
        raise DataError(
            f"{function}: {node.name} has shape {array.shape}, but its dims are {node.axes}"
        )
    return array
