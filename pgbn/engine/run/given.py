"""Values of nodes that are held: one for all sweeps, or draws, one after another.

A network says which nodes are held (`Network.holding`); the values come with the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.program import Program
from pgbn.engine.data.coords import check_labels, given_arrays, read_stack
from pgbn.engine.run.generate import to_storage
from pgbn.errors import DataError

if TYPE_CHECKING:
    from pgbn.network.network import Network


class Given:
    """``stacks[name]`` has the dims ("draw", *dims of the node), with one draw or ``count``."""

    def __init__(self, network: Network, values: Mapping[str, Any]) -> None:
        self.stacks = {n: read_stack(network[n], values[n])[0] for n in network.held if n in values}
        lengths = {len(stack): name for name, stack in self.stacks.items() if len(stack) > 1}
        if len(lengths) > 1:
            (one, first), (other, second), *_ = lengths.items()
            raise DataError(
                f"given: {one} draws of {first!r}, but {other} of {second!r}; give as many of each,"
                " or one"
            )
        self.count = max(lengths, default=1)

    def number(self, sweep: int) -> int:
        """Which draw a sweep (from 1 on) is run given: one after another, and again."""
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
        """Refuse values about which other nodes could tell something, or that change."""
        known = set(self.stacks)
        for name in known:
            above = sorted(nx.ancestors(network.graph, name) - known)
            if above or self.count > 1:
                reason = f"{above[0]} has a posterior then" if above else "one value is needed"
                raise DataError(
                    f"given: {name!r} cannot be the same in all replicates: {reason}; hold it at a "
                    f"draw of its own in each, net.holding({name!r}) without given="
                )

    def check(self, program: Program) -> None:
        """Refuse a 0 where the value of a slot must be positive; the program has its values."""
        zeros = {name for name, stack in self.stacks.items() if not stack.all()}
        slots = [
            (node, slot)
            for node in program.network
            for slot in node.positive_slots
            if zeros.intersection(_names(program, node.name, slot))
        ]
        for number in reversed(range(self.count if slots else 0)):
            self.put(program, number)
            for node, slot in slots:
                if not np.all(program.slot(node.name, slot).get() > 0):
                    wrong = sorted(zeros.intersection(_names(program, node.name, slot)))[0]
                    raise DataError(
                        f"given: {wrong} has zeros, where the {slot} of {node.name}, which must be "
                        f"positive, is 0; give positive values"
                    )


def _names(program: Program, name: str, slot: str) -> tuple[str, ...]:
    polynomial = program.wiring.polynomials.get((name, slot))
    return () if polynomial is None else polynomial.names


def hold(
    network: Network, given: Any, partly: bool = False, data: Any = None, init: Any = None
) -> tuple[Network, dict[str, Any]]:
    """The network with the given nodes held, and their values; ``partly``: not of all of them. The
    labels of given and initial values must be those of the ``data``.

    Of the draws of a `pgbn.Draws`, all that are latent nodes, or those that are held already.
    """
    values = given_arrays(given)
    if given is not None and not isinstance(given, Mapping):
        wanted = network.held or network.latent
        values = {name: value for name, value in values.items() if name in wanted}
    held = network if set(values) <= set(network.held) else network.holding(*values)
    for name in held.held:
        if name not in values and not partly:
            raise DataError(
                f"given: no value of {name!r}, which the network holds; give {{{name!r}: array, …}}"
            )
    check_labels(network, data, "given", given, values)
    if isinstance(init, Mapping):
        check_labels(network, data, "init", init, init)
    return held, values


def hold_some(network: Network, given: Any, data: Any) -> tuple[Network, dict[str, Any]]:
    """The same, where something must be left to draw."""
    held, values = hold(network, given, data=data)
    if not held.free:
        raise DataError(
            f"given: {', '.join(held.held)} leave nothing to draw; leave one of them out"
        )
    return held, values
