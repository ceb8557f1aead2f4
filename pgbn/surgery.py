"""Changing the width or the depth of a network while its state lives on.

A state is a dict from the names of latent nodes to their arrays (`Chain.values`). Both functions
are pure: they return a new state for a new network, and where the old entries went.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgbn.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from pgbn.network import Network

__all__ = ["grow", "prune"]

State = dict[str, NDArray[np.float64]]


def prune(
    network: Network,
    state: Mapping[str, ArrayLike],
    dim: str,
    keep: ArrayLike,
    rescale: Iterable[str] = (),
) -> tuple[State, NDArray[np.int64]]:
    """The state without some entries of ``dim``, and the old index of each entry that is left.

    ``keep`` is a boolean mask or a list of indices. Every node with that dim loses the other
    entries; a vector of proportions along it is normalised again. Nodes named in ``rescale``
    are multiplied by K_new / K_old: γ0 ← γ0 · K_new / K_old leaves the mass γ0 / K of every
    remaining factor as it was.
    """
    if dim not in network.dims:
        raise DataError(f"prune: no node has a dim {dim!r}.{did_you_mean(dim, network.dims)}")
    chosen = np.asarray(keep)
    index = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
    if index.size == 0:
        raise DataError(f"prune: keep is empty; at least one entry of {dim!r} must stay")
    out: State = {}
    old = new = index.size
    for name, value in state.items():
        node, array = network[name], np.asarray(value, np.float64)
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
    for name in rescale:
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
    and has ``values[name]`` in the others, normalised again along a vector of proportions.
    Nodes that neither gives are left out: a chain draws them from the prior. The second result
    has, for each dim that grew, the new index of each old entry.
    """
    every = {**network.sizes, **(sizes or {})}
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
            old = np.asarray(state[name], np.float64)
            shape = tuple(every.get(d, n) for d, n in zip(node.axes, old.shape, strict=True))
        elif name in values:
            array = np.asarray(values[name], np.float64)
            if missing and array.ndim < len(node.axes):
                raise DataError(f"grow: give sizes={{{missing[0]!r}: ...}} for the new {name}")
            shape = array.shape if missing else tuple(every[dim] for dim in node.axes)
            old = np.empty((0,) * len(shape))
        else:
            continue
        if old.shape == shape and name not in values:
            out[name] = old.copy()
            continue
        if any(n > m for n, m in zip(old.shape, shape, strict=True)):
            raise DataError(f"grow: {name} has shape {old.shape}, larger than {shape}; use prune")
        if name not in values:
            raise DataError(
                f"grow: {name} grows from {old.shape} to {shape}: give values[{name!r}]"
            )
        out[name] = _enlarge(old, values[name], shape, node.axes, node.simplex)
        if old.shape != shape:
            for dim, before, after in zip(node.axes, old.shape, shape, strict=True):
                if 0 < before < after:
                    places[dim] = np.arange(before, dtype=np.int64)
    return out, places


def _enlarge(
    old: NDArray[np.float64],
    value: ArrayLike,
    shape: tuple[int, ...],
    axes: tuple[str, ...],
    simplex: str | None,
) -> NDArray[np.float64]:
    """``value`` in the given shape, with ``old`` in its first places if it is smaller."""
    new: NDArray[Any] = np.broadcast_to(np.asarray(value, np.float64), shape).copy()
    if old.shape != shape and old.size:
        new[tuple(slice(0, size) for size in old.shape)] = old
    if simplex is not None:
        new /= new.sum(axis=axes.index(simplex), keepdims=True)
    return new
