"""Whole arrays with named axes: the values of slots, for the reference sampler.

The value of a slot is y = Σ_terms c Σ_contracted Π factors (`pgbn.network.terms`), which numpy's
einsum computes from arrays with named axes. Every array of a node is (replicate, *dims of the
node); rules see it as (replicate, d1, d2, d3), with axes of size 1 in front of fewer dims.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.network.network import Network
from pgbn.network.terms import FIRST, Factor, Lagged, Operation, Term
from pgbn.network.wiring import coupled_dims, factors_of, names_in
from pgbn.nodes.base import Latent, Node
from pgbn.samplers.random import Stream

Array = NDArray[Any]
Named = tuple[Any, tuple[str, ...]]  # an array and the names of its axes
R = "replicate"  # the first axis of every array: independent copies of the chain
WHOLE: Any = (...,)  # all entries of a node, where others are drawn in parts


class WholeArrays:
    """The ``values`` of all nodes, data too, and the slots that are made of them."""

    def __init__(
        self, network: Network, values: Mapping[str, Array], sizes: Mapping[str, int],
        variates: Any, missing: Mapping[str, Array] | None = None, replicates: int = 1,
    ) -> None:  # fmt: skip
        self.network, self.wiring, self.nodes = network, network.wiring, network.nodes
        self.sizes, self.variates, self.missing = {**sizes, R: replicates}, variates, missing or {}
        self.values = dict(values)
        for node in network:
            if node.name not in values:
                self.values[node.name] = np.zeros([self.sizes[dim] for dim in (R, *node.axes)])

    def slot(self, node: Node, slot: str) -> Array:
        """Σ_terms c Σ_contracted Π factors, at every cell of the node."""
        axes, terms = node.slot_axes(slot), self.wiring.polynomials[node.name, slot].terms
        total = sum(self.sum(axes, *self.factors(node, slot, t), over=t.contracted) for t in terms)
        shape = [self.sizes[dim] if dim in axes else 1 for dim in node.axes]
        return np.reshape(total, (self.sizes[R], *shape))

    def sum(self, out: tuple[str, ...], *arrays: Named, over: tuple[str, ...] = ()) -> Array:
        """Σ Π of arrays, with the axes (replicate, *out); all other axes are summed. Along a dim
        that none of them has, the product is the same in every place."""
        out, named = (R, *out), {dim for _, dims in arrays for dim in dims}
        same = [(np.ones(self.sizes[dim]), (dim,)) for dim in (*out, *over) if dim not in named]
        number = {dim: i for i, dim in enumerate({*out, *over, *named})}
        parts: list[Any] = [
            part for array, dims in (*arrays, *same) for part in (array, [*map(number.get, dims)])
        ]
        return np.asarray(np.einsum(*parts, [*map(number.get, out)], optimize=True))

    def factors(self, node: Node, slot: str, term: Term, but: Factor | None = None) -> list[Named]:
        """What is multiplied in a term, ``but`` the factor that receives the evidence."""
        found: list[Named] = [(np.asarray(term.coefficient), ())]
        edge = but.through.operation if but is not None and but.through else None
        found += [self.read(each, node) for each in term.factors if each is not but
                  and not (edge and each.through and each.through.operation is edge)]  # fmt: skip
        along = self.wiring.polynomials[node.name, slot].along
        if along is not None and term.phase == FIRST:  # the initial value of a node in time
            found.append((np.arange(self.sizes[along]) < term.lag, (along,)))
        return found

    def read(self, factor: Factor, node: Node | None = None) -> Named:
        """The array of one factor, in a slot of ``node`` where it may be an earlier row of it."""
        if factor.through is not None:  # an edge that evaluates itself, read at its leading node
            edge = factor.through.operation
            if factor.through.slot != edge.leads:
                return np.ones(()), ()
            return edge.edge.evaluate(**self.operands(edge)), (R, *factor.dims)
        if factor.relation is not None:
            i, j = np.ogrid[tuple(slice(self.sizes[dim]) for dim in factor.dims)]
            return {"upper": i < j, "distinct": i != j, "same": i == j}[
                factor.relation
            ], factor.dims
        if factor.when:
            first = np.arange(self.sizes[factor.dims[0]]) < factor.lag
            return first if factor.when == FIRST else ~first, factor.dims
        if factor.constant is not None:
            array = factor.constant.toarray() if factor.is_sparse else factor.constant
            return array[self.places(factor)] if factor.lookups else array, factor.dims
        if factor.previous:
            assert node is not None
            return self.moved(node, self.values[node.name], factor.lag), (R, *factor.dims)
        value = self.values[factor.name]
        return value[:, *self.places(factor)] if factor.lookups else value, (R, *factor.dims)

    def places(self, factor: Factor) -> tuple[Any, ...]:
        """theta[author]: which entry every row reads, as an index into all entries."""
        looked, out = {lookup.dim: lookup for lookup in factor.lookups}, []
        for dim in factor.entries:
            lookup = looked.get(dim)
            dims = (dim,) if lookup is None else lookup.dims
            numbers = np.arange(self.sizes[dims[0]])
            if isinstance(lookup, Lagged):  # some rows before
                numbers = np.maximum(numbers - lookup.lag, 0)
            elif lookup is not None:
                numbers = self.network.indexes[lookup.name]
            order = [dims.index(each) for each in factor.own_dims if each in dims]
            shape = [self.sizes[each] if each in dims else 1 for each in factor.own_dims]
            out.append(numbers.transpose(order).reshape(shape))
        return tuple(out)

    def moved(self, node: Node, array: Array, lag: int) -> Array:
        """Row t of a node in time at row t + lag, and zeros where no row comes."""
        axis = 1 + node.axes.index(self.wiring.connections.time_dim(node.name) or "")
        rows, out = np.moveaxis(array, axis, 0), np.moveaxis(np.zeros_like(array), axis, 0)
        out[max(lag, 0) : len(rows) + min(lag, 0)] = rows[max(-lag, 0) : len(rows) - max(lag, 0)]
        return np.moveaxis(out, 0, axis)

    # ---- the way back: what a factor of a slot receives -----------------------------------

    def entries(self, factor: Factor, seen: Array) -> Array:
        """What the rows that read a node received, added up for each of its entries."""
        if not factor.lookups:
            return seen
        out = np.zeros((len(seen), *(self.sizes[dim] for dim in factor.entries)), seen.dtype)
        np.add.at(out, (slice(None), *self.places(factor)), seen)
        return out

    def received(self, factor: Factor, counts: Array) -> dict[str, Array]:
        """The counts of a factor, by the nodes that receive them: several through an edge."""
        if factor.through is None:
            return {factor.name: self.entries(factor, counts)}
        edge = factor.through.operation
        if factor.through.slot != edge.leads:
            return {}
        shape = (len(counts), *(1,) * (4 - counts.ndim), *counts.shape[1:])
        stream = Stream(0, shape, variates=self.variates)
        found = edge.edge.split(stream, counts, **self.operands(edge))
        return {each.name: found[slot] for slot, each in edge.operands.items() if each.is_node}

    def exposed(self, factor: Factor, exposure: Array) -> Array:
        """The exposure of the node in a factor, from that of the factor."""
        if factor.through is None:
            return self.entries(factor, exposure)
        edge, slot = factor.through.operation, factor.through.slot
        others = {other: value for other, value in self.operands(edge).items() if other != slot}
        shape = self.values[factor.name].shape
        return np.asarray(edge.edge.expose(slot, exposure, shape, **others))

    def operands(self, edge: Operation) -> dict[str, Array]:
        """What stands in the slots of an edge that evaluates itself."""
        return {
            slot: self.values[each.name] if each.is_node else each.constant[None]
            for slot, each in edge.operands.items()
        }

    # ---- how rules see a node, or a part of it ----------------------------------------

    def parts(self, node: Node, along: str | None = None) -> list[Any]:
        """Indexes of what is drawn one after another: rows in time, or all at once."""
        along = along or self.wiring.connections.time_dim(node.name)
        if along is None:
            return [WHOLE]
        after = (slice(None),) * (len(node.axes) - node.axes.index(along) - 1)
        return [(..., slice(i, i + 1), *after) for i in range(self.sizes[along])]

    def wide(self, node: Node, array: Array) -> Array:
        """(replicate, d1, d2, d3): axes of size 1 before those of a node with fewer dims."""
        return array.reshape(len(array), *(1,) * (3 - len(node.axes)), *array.shape[1:])

    def narrow(self, node: Node, found: Any, part: Any = WHOLE) -> Array:
        here = self.values[node.name][part]
        return np.broadcast_to(found, self.wide(node, here).shape).reshape(here.shape)

    def put(self, node: Node, part: Any, drawn: Array) -> None:
        value = self.values[node.name].copy()
        value[part] = np.reshape(drawn, value[part].shape)
        self.values[node.name] = value

    def stream(self, node: Node, part: Any = WHOLE) -> Stream:
        shape = self.wide(node, self.values[node.name][part]).shape
        axes = tuple(len(shape) - len(node.axes) + node.axes.index(dim) for dim in node.sums_over)
        axes = axes or (len(shape) - 1,)
        return Stream(0, shape, simplex=axes if len(axes) > 1 else axes[0], variates=self.variates)

    # ---- densities, for kernels ---------------------------------------------------------

    def log_conditional(self, node: Node) -> Any:
        """ln p(value | all else) as a function of the value, for kernels: one number for every
        entry, or for all entries together along the axes ``coupled``."""
        assert isinstance(node, Latent)
        connections, name = self.wiring.connections, node.name
        coupled = coupled_dims(connections, node)
        kept = tuple(dim for dim in node.axes if dim not in (*coupled, *node.sums_over))
        shape = [self.sizes[dim] if dim in kept else 1 for dim in node.axes]
        terms: list[tuple[Node, tuple[str, ...]]] = [(node, kept)]
        for child in connections.children[name].values():
            here = names_in(factors_of(connections, name, child)[0])
            terms.append((child, tuple(here[dim] for dim in kept)))

        def log_density(value: Array, own: bool = True) -> Array:
            before = self.values[name]
            self.values[name] = np.reshape(value, before.shape)
            with np.errstate(all="ignore"):
                total = sum(self.density(*each) for each in terms[0 if own else 1 :])
            self.values[name] = before
            return self.wide(node, np.reshape(total, (len(before), *shape)))

        axes = (max(4 - len(node.axes), 1) + node.axes.index(dim) for dim in coupled)
        log_density.support, log_density.coupled = node.support, tuple(axes)  # type: ignore[attr-defined]
        return log_density

    def density(self, node: Node, kept: tuple[str, ...]) -> Array:
        """ln p(value | slots), summed over all dims but those ``kept``."""
        given: dict[str, Any] = {s: self.wide(node, self.slot(node, s)) for s in node.slots()}
        given |= {"axis": self.stream(node).simplex} if node.sums_over else {}
        each = node.log_density(self.wide(node, self.values[node.name]), **given)
        each = np.where(self.missing.get(node.name, False), 0.0, self.narrow(node, each))
        return self.sum(kept, (each, (R, *node.axes)))
