"""Drawing the joint distribution of a network, from the roots to the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.checks import check_seed, check_unmasked, in_order
from pgbn.engine.compile.composed import prior_of
from pgbn.engine.compile.program import Program
from pgbn.engine.compile.sizes import check_fits, complete_sizes
from pgbn.engine.data.cells import cells_of
from pgbn.engine.time.scan import time_prior
from pgbn.errors import DataError, did_you_mean
from pgbn.nodes.base import Latent, Node, Observed
from pgbn.samplers.random import stream_key, word_of

if TYPE_CHECKING:
    from pgbn.network.network import Network

__all__ = ["generate_into", "generate_network", "prior_step", "to_axes", "to_storage"]

_GENERATE = word_of("generate")


def generate_network(
    network: Network, seed: int, sizes: Mapping[str, int], given: Mapping[str, Any]
) -> dict[str, NDArray[Any]]:
    """A dict of arrays, one for each node, with the node's dims in order. Nodes above given ones
    are left out: they would have to be drawn from a posterior."""
    seed = check_seed(seed)
    for argument, mapping in (("sizes", sizes), ("given", given)):
        if not isinstance(mapping, Mapping):
            raise DataError(
                f"{argument}={mapping!r}: give a dict, such as {argument}={{'name': …}}"
            )
    for name in given:
        if name not in network.nodes:
            raise DataError(f"given: no node {name!r}.{did_you_mean(name, network.nodes)}")
    arrays = {name: _array(network.nodes[name], value) for name, value in given.items()}
    every = complete_sizes(network, sizes, {n: a.shape for n, a in arrays.items()})
    check_fits(network, every, data=True)
    for name, array in arrays.items():
        node = network.nodes[name]
        complaint = node.refuses(array) if isinstance(node, Latent) else None
        if complaint:
            raise DataError(f"given: {name} {complaint}")
    above = _above(network, arrays)
    program = Program(network, {}, every)
    fixed = {name: to_storage(program, name, array[None]) for name, array in arrays.items()}
    data = generate_into(program, seed, fixed, above)
    return {name: to_axes(program, name, value)[0] for name, value in data.items()}


def _above(network: Network, given: Iterable[str]) -> set[str]:
    """The nodes above given ones; nothing that is to be drawn may depend on them."""
    known, graph = set(given), network.graph
    above = {each for name in known for each in nx.ancestors(graph, name)} - known
    for name in network.nodes.keys() - known - above:
        unknown = sorted(above.intersection(graph.predecessors(name)))
        if unknown:
            below = next(each for each in network.nodes if each in known
                         and unknown[0] in nx.ancestors(graph, each))  # fmt: skip
            raise DataError(
                f"given: {name!r} depends on {unknown[0]!r}, about which the given {below!r} tells "
                f"something; give {unknown[0]!r} too"
            )
    if known and known | above == set(network.nodes):
        last = next(reversed([name for name in network.nodes if name in known]))
        raise DataError(
            f"given: {', '.join(sorted(known))} leave nothing to draw; nodes given the data are "
            f"drawn by Network.sample({{{last!r}: …}})"
        )
    return above


def _array(node: Node, value: Any) -> NDArray[Any]:
    check_unmasked(f"given: {node.name!r}", value)
    value = in_order(f"given: {node.name!r}", node.axes, value)
    try:
        array = value.toarray() if sp.issparse(value) else np.asarray(value)
    except ValueError:
        raise DataError(f"given: {node.name!r} has rows of unequal length") from None
    if array.dtype.kind not in "iufb" or not np.isfinite(array).all():
        raise DataError(f"given: {node.name!r} must be an array of finite numbers")
    array = array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
    if isinstance(node, Observed):
        complaint = node.check(array)
    else:
        complaint = f"negative values (least: {array.min():g})" if (array < 0).any() else None
    if complaint:
        raise DataError(f"given: {node.name!r} has {complaint}")
    return array


def generate_into(
    program: Program,
    seed: int,
    fixed: Mapping[str, NDArray[Any]],
    left_out: Iterable[str] = (),
) -> dict[str, NDArray[Any]]:
    """Draw every node that is not fixed, parents first; the program holds the values."""
    data: dict[str, NDArray[Any]] = {}
    for name, node in program.network.nodes.items():
        if name in left_out:
            continue
        if name in fixed:
            value = fixed[name]
        else:
            value = prior_step(program, name)(stream_key(seed, _GENERATE, word_of(name)))
        data[name] = value
        if isinstance(node, Observed):
            program.cells[name] = cells_of(node, value, program.replicates)
        else:
            program.values[name] = np.ascontiguousarray(value, np.float64)
    return data


def to_axes(program: Program, name: str, value: NDArray[Any]) -> NDArray[Any]:
    """From storage order to the order of the node's dims."""
    stored = program.storage[name]
    order = [stored.index(dim) + 1 for dim in program.network.nodes[name].axes]
    return value.transpose([0, *order])


def to_storage(program: Program, name: str, value: NDArray[Any]) -> NDArray[Any]:
    """From the order of the node's dims to storage order."""
    axes = program.network.nodes[name].axes
    order = [axes.index(dim) + 1 for dim in program.storage[name]]
    shaped = np.ascontiguousarray(value.transpose([0, *order]))
    if shaped.shape != program.shape[name]:
        expected = tuple(program.sizes[dim] for dim in axes)
        raise DataError(f"{name}: an array of shape {value.shape[1:]}, expected {expected}")
    return shaped


def prior_step(program: Program, name: str) -> Callable[[int], NDArray[Any]]:
    """The function that generates a node from its slots, given a key."""
    node = program.network.nodes[name]
    return (time_prior if program.is_in_time(name) else prior_of)(program, node)
