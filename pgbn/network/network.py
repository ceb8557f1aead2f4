"""Network: a checked, directed acyclic graph of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np

from pgbn.checks import is_integral
from pgbn.errors import NetworkError, did_you_mean
from pgbn.network.schedule import Schedule, derive, reorder
from pgbn.network.steps import Revise, steps_of
from pgbn.network.verbs import Verbs
from pgbn.network.wiring import Wiring
from pgbn.nodes.base import Latent, Node, Observed, check_methods
from pgbn.nodes.expression import Expression
from pgbn.nodes.rules.registry import load_plugins

__all__ = ["Network", "check_size"]

MOST_NODES = 400  # the time to derive a schedule grows with the cube


class Network(Verbs):
    """All nodes that the observed nodes depend on, checked when it is built.

    Invariants: names are unique, the graph has no cycle, the dims fit, and every latent node
    has a conjugate update for the evidence that it hears. ``sizes`` gives the sizes of dims;
    those of the data may be left out.
    """

    def __init__(
        self,
        *observed: Observed,
        sizes: Mapping[str, int] | None = None,
        order: Iterable[str] | None = None,
    ) -> None:
        load_plugins()
        if not observed:
            raise NetworkError("Network(): give at least one observed node, e.g. Network(x)")
        for node in observed:
            if not isinstance(node, Observed):
                raise NetworkError(
                    f"Network(...): {node!r} is not an observed node; pass the data nodes, such as "
                    "a pgbn.Poisson: what they depend on is found by itself"
                )
        try:
            self.nodes: dict[str, Node] = _collect(observed)
        except RecursionError:
            raise NetworkError("Network(...): its nodes are nested too deeply") from None
        if len(self.nodes) > MOST_NODES:
            raise NetworkError(
                f"Network(...): {len(self.nodes)} nodes, but at most {MOST_NODES} are supported; "
                "put nodes of one kind into one node with another dim"
            )
        self.observed = [n.name for n in self.nodes.values() if isinstance(n, Observed)]
        self.latent = [n.name for n in self.nodes.values() if isinstance(n, Latent)]
        self.sizes = self._check_sizes({} if sizes is None else sizes)
        self.wiring = Wiring(self.nodes)
        for every in self.nodes.values():
            check_methods(every)
        if order is not None and (isinstance(order, str) or not np.iterable(order)):
            raise NetworkError(f"order={order!r}: give a list of the names of steps")
        self.order = None if order is None else tuple(map(str, order))
        _ = self.schedule

    # ---- the graph --------------------------------------------------------------------

    @cached_property
    def graph(self) -> nx.DiGraph:
        """The nodes (attribute ``spec``) and their edges, parent → child (attribute ``slots``)."""
        graph = nx.DiGraph()
        for name, node in self.nodes.items():
            graph.add_node(name, spec=node)
        for (child, slot), polynomial in self.wiring.polynomials.items():
            for parent in polynomial.names:
                slots = graph.get_edge_data(parent, child, {"slots": ()})["slots"]
                graph.add_edge(parent, child, slots=(*slots, slot))
        return graph

    @cached_property
    def dims(self) -> tuple[str, ...]:
        """The names of all dims, in order of appearance."""
        return tuple(_all_dims(self.nodes.values()))

    def _check_sizes(self, sizes: Mapping[str, int]) -> dict[str, int]:
        known = list(_all_dims(self.nodes.values()))
        if not isinstance(sizes, Mapping):
            raise NetworkError(f"sizes={sizes!r}: give a dict from dims to sizes, {{'topic': 10}}")
        for dim, size in sizes.items():
            if dim not in known:
                raise NetworkError(f"sizes: no node has a dim {dim!r}.{did_you_mean(dim, known)}")
            check_size(dim, size)
        return {dim: int(size) for dim, size in sizes.items()}

    def __getitem__(self, name: str) -> Node:
        if name not in self.nodes:
            raise NetworkError(f"there is no node {name!r}.{did_you_mean(name, self.nodes)}")
        return self.nodes[name]

    def __contains__(self, item: object) -> bool:
        """Whether a name, or this very node, is in the network."""
        if isinstance(item, Node):
            return self.nodes.get(item.name) is item
        return item in self.nodes

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes.values())

    def __len__(self) -> int:
        return len(self.nodes)

    def __str__(self) -> str:
        sizes = ", ".join(f"{dim}={self.sizes.get(dim, 'from data')}" for dim in self.dims)
        lines = [f"Network of {len(self)} nodes ({sizes or 'no dims'})"]
        for node in self.nodes.values():
            role = "observed" if isinstance(node, Observed) else "latent"
            slots = ", ".join(f"{slot}={getattr(node, slot)}" for slot in node.slots())
            axes = f"[{', '.join(node.axes)}]" if node.axes else ""
            lines.append(f"  {node.name}{axes} ~ {type(node).__name__}({slots})  {role}")
        return "\n".join(lines)

    __repr__ = __str__

    # ---- the sampler ------------------------------------------------------------------

    @cached_property
    def schedule(self) -> Schedule:
        """The steps of one sweep with all values instantiated, upward and then downward."""
        return self.schedule_with(None)

    def schedule_with(self, revise: Revise | None) -> Schedule:
        """The schedule in which ``revise(wiring, step)`` stands for a step, see `steps_of`."""
        steps = steps_of(self.wiring, revise)
        return derive(steps) if self.order is None else reorder(steps, self.order)

    def with_order(self, order: Iterable[str]) -> Network:
        """The same network with a user's order of the steps (names as in ``schedule.names``).

        Raises `StaleReadError` if that is not a valid partially collapsed Gibbs sampler.
        """
        observed = [node for node in self.nodes.values() if isinstance(node, Observed)]
        return Network(*observed, sizes=self.sizes, order=order)

    def with_sizes(self, **sizes: int) -> Network:
        """The same network with some sizes changed or added."""
        observed = [node for node in self.nodes.values() if isinstance(node, Observed)]
        return Network(*observed, sizes={**self.sizes, **sizes}, order=self.order)

    # ---- files ------------------------------------------------------------------------

    def to_json(self, indent: int | None = 2) -> str:
        """The network as JSON; `Network.from_json` reads it."""
        from pgbn.network.serialise import network_json

        return network_json(self, indent)

    def __reduce__(self) -> tuple[Any, ...]:
        return Network.from_json, (self.to_json(None),)  # rules hold functions: no pickles of them

    def __deepcopy__(self, memo: object = None) -> Network:
        return self  # never changed

    __copy__ = __deepcopy__

    @classmethod
    def from_json(cls, text: str) -> Network:
        """The network that `to_json` wrote; plug-in node types are found by entry points."""
        from pgbn.network.serialise import network_from_json

        return network_from_json(text)


def check_size(dim: str, size: Any) -> int:
    """The size of a dim is a positive integer (an integral float will do)."""
    if not is_integral(size) or size < 1:
        raise NetworkError(f"sizes: {dim}={size!r} must be a positive integer, such as {dim}=10")
    return int(size)


def _all_dims(nodes: Iterable[Node]) -> dict[str, None]:
    return dict.fromkeys(dim for node in nodes for dim in node.axes)


def _collect(observed: Iterable[Observed]) -> dict[str, Node]:
    """Every node that the observed ones depend on, parents first."""
    found: dict[str, Node] = {}

    def visit(node: Node) -> None:
        known = found.get(node.name)
        if known is node:
            return
        if known is not None:
            raise NetworkError(
                f"two nodes are called {node.name!r}: {known!r} and {node!r}; rename one"
            )
        for slot in node.slots():
            for parent in parents_in(getattr(node, slot)):
                visit(parent)
        if node.name in found:
            raise NetworkError(f"two nodes are called {node.name!r}; rename one")
        found[node.name] = node

    for node in observed:
        visit(node)
    return found


def parents_in(expression: Expression) -> Iterator[Node]:
    """The nodes that an expression mentions, from left to right."""
    if isinstance(expression, Node):
        yield expression
        return
    for name in type(expression).model_fields:
        value = getattr(expression, name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Expression):
                yield from parents_in(part)
