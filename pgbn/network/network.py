"""Network: a checked, directed acyclic graph of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from pgbn.checks import is_integral, validated
from pgbn.errors import NetworkError, did_you_mean, missing_attribute
from pgbn.network.network_methods import NetworkMethods
from pgbn.network.schedule import Schedule, derive, reorder
from pgbn.network.steps import Revise, steps_of
from pgbn.network.wiring import Wiring
from pgbn.nodes.base import Latent, Node, Observed, check_methods
from pgbn.nodes.expression import Expression
from pgbn.nodes.index import Categories, as_categories
from pgbn.nodes.rules import load_plugins


def all_dims(nodes: Iterable[Node]) -> list[str]:
    """The dims of some nodes, each once."""
    return list(dict.fromkeys(dim for node in nodes for dim in node.axes))


# ---- categories, and their numbers if they are given --------------------------------------------

Indexes = dict[str, NDArray[np.int64]]


def find_categories(nodes: Iterable[Node]) -> dict[str, Categories]:
    """The categories in the slots of nodes, by name, checked against the nodes."""
    every = {node.name: node for node in nodes}
    dims = {dim for node in every.values() for dim in node.axes}
    found: dict[str, Categories] = {}
    for node in every.values():
        for slot in node.slots():
            for each in _categories_in(node, slot):
                known = found.setdefault(each.name, each)
                if not _same(known, each):
                    raise NetworkError(f"two categories are called {each.name!r}; rename one")
    dims |= {each.of for each in found.values()}  # `pgbn.network.lowering` rejects these by slot
    for name, each in found.items():
        if name in every:
            raise NetworkError(
                f"{name!r} is the name of categories and of a node; rename the categories, as "
                f"pgbn.Categories('{name}_of', …)"
            )
        for dim in each.dims:
            if dim not in dims:
                where = next(
                    node.name
                    for node in every.values()
                    for slot in node.slots()
                    if any(other.name == name for other in _categories_in(node, slot))
                )
                raise NetworkError(
                    f"{where}: the categories {name} have the dim {dim!r}, which no node has."
                    f"{did_you_mean(dim, dims)} Give them dims of {where} or of a node in its slots"
                )
    return found


def _categories_in(node: Node, slot: str) -> list[Categories]:
    """The categories in a slot, without those in the slots of other nodes."""
    return [each for each in leaves(getattr(node, slot)) if isinstance(each, Categories)]


def _same(one: Categories, other: Categories) -> bool:
    alike = (one.dims, one.of) == (other.dims, other.of)
    if one.values is None or other.values is None:
        return alike and one.values is other.values
    return alike and np.array_equal(one.values, other.values)


def declared_indexes(categories: Mapping[str, Categories], given: Mapping[str, Any]) -> Indexes:
    """The numbers declared with the categories; those ``given`` take precedence."""
    for name in given:
        if name not in categories:
            raise NetworkError(
                f"indexes: there are no categories {name!r}.{did_you_mean(name, categories)}"
            )
    known = {name: each.values for name, each in categories.items() if each.values is not None}
    known |= {n: as_categories(n, value, categories[n].dims) for n, value in given.items()}
    return known


# ---- network ------------------------------------------------------------------------------------

# What other packages call a method.
_METHODS = {
    **dict.fromkeys(("fit", "mcmc", "run"), "net.sample(data)"),
    **dict.fromkeys(("transform", "predict"), "net.infer(data, given=draws)"),
    "simulate": "net.generate()",
    **dict.fromkeys(("hold", "condition"), "net.with_given(name)"),
    "draw": "net.plot()",
}  # fmt: skip

MOST_NODES = 400  # the time to derive a schedule grows with the cube


class Network(NetworkMethods):
    """All nodes that the observed nodes depend on, checked when it is built.

    Invariants: names are unique, the graph has no cycle, the dims fit, and every latent node
    has a conjugate update for the evidence that it receives.

    Parameters
    ----------
    *observed : Observed
        The data nodes. The nodes that they depend on are found automatically.
    sizes : dict of str to int, optional
        The sizes of dims. Those of the data may be omitted.
    order : sequence of str, optional
        The order of the steps of a sweep, see `with_order`. By default it is derived.
    given : sequence of str
        The latent nodes whose values are given when the network is run, see `with_given`.
    above : bool
        Whether nodes that matter only through given nodes are kept, see `with_given`.
    indexes : dict of str to array, optional
        The numbers of its categories. By default they are given with the data.

    Raises
    ------
    NetworkError
        If the graph is not a valid network; the error says how to change it.
    MissingRuleError
        If a node has no conjugate update for the evidence that it receives.
    StaleReadError
        If the order of the steps is not a valid sampler.

    Examples
    --------
    >>> theta = pgbn.Gamma("theta", 1.0, 1.0, dims=("doc", "topic"))
    >>> phi = pgbn.Dirichlet("phi", 0.1, over="term", dims="topic")
    >>> x = pgbn.Poisson("x", rate=phi @ theta, dims=("doc", "term"))
    >>> net = pgbn.Network(x, sizes={"topic": 2})
    >>> net.latent
    ['phi', 'theta']
    >>> net.schedule.names
    ['counts(x)', 'phi', 'theta']
    """

    @validated
    def __init__(
        self,
        *observed: Observed,
        sizes: Mapping[str, int] | None = None,
        order: Iterable[str] | None = None,
        given: Iterable[str] = (),
        above: bool = True,
        indexes: Mapping[str, Any] | None = None,
    ) -> None:
        load_plugins()
        if not observed:
            raise NetworkError("Network(): give at least one observed node, e.g. Network(x)")
        for node in observed:
            if not isinstance(node, Observed):
                each = " one by one, Network(x, y)" if isinstance(node, list | tuple) else ""
                raise NetworkError(
                    f"Network(...): {node!r} is not an observed node; pass the data nodes{each}, "
                    "such as a pgbn.Poisson: the nodes that they depend on are found automatically"
                )
        try:
            self.declared: dict[str, Node] = _collect(observed)
        except RecursionError:
            raise NetworkError("Network(...): its nodes are nested too deeply") from None
        if len(self.declared) > MOST_NODES:
            raise NetworkError(
                f"Network(...): {len(self.declared)} nodes, but at most {MOST_NODES} are "
                "supported; put nodes of one kind into one node with another dim"
            )
        named = _check_given(self.declared, given)
        kept = _collect(observed, () if above else named)
        self.nodes: dict[str, Node] = {n: v for n, v in self.declared.items() if n in kept}
        self.above = above or not named
        self.observed = [n.name for n in self.nodes.values() if isinstance(n, Observed)]
        self.latent = [n.name for n in self.nodes.values() if isinstance(n, Latent)]
        self.given = tuple(name for name in self.latent if name in named)
        self.sizes = self._check_sizes({} if sizes is None else sizes)
        self.categories = find_categories(self.declared.values())
        self.indexes: Indexes = declared_indexes(self.categories, indexes or {})
        self.wiring = Wiring(self.nodes, self.given, self.above)
        for every in self.nodes.values():
            check_methods(every)
        if order is not None and (isinstance(order, str) or not np.iterable(order)):
            raise NetworkError(f"order={order!r}: give a list of the names of steps")
        self.order = None if order is None else tuple(map(str, order))
        _ = self.schedule

    # ---- the graph --------------------------------------------------------------------

    @property
    def graph(self) -> nx.DiGraph:
        """The nodes (attribute ``spec``) and their edges, parent → child (attribute ``slots``)."""
        return self.wiring.graph

    @cached_property
    def dims(self) -> tuple[str, ...]:
        """The names of all dims, in order of appearance."""
        return tuple(all_dims(self.nodes.values()))

    @property
    def free(self) -> list[str]:
        """The names of the latent nodes that are drawn: those that are not given."""
        return [name for name in self.latent if name not in self.given]

    @property
    def left_out(self) -> tuple[str, ...]:
        """The names of the omitted nodes: they matter only through given nodes."""
        return tuple(name for name in self.declared if name not in self.nodes)

    def _check_sizes(self, sizes: Mapping[str, int]) -> dict[str, int]:
        known = all_dims(self.declared.values())
        if not isinstance(sizes, Mapping):
            raise NetworkError(f"sizes={sizes!r}: give a dict from dims to sizes, {{'topic': 10}}")
        for dim, size in sizes.items():
            if dim not in known:
                raise NetworkError(f"sizes: no node has a dim {dim!r}.{did_you_mean(dim, known)}")
            check_size(dim, size, 2**62)  # numbers of cells are integers
        return {dim: int(size) for dim, size in sizes.items()}

    def role(self, name: str) -> str:
        """The role of a node in this network.

        Parameters
        ----------
        name : str
            The name of the node.

        Returns
        -------
        str
            "observed", "given" or "latent".

        Examples
        --------
        >>> pgbn.zoo.lda(3).role("phi")
        'latent'
        """
        if self[name].name in self.given:
            return "given"
        return "observed" if name in self.observed else "latent"

    def __getitem__(self, name: str) -> Node:
        if not isinstance(name, str) or name not in self.nodes:
            raise NetworkError(f"there is no node {name!r:.60}.{did_you_mean(name, self.nodes)}")
        return self.nodes[name]

    if not TYPE_CHECKING:  # it would hide unknown attributes from type checkers

        def __getattr__(self, name: str) -> Any:
            """No attribute: an error that names the node, or the method, of that name."""
            node = f"; write net[{name!r}]" if name in self.__dict__.get("nodes", ()) else ""
            raise missing_attribute(self, name, _METHODS, node)

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
            slots = ", ".join(f"{slot}={getattr(node, slot)}" for slot in node.slots())
            axes = f"[{', '.join(node.axes)}]" if node.axes else ""
            lines.append(
                f"  {node.name}{axes} ~ {type(node).__name__}({slots})  {self.role(node.name)}"
            )
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The table of the nodes, which notebooks show."""
        rows = [["node", "dims", "distribution", "role"]]
        for node in self.nodes.values():
            slots = ", ".join(f"{slot}={getattr(node, slot)}" for slot in node.slots())
            dims = ", ".join(f"{dim} = {self.sizes.get(dim, 'from data')}" for dim in node.axes)
            kind = f"{type(node).__name__}({slots})"
            rows.append([node.name, dims, kind, self.role(node.name)])
        cells = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
        return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"

    # ---- the sampler ------------------------------------------------------------------

    @cached_property
    def schedule(self) -> Schedule:
        """The steps of one sweep with all values instantiated, upward and then downward."""
        return self._schedule_with(None)

    def _schedule_with(self, revise: Revise | None) -> Schedule:
        """The schedule in which ``revise(wiring, step)`` replaces a step, see `steps_of`."""
        steps = steps_of(self.wiring, revise)
        return Schedule(
            derive(steps) if self.order is None else reorder(steps, self.order), self.given
        )

    @validated
    def with_order(self, order: Iterable[str]) -> Network:
        """The same network with another order of the steps of a sweep.

        Parameters
        ----------
        order : sequence of str
            The names of the steps, as in ``schedule.names``.

        Returns
        -------
        Network
            The network with this order.

        Raises
        ------
        StaleReadError
            If the order is not a valid partially collapsed Gibbs sampler.

        Examples
        --------
        >>> net = pgbn.zoo.lda(3)
        >>> net.schedule.names
        ['counts(x)', 'phi', 'theta']
        >>> net.with_order(["counts(x)", "theta", "phi"]).schedule.names
        ['counts(x)', 'theta', 'phi']
        """
        return self._with(order=order)

    def with_sizes(self, **sizes: int) -> Network:
        """The same network with some sizes changed or added.

        Parameters
        ----------
        **sizes : int
            The sizes, by dim.

        Returns
        -------
        Network
            The network with these sizes.

        Examples
        --------
        >>> pgbn.zoo.lda(3).with_sizes(doc=10).sizes
        {'topic': 3, 'doc': 10}
        """
        return self._with(sizes={**self.sizes, **sizes})

    def with_indexes(self, **indexes: Any) -> Network:
        """The same network with the numbers of some of its categories.

        Parameters
        ----------
        **indexes : array of int
            The numbers, by the names of categories.

        Returns
        -------
        Network
            The network with these numbers.

        Examples
        --------
        >>> net = pgbn.zoo.author_topic(3).with_indexes(author=[0, 0, 1])
        >>> net.indexes["author"]
        array([0, 0, 1])
        """
        return self._with(indexes={**self.indexes, **indexes})

    @validated
    def with_given(self, *names: str, above: bool = True) -> Network:
        """The same network with more latent nodes given, at values that are passed when it is run.

        ``net.chain(data, given={"phi": …})`` is short for
        ``net.with_given("phi").chain(data, given={"phi": …})``.

        A given node has no step and is read as a constant. It cannot be integrated out: a network
        that needs this is rejected at once. The nodes in its slots receive its value as evidence.
        This needs a closed form, which the rate of a given Gamma has and its shape has not; the
        network is rejected otherwise.

        Parameters
        ----------
        *names : str
            The names of latent nodes.
        above : bool
            With False, the nodes that matter only through given nodes are omitted, see `left_out`.

        Returns
        -------
        Network
            The network in which these nodes are given.

        Raises
        ------
        NetworkError
            If a name is unknown, or a node in a slot of a given node has no closed form.

        Examples
        --------
        >>> net = pgbn.zoo.lda(3).with_given("phi")
        >>> net.given, net.free
        (('phi',), ['theta'])
        """
        for name in names:
            if not isinstance(name, str):
                raise NetworkError(f"with_given: {name!r:.60} is not a name; give names one by one")
        given = dict.fromkeys((*self.given, *names))
        if self.order is None:
            return self._with(given=given, above=above)
        steps = self._with(given=given, above=above, order=None).schedule.names
        return self._with(given=given, above=above, order=[n for n in self.order if n in steps])

    def _with(self, **changes: Any) -> Network:
        """The same network with some arguments changed."""
        observed = [node for node in self.nodes.values() if isinstance(node, Observed)]
        now = {
            name: getattr(self, name) for name in ("sizes", "order", "given", "above", "indexes")
        }
        return Network(*observed, **(now | changes))

    # ---- files ------------------------------------------------------------------------

    def to_json(self, indent: int | None = 2) -> str:
        """The network as JSON; `Network.from_json` reads it.

        Parameters
        ----------
        indent : int or None
            The number of spaces for each level; None for a single line.

        Returns
        -------
        str
            The JSON.

        Examples
        --------
        >>> net = pgbn.zoo.lda(3)
        >>> pgbn.Network.from_json(net.to_json()).latent == net.latent
        True
        """
        from pgbn.network.serialise import network_json

        return network_json(self, indent)

    def __reduce__(self) -> tuple[Any, ...]:
        return Network.from_json, (self.to_json(None),)  # functions of rules have no pickles

    def __deepcopy__(self, memo: object = None) -> Network:
        return self  # never changed

    __copy__ = __deepcopy__

    @classmethod
    def from_json(cls, text: str) -> Network:
        """The network that `to_json` wrote; plug-in node types are found by entry points.

        Parameters
        ----------
        text : str
            The JSON.

        Returns
        -------
        Network
            The network.

        Raises
        ------
        NetworkError
            If the text is not the JSON of a network, or has an unknown node type.

        Examples
        --------
        >>> text = pgbn.zoo.lda(3).to_json()
        >>> pgbn.Network.from_json(text).observed
        ['x']
        """
        from pgbn.network.serialise import network_from_json

        return network_from_json(text)


