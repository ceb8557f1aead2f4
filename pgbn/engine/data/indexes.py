"""The numbers of categories, which come with the data and belong to the network of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pgbn.checks import in_order
from pgbn.engine.data.coords import given_coords, labels_of, same_labels
from pgbn.errors import DataError

if TYPE_CHECKING:
    from pgbn.network.network import Network

__all__ = ["bind_indexes"]


def bind_indexes(network: Network, data: Any) -> tuple[Network, Any]:
    """The network with the numbers of categories that stand among ``data``, and the other data.

    Whatever is saved with the network, or made of it, has them then.
    """
    if not hasattr(network, "categories"):
        raise DataError(f"network={network!r:.60} is no pgbn.Network")
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
