"""Drawing the joint distribution of a network, from the roots to the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.composed import prior_of
from pgbn.engine.compile.program import Program
from pgbn.engine.compile.sizes import check_fits, complete_sizes
from pgbn.engine.data.coords import bind_indexes, given_arrays, given_coords, read_stack
from pgbn.engine.data.nonzero import cells_of
from pgbn.engine.steps.time import time_prior
from pgbn.errors import DataError, did_you_mean
from pgbn.nodes.base import Observed
from pgbn.samplers.random import stream_key, word_of

if TYPE_CHECKING:
    from pgbn.network.network import Network


_GENERATE = word_of("generate")


def generate_network(
    network: Network, seed: int, sizes: Mapping[str, int], given: Any
) -> dict[str, NDArray[Any]]:
    """A dict of arrays, one for each node, with the node's dims in order, after those of draws if
    draws are given. Nodes above given ones are left out: they would have to be drawn from a
    posterior."""
    network, values = bind_indexes(network, given_arrays(given))
    for name in values:
        if name not in network.nodes:
            raise DataError(f"given: no node {name!r}.{did_you_mean(name, network.nodes)}")
    for name in network.held:
        if name not in values:
            raise DataError(f"given: no value of {name!r}, which the network holds; give one")
    given_coords(network, values, values)  # in one order, where they have labels
    read = {name: read_stack(network.nodes[name], value) for name, value in values.items()}
    every = complete_sizes(network, sizes, {n: s.shape[1:] for n, (s, _) in read.items()})
    lead = _lead({name: lead for name, (_, lead) in read.items()})
    draws = prod(lead)
    check_fits(network, every, draws, data=True)
    above = _above(network, read)
    program = Program(network, {}, every, draws)
    fixed = {
        name: to_storage(program, name, np.broadcast_to(stack, (draws, *stack.shape[1:])))
        for name, (stack, _) in read.items()
    }
    data = generate_into(program, seed, fixed, above)
    arrays = {name: to_axes(program, name, value) for name, value in data.items()}
    return {n: a.reshape(*lead, *a.shape[1:]) if lead else a[0] for n, a in arrays.items()}


def _lead(leads: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The dims of draws that were given: the same for all that have any."""
    drawn = {lead: name for name, lead in leads.items() if lead}
    if len(drawn) > 1:
        (one, first), (other, second), *_ = drawn.items()
        raise DataError(
            f"given: draws of the shape {one} of {first!r}, but {other} of {second!r}; give as "
            "many of each"
        )
    return next(iter(drawn), ())


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