def check_size(dim: str, size: Any, below: int | None = None) -> int:
    """The size of a dim is a positive integer (an integral float will do)."""
    if not is_integral(size) or size < 1 or (below is not None and size >= below):
        allowed = f"a positive integer{'' if below is None else ' below 2^62'}"
        raise NetworkError(f"sizes: {dim}={size!r:.60} must be {allowed}, such as {dim}=10")
    return int(size)


def _check_given(nodes: Mapping[str, Node], given: Iterable[str]) -> set[str]:
    """The names of latent nodes, as a set."""
    names = [given] if isinstance(given, str) or not np.iterable(given) else list(given)
    latent = [node.name for node in nodes.values() if isinstance(node, Latent)]
    for name in names:
        if name not in nodes:
            raise NetworkError(f"given: there is no node {name!r}.{did_you_mean(name, latent)}")
        if name not in latent:
            raise NetworkError(
                f"given: {name!r} is observed; its values are data: net.chain({{{name!r}: …}})"
            )
    return set(names)


def _collect(observed: Iterable[Observed], roots: Iterable[str] = ()) -> dict[str, Node]:
    """Every node that the observed ones depend on, parents first; none above ``roots``."""
    found: dict[str, Node] = {}

    def visit(node: Node) -> None:
        known = found.get(node.name)
        if known is node:
            return
        if known is not None:
            raise NetworkError(
                f"two nodes are called {node.name!r}: {known!r} and {node!r}; rename one"
            )
        for slot in node.slots() if node.name not in roots else ():
            for parent in leaves(getattr(node, slot)):
                if isinstance(parent, Node):
                    visit(parent)
        if node.name in found:
            raise NetworkError(f"two nodes are called {node.name!r}; rename one")
        found[node.name] = node

    for node in observed:
        visit(node)
    return found


def leaves(expression: Expression) -> Iterator[Expression]:
    """The nodes, constants and categories in an expression, from left to right."""
    if not expression._parts:
        yield expression
    for part in expression._parts:
        yield from leaves(part)
