"""What is known of new rows: their data, and the labels along their dims.

An observed node of which nothing is known for new rows, such as the labels of new documents, tells
nothing about them: p(h | x) = ∫ p(h, y | x) dy, and y is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from pgbn.engine.data.coords import Coords, given_coords, read_coords
from pgbn.engine.data.stacked import given_arrays, read_stack
from pgbn.engine.rows.independent import row_network
from pgbn.engine.run.given import Given
from pgbn.errors import DataError, did_you_mean
from pgbn.network.network import Network

__all__ = ["beside", "known_data", "row_coords", "seen_network"]


def known_data(network: Network, local: Network, data: Any) -> Any:
    """The data of the rows among ``data``, which may hold those of other plates and, as
    `Network.generate` returns them, values of latent nodes."""
    if not isinstance(data, Mapping):
        return data
    for name in data:
        if name not in network.declared:
            raise DataError(f"data: no node {name!r}.{did_you_mean(name, local.observed)}")
    return {name: value for name, value in data.items() if name in local.observed}


def seen_network(network: Network, local: Network, data: Any, plate: str) -> Network:
    """The network of the rows without the observed nodes that have no data."""
    unseen = [name for name in local.observed if isinstance(data, Mapping) and name not in data]
    if not unseen or len(unseen) == len(local.observed):
        return local
    return row_network(network, plate, [name for name in local.observed if name not in unseen])


def row_coords(network: Network, data: Mapping[str, Any], given: Any, plate: str) -> Coords:
    """The labels of the new rows, and of other dims those that ``given`` brings with it. Refused
    where both name a dim, and not alike: columns in another order are other columns."""
    out = read_coords(network, data)
    values = given_arrays(given)
    names = [n for n in values if n in network.nodes and plate not in network.nodes[n].axes]
    known = given_coords(network, given, names)
    for dim in known:
        if out.setdefault(dim, known[dim]) != known[dim]:
            raise DataError(
                f"data: the labels along {dim!r} are not those of the draws in given=; bring the "
                "new data into their order, or give arrays without labels"
            )
    return out


def beside(network: Network, held: Given, given: Any) -> dict[str, NDArray[Any]]:
    """The given values of what only data depend on that the rows do not have: to predict these."""
    values = given_arrays(given)
    names = [name for name in network.held if name not in held.stacks and name in values]
    stacks = {name: read_stack(network[name], values[name])[0] for name in names}
    return {name: stack for name, stack in stacks.items() if len(stack) in (1, held.count)}
