"""Values of nodes: given ones, draws of the joint distribution, from the roots to the data, and
draws that are put back.

A network declares which nodes are given (`Network.with_given`). Their values come with the data:
one for all sweeps, or draws, one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_integer, check_mapping
from pgbn.engine.compile.program import Program
from pgbn.engine.data.cells import Cells, cells_of
from pgbn.engine.data.reading import (
    bind_indexes,
    check_fits,
    check_labels,
    complete_sizes,
    given_arrays,
    given_coords,
    read_stack,
)
from pgbn.engine.plan import prior_of
from pgbn.engine.steps.time import time_prior
from pgbn.errors import DataError, PgbnError, did_you_mean
from pgbn.nodes.base import Latent, Observed
from pgbn.samplers.executor import executor_of
from pgbn.samplers.random import stream_key, word_of

if TYPE_CHECKING:
    from pgbn.engine.run.draws import Draws
    from pgbn.network.network import Network


_GENERATE = word_of("generate")


def generate_network(
    network: Network, seed: int, sizes: Mapping[str, int], given: Any
) -> dict[str, NDArray[Any]]:
    """A dict of arrays, one for each node, with the node's dims in order, after those of draws if
    draws are given. Nodes above given ones are omitted: they would have to be drawn from a
    posterior."""
    network, values = bind_indexes(network, given_arrays(given))
    for name in values:
        if name not in network.nodes:
            raise DataError(f"given: no node {name!r}.{did_you_mean(name, network.nodes)}")
    for name in network.given:
        if name not in values:
            raise DataError(f"given: no value of {name!r}, which is a given node; give one")
    given_coords(network, values, values)  # in one order, if they have labels
    read = {name: read_stack(network.nodes[name], value) for name, value in values.items()}
    every = complete_sizes(network, sizes, {n: s.shape[1:] for n, (s, _) in read.items()})
    lead = common_lead("given", {name: lead for name, (_, lead) in read.items() if lead})
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


def common_lead(caller: str, leads: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The dims of draws, which must be the same for all nodes."""
    drawn = {lead: name for name, lead in leads.items()}
    if len(drawn) > 1:
        (one, first), (other, second), *_ = drawn.items()
        raise DataError(
            f"{caller}: draws of the shape {one} of {first!r}, but {other} of {second!r}; give as "
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
                f"given: {name!r} depends on {unknown[0]!r}, about which the given {below!r} says "
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


class Given:
    """``stacks[name]`` has the dims ("draw", *dims of the node), with one draw or ``count``."""

    def __init__(self, network: Network, values: Mapping[str, Any]) -> None:
        self.stacks = {
            n: read_stack(network[n], values[n])[0] for n in network.given if n in values
        }
        lengths = {len(stack): name for name, stack in self.stacks.items() if len(stack) > 1}
        if len(lengths) > 1:
            (one, first), (other, second), *_ = lengths.items()
            raise DataError(
                f"given: {one} draws of {first!r}, but {other} of {second!r}; give as many of each,"
                " or one"
            )
        self.count = max(lengths, default=1)

    def number(self, sweep: int) -> int:
        """The draw for a sweep (from 1 on): one after another, then from the first again."""
        return max(sweep - 1, 0) % self.count

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the values, by name."""
        return {name: stack.shape[1:] for name, stack in self.stacks.items()}

    def values(self, number: int) -> dict[str, NDArray[Any]]:
        """The values of a draw, by name."""
        return {name: stack[number % len(stack)] for name, stack in self.stacks.items()}

    def put(self, program: Program, number: int) -> None:
        """Give the nodes of a program, all its replicates, the values of a draw."""
        for name, value in self.values(number).items():
            every = np.broadcast_to(value, (program.shape[name][0], *value.shape))
            program.values[name] = to_storage(program, name, every.astype(np.float64))

    def check_replicated(self, network: Network) -> None:
        """Reject values about which other nodes have evidence, or that change."""
        known = set(self.stacks)
        for name in known:
            above = sorted(nx.ancestors(network.graph, name) - known)
            if above or self.count > 1:
                reason = f"{above[0]} has a posterior then" if above else "one value is needed"
                raise DataError(
                    f"given: {name!r} cannot be the same in all replicates: {reason}; give it a "
                    f"draw of its own in each, net.with_given({name!r}) without given="
                )

    def check(self, program: Program) -> None:
        """Reject a 0 in a slot that must be positive; the program has its values."""
        zeros = {name for name, stack in self.stacks.items() if not stack.all()}
        slots = {}
        for node in program.network:
            for slot in node.positive_slots:
                polynomial = program.wiring.polynomials.get((node.name, slot))
                if polynomial is not None and zeros.intersection(polynomial.names):
                    slots[node.name, slot] = min(zeros.intersection(polynomial.names))
        for number in reversed(range(self.count if slots else 0)):
            self.put(program, number)
            for (name, slot), wrong in slots.items():
                if not np.all(program.slot(name, slot).get() > 0):
                    raise DataError(
                        f"given: {wrong} has zeros, where the {slot} of {name}, which must be "
                        f"positive, is 0; give positive values"
                    )


def with_values(
    network: Network, given: Any, partly: bool = False, data: Any = None, start: Any = None
) -> tuple[Network, dict[str, Any]]:
    """The network with its given nodes, and their values; ``partly``: not of all of them. The
    labels of given and initial values must be those of the ``data``.

    A `pgbn.Draws` supplies its draws of all latent nodes, or of those that are given already.
    """
    values = given_arrays(given)
    if given is not None and not isinstance(given, Mapping):
        wanted = network.given or network.latent
        values = {name: value for name, value in values.items() if name in wanted}
    fixed = network if set(values) <= set(network.given) else network.with_given(*values)
    for name in fixed.given:
        if name not in values and not partly:
            raise DataError(
                f"given: no value of {name!r}, which is a given node; give {{{name!r}: array, …}}"
            )
    check_labels(network, data, "given", given, values)
    if isinstance(start, Mapping):
        check_labels(network, data, "start", start, start)
    return fixed, values


def with_some_given(network: Network, given: Any, data: Any) -> tuple[Network, dict[str, Any]]:
    """The same, but at least one node must remain to be drawn."""
    fixed, values = with_values(network, given, data=data)
    if not fixed.free:
        raise DataError(f"given: {', '.join(fixed.given)} leave nothing to draw; omit one of them")
    return fixed, values


class Replay:
    """Draws put back into a program, one after another, to compute results about one observed node.

    ``new`` gives dims another size: every node with such a dim then has new rows. They are
    generated given the other nodes and replace the draws for the rows of the data.
    """

    def __init__(
        self,
        draws: Draws,
        name: str,
        caller: str,
        new: Mapping[str, int] | None = None,
        threads: int | None = None,
    ) -> None:
        network = draws.network
        if network is None:
            raise PgbnError(
                f"{caller}: these draws do not contain their network; take those that "
                "Network.sample returned"
            )
        if not isinstance(name, str) or name not in network.observed:
            known = did_you_mean(name, network.observed)
            raise DataError(f"{caller}: {name!r:.60} is not an observed node.{known}")
        for dim, size in check_mapping("sizes", new).items():
            check_integer(f"{caller}: sizes: {dim}", size, 0)
            if dim not in network.nodes[name].axes:
                raise DataError(
                    f"{caller}: sizes: {name!r} has no dim {dim!r}, but "
                    f"{', '.join(network.nodes[name].axes)}"
                )
        self.draws, self.network, self.name, self.caller = draws, network, name, caller
        self.data: Cells | None = None if new else draws.data.get(name)
        drawn = _needed(network, name, new or {})
        self.given = [n for n in drawn if not set(network.nodes[n].axes) & set(new or {})]
        self.fixed = {
            n: draws.given_value(n) for n in self.given if n not in draws and n in draws.given
        }
        missing = [n for n in self.given if n not in draws and n not in self.fixed]
        if missing:
            raise DataError(
                f"{caller}: {name!r} needs draws of {', '.join(missing)}, which were not kept; "
                f"sample with keep=[{', '.join(map(repr, [*draws.arrays, *missing]))}]"
            )
        sizes = self._sizes(new or {})
        if new:
            check_fits(network, sizes, argument="sizes")
        self.program = Program(network, {}, sizes, 1, executor_of(threads))
        self.program.values.update(
            {n: np.zeros(self.program.shape[n]) for n in network.latent if n in drawn}
        )
        self._steps: dict[str, Callable[[int], NDArray[Any]]] = {
            n: prior_step(self.program, n) for n in drawn if n not in self.given
        }

    def _sizes(self, new: Mapping[str, int]) -> dict[str, int]:
        shapes = {n: self.draws.arrays[n].shape[2:] for n in self.given if n not in self.fixed}
        shapes |= {n: v.shape[v.ndim - len(self.network[n].axes) :] for n, v in self.fixed.items()}
        sizes = {**self.draws.sizes, **new}
        return complete_sizes(self.network, sizes, shapes)

    @property
    def shape(self) -> tuple[int, int]:
        """How many chains and draws there are."""
        first = next(iter(self.draws.arrays.values()))
        return int(first.shape[0]), int(first.shape[1])

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Put the values of every draw into the program, and say which (chain, draw) it is."""
        chains, draws = self.shape
        for chain in range(chains):
            for draw in range(draws):
                self.at(chain, draw)
                yield chain, draw

    def _value(self, name: str, chain: int, draw: int) -> NDArray[Any]:
        """The value of a node at a draw: drawn, or given."""
        if name not in self.fixed:
            return np.asarray(self.draws.arrays[name][chain, draw])
        value = self.fixed[name]
        return value[chain, draw] if value.ndim > len(self.network[name].axes) else value

    def at(self, chain: int, draw: int, seed: int = 0) -> None:
        """The program at one draw; new rows are generated by the keys of ``seed``."""
        for name in self.given:
            value = np.array(self._value(name, chain, draw))  # one that can be written to
            node = self.network[name]
            complaint = node.refuses(value) if isinstance(node, Latent) else None
            if complaint:
                where = f"{self.caller}: draw {draw} of chain {chain}"
                raise DataError(f"{where}: {name} {complaint}")
            self.program.values[name] = to_storage(self.program, name, value[None])
        for name, step in self._steps.items():
            key = stream_key(seed, word_of("new"), word_of(name), chain, draw)
            self.program.values[name] = np.ascontiguousarray(step(key), np.float64)


def _needed(network: Network, name: str, new: Mapping[str, int]) -> list[str]:
    """The latent nodes that an observed one is generated from, parents first: its own parents and,
    above those of new rows, the parents of these."""
    wanted, waiting = set(), [name]
    while waiting:
        for parent in network.graph.predecessors(waiting.pop()):
            if isinstance(network.nodes[parent], Observed):
                raise DataError(f"{name!r} depends on the data {parent!r}; that is not supported")
            if parent not in wanted:
                wanted.add(parent)
                if set(network.nodes[parent].axes) & set(new):
                    waiting.append(parent)
    return [each for each in network.nodes if each in wanted]
