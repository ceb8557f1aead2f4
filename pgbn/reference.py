"""The sampler in one file: a sweep of any network, in plain numpy, for small dense data.

A network is a graph of nodes. A node has slots, as a Gamma has a shape and a rate, in which other
nodes stand in sums of products. One sweep is Algorithm 1 of the Poisson gamma belief network (Zhou,
Cong & Chen 2015), made general:

    upward     Every node tells what stands in its slots a count m and an exposure q: the likelihood
               λ^m e^{−qλ} of a value λ. A count of a sum is shared out among the summands by a
               multinomial. The counts of a gamma that is integrated out become tables of a Chinese
               restaurant, which are counts for its shape.
    downward   Every node adds up the evidence that it received, and is drawn given it.

The rules of each type (`pgbn.nodes.rules`) say what a node tells its slots, and how it is drawn.
The network (`pgbn.network`) brings every slot to a sum of products, y = Σ_terms c Σ_contracted Π
factors, and derives the order of the steps. What remains are sums of products of arrays with named
axes: this file. Every array is whole and has the axes (replicate, *dims of its node).

`pgbn.engine` draws from the same law by compiled kernels on sparse data, much faster.
``net.sample(data, engine="reference")`` runs this file; it needs no compiler.

All operations of the language are covered. Three kinds of nodes are drawn in parts. A node that
depends on its own row before (`Shift`) sends counts from the last row to the first, and is drawn
from the first to the last. A node that stands twice in a product is drawn one entry after another.
Hidden states in time are filtered forward and drawn backward.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.network.connections import Source
from pgbn.network.kernels import coupled_dims, factors_of, names_in
from pgbn.network.network import Network
from pgbn.network.steps import Step
from pgbn.network.terms import FIRST, LATER, Earlier, Factor, Operation, Term
from pgbn.nodes.base import Latent, Node, Observed
from pgbn.nodes.categorical import choices
from pgbn.nodes.rules.evidence import QUADRATIC, Evidence
from pgbn.nodes.rules.registry import find_link
from pgbn.samplers import vectorised
from pgbn.samplers.stream import Stream

Array = NDArray[Any]
Named = tuple[Array, tuple[str, ...]]  # an array and the names of its axes
R = "replicate"  # the first axis of every array: independent copies of the chain
WHOLE = (Ellipsis,)  # all entries of a node, where others are drawn in parts


class Reference:
    """A chain, or several: the ``values`` of all nodes, data too, and what steps sent upward.

    ``variates`` draw the random numbers, see `pgbn.samplers.plain`. ``missing`` marks the unknown
    cells of data, which are imputed in every sweep.
    """

    def __init__(
        self, network: Network, values: Mapping[str, Array], sizes: Mapping[str, int],
        variates: Any, missing: Mapping[str, Array] | None = None, replicates: int = 1,
    ) -> None:  # fmt: skip
        self.network, self.wiring, self.nodes = network, network.wiring, network.nodes
        self.sizes, self.variates, self.missing = {**sizes, R: replicates}, variates, missing or {}
        shapes = {n.name: [self.sizes[dim] for dim in (R, *n.axes)] for n in network}
        self.values: dict[str, Array] = {n: np.zeros(s) for n, s in shapes.items()} | dict(values)
        self.counts: dict[tuple[str, str], Array] = {}  # from a child to what stands in its slots
        self.from_later: dict[str, Array] = {}  # counts that the rows of a node sent to each other
        self.drawn: dict[tuple[str, str], Evidence] = {}  # what was drawn for a slot
        self.behind: dict[str, Array] = {}  # the Poisson counts behind data

    def sweep(self) -> None:
        """All steps, in the order that the network derived and checked."""
        for step in self.network.schedule:
            if step.upward:
                self.send(self.nodes[step.node])
            else:
                self.draw(step)

    # ---- reading: the value of a slot -----------------------------------------------------

    def slot(self, node: Node, slot: str) -> Array:
        """Σ_terms c Σ_contracted Π factors, at every cell of the node."""
        axes = node.slot_axes(slot)
        total = sum(
            self.sum(axes, *self.factors(node, slot, term), over=term.contracted)
            for term in self.wiring.polynomials[node.name, slot].terms
        )
        shape = [self.sizes[dim] if dim in axes else 1 for dim in node.axes]
        return np.asarray(total).reshape(self.sizes[R], *shape)

    def sum(self, out: tuple[str, ...], *operands: Named, over: tuple[str, ...] = ()) -> Array:
        """Σ Π of arrays, with the axes (replicate, *out): all others are summed. What varies along
        none of the arrays is repeated."""
        named = {dim for _, dims in operands for dim in dims}
        filled = [(np.ones(self.sizes[dim]), (dim,)) for dim in (R, *out, *over) if dim not in named]
        number = {dim: i for i, dim in enumerate(dict.fromkeys((R, *out, *over, *named)))}
        parts: list[Any] = []
        for array, dims in (*operands, *filled):
            parts += [array, [number[dim] for dim in dims]]
        return np.asarray(np.einsum(*parts, [number[dim] for dim in (R, *out)], optimize=True))

    def factors(self, node: Node, slot: str, term: Term, but: Factor | None = None) -> list[Named]:
        """What is multiplied in a term, ``but`` one factor: that which receives the evidence."""
        edge = but.through.operation if but is not None and but.through else None
        found = [self.read(factor, node) for factor in term.factors if factor is not but
                 and (edge is None or not factor.through or factor.through.operation is not edge)]  # fmt: skip
        along = self.wiring.polynomials[node.name, slot].along
        if along is not None and term.phase == FIRST:  # the initial value of a node in time
            found.append((np.arange(self.sizes[along]) < term.lag, (along,)))
        return [(np.asarray(term.coefficient), ()), *found]

    def read(self, factor: Factor, node: Node) -> Named:
        """One factor in a slot of ``node``."""
        if factor.through is not None:  # an edge that evaluates itself; its nodes stand for it once
            edge = factor.through.operation
            if factor.through.slot != edge.leads:
                return np.ones(()), ()
            return edge.edge.evaluate(**self.operands(edge)), (R, *factor.dims)
        if factor.relation is not None:  # pairs of two dims
            i, j = np.ogrid[tuple(slice(self.sizes[dim]) for dim in factor.dims)]
            return {"upper": i < j, "distinct": i != j, "same": i == j}[factor.relation], factor.dims
        if factor.when:
            first = np.arange(self.sizes[factor.dims[0]]) < factor.lag
            return first if factor.when == FIRST else ~first, factor.dims
        if factor.constant is not None:
            array = factor.constant.toarray() if factor.is_sparse else factor.constant
            return array[self.places(factor)] if factor.lookups else array, factor.dims
        if factor.previous:
            return self.moved(node, self.values[node.name], factor.lag), (R, *factor.dims)
        value = self.values[factor.name]
        seen = value[:, *self.places(factor)] if factor.lookups else value
        return seen, (R, *factor.dims)

    def operands(self, edge: Operation) -> dict[str, Array]:
        """What stands in the slots of an edge that evaluates itself."""
        read = {slot: self.read(factor, None) for slot, factor in edge.operands.items()}  # type: ignore[arg-type]
        return {slot: a if R in dims else a[None] for slot, (a, dims) in read.items()}

    def places(self, factor: Factor) -> tuple[Array, ...]:
        """theta[author]: the entry that every row reads, as an index into all entries."""
        looked, out = {lookup.dim: lookup for lookup in factor.lookups}, []
        for dim in factor.entries:
            numbers, dims = np.arange(self.sizes.get(dim, 0)), (dim,)
            if dim in looked:
                dims = looked[dim].dims
                if isinstance(looked[dim], Earlier):  # rows some time before
                    numbers = np.maximum(np.arange(self.sizes[dims[0]]) - looked[dim].lag, 0)
                else:
                    numbers = self.network.indexes[looked[dim].name]
            order = [dims.index(each) for each in factor.own_dims if each in dims]
            shape = [self.sizes[each] if each in dims else 1 for each in factor.own_dims]
            out.append(numbers.transpose(order).reshape(shape))
        return tuple(out)

    def moved(self, node: Node, array: Array, lag: int) -> Array:
        """Row t of an array of a node at row t + lag, and zeros where no row comes."""
        axis = 1 + node.axes.index(self.wiring.connections.time_dim(node.name) or "")
        rows = np.moveaxis(array, axis, 0)
        out = np.zeros_like(rows)
        out[max(lag, 0) : len(rows) + min(lag, 0)] = rows[max(-lag, 0) : len(rows) - max(lag, 0)]
        return np.moveaxis(out, 0, axis)

    # ---- upward: every node tells its slots -----------------------------------------------

    def send(self, node: Node) -> None:
        """Draw the counts that a node sends, and share them out among what stands in its slots."""
        self.counts = {pair: n for pair, n in self.counts.items() if pair[0] != node.name}
        if find_link(node) is not None:
            self.behind[node.name] = self.counts_behind(node)
        for slot, rule in self.wiring.connections.rules_of(node).items():
            if rule.is_random:
                self.send_drawn(node, slot)
            elif isinstance(node, Observed) and rule.count == "count":
                self.share(node, slot, self.known(node, slot, self.behind[node.name]))

    def counts_behind(self, node: Node) -> Array:
        """The Poisson counts behind data: the data themselves, or what their link draws."""
        link, data = find_link(node), self.values[node.name]
        assert link is not None
        counts, cells = data.astype(np.int64), (data != 0) | link.all_cells
        if link.counts is not None:
            names = [name for name in signature(link.counts).parameters if name != "stream"]
            given = {n: np.broadcast_to(self.quantity(node, n), data.shape)[cells] for n in names}
            stream = Stream(0, (1, 1, cells.sum(), 1), variates=self.variates)
            wide = {name: value.reshape(stream.shape) for name, value in given.items()}
            counts = np.zeros(data.shape, np.int64)
            counts[cells] = np.ravel(link.counts(stream=stream, **wide))
        if node.name in self.missing and (node.name, link.slot) in self.wiring.rules:
            rate = self.slot(node, link.slot) * self.tell(node, link.slot, "exposure")
            imputed = vectorised.poisson(self.stream(node), self.wide(node, rate))
            counts = np.where(self.missing[node.name], imputed.reshape(data.shape), counts)
        return counts

    def send_drawn(self, node: Node, slot: str) -> None:
        """Draw what a rule tells a slot; of a node in time, from the last row to the first, each
        given what later rows sent to it."""
        rule, shape = self.wiring.rules[node.name, slot], self.values[node.name].shape
        self.from_later[node.name] = np.zeros(shape, np.int64)
        count, exposure = np.zeros(shape), np.zeros(shape)
        for part in reversed(self.rows(node)):
            told = self.ask(rule.count, node, part)
            if isinstance(told, Evidence):
                told, exposure[part] = told.count, self.narrow(node, told.exposure, part)
            count[part] = self.narrow(node, told, part)
            if not rule.is_quadratic:
                here = np.zeros(shape, np.int64)
                here[part] = count[part]
                self.share(node, slot, self.known(node, slot, here))
        self.drawn[node.name, slot] = Evidence(count, exposure)

    def share(self, node: Node, slot: str, counts: Array) -> None:
        """Share counts out among all summands of a slot, in proportion to them; every factor then
        receives the counts of the summands that it stands in."""
        terms = self.wiring.polynomials[node.name, slot].terms
        every = [(*node.axes, *term.contracted) for term in terms]
        weights = [self.sum(dims, *self.factors(node, slot, t)) for t, dims in zip(terms, every, strict=True)]
        flat = np.concatenate([weight.reshape(counts.size, -1) for weight in weights], axis=1)
        stream = Stream(0, (1, 1, *flat.shape), variates=self.variates)
        drawn = vectorised.multinomial(stream, counts.reshape(1, 1, -1, 1), flat[None, None], 3)
        ends = np.cumsum([weight.size // counts.size for weight in weights])[:-1]
        for term, dims, weight, own in zip(terms, every, weights, np.split(drawn[0, 0], ends, 1), strict=True):
            for factor in term.factors:
                if factor.is_node:
                    whole = own.reshape(weight.shape)
                    self.deliver(node, factor, self.sum(factor.dims, (whole, (R, *dims))))

    def deliver(self, node: Node, factor: Factor, counts: Array) -> None:
        """Give counts to a factor: to the row before, through an edge, or to a node."""
        if factor.previous:
            self.from_later[node.name] += self.moved(node, counts, -factor.lag).astype(np.int64)
        elif factor.through is None:
            self.add(node, factor, self.entries(factor, counts))
        elif factor.through.slot == factor.through.operation.leads:
            edge = factor.through.operation
            stream = Stream(0, (counts.shape[0], 1, 1, *counts.shape[1:]), variates=self.variates)
            found = edge.edge.split(stream, counts.astype(np.int64), **self.operands(edge))
            for slot, operand in edge.operands.items():
                if operand.is_node:
                    self.add(node, operand, found[slot])

    def add(self, node: Node, factor: Factor, counts: Array) -> None:
        pair = (node.name, factor.name)
        self.counts[pair] = self.counts.get(pair, 0) + counts.astype(np.int64)

    def entries(self, factor: Factor, seen: Array) -> Array:
        """What the rows that read a node received, added up for each of its entries."""
        if not factor.lookups:
            return seen
        out = np.zeros((len(seen), *(self.sizes[dim] for dim in factor.entries)))
        np.add.at(out, (slice(None), *self.places(factor)), seen)
        return out

    # ---- what a node receives -------------------------------------------------------------

    def count(self, name: str) -> Array:
        """All counts that a node received: those that were sent, and those that are computed."""
        sources = self.wiring.sources[name]
        total = self.from_later.get(name, 0) + np.zeros(self.values[name].shape)
        for child in dict.fromkeys(s.child.name for s in sources if s.is_delivered):
            total = total + self.counts[child, name]
        for source in (source for source in sources if not source.is_delivered):
            told = self.tell(source.child, source.slot, "count"), (R, *source.child.axes)
            total = total + self.entries(source.factor, self.sum(source.factor.dims, told))
        return total

    def exposure(self, name: str) -> Array:
        """The exposure of a node: what each child tells, times all that stands in a product with
        the node. Of a node in time, row t also receives that of row t + lag, so that it is found
        from the last row to the first."""
        node, connections = self.nodes[name], self.wiring.connections
        own = np.zeros(self.values[name].shape)
        for source in self.wiring.sources[name]:
            told = self.tell(source.child, source.slot, "exposure")
            own = own + self.heard(source, told)
        total = own
        for slot, rule in connections.rules_of(node).items():
            polynomial = self.wiring.polynomials[name, slot]
            lagged = [term for term in polynomial.terms if term.phase == LATER]
            for _ in range(self.sizes[polynomial.along] if polynomial.along else 0):
                told, total = self.tell(node, slot, "exposure", exposure=total), own
                for term in lagged:
                    before = next(factor for factor in term.factors if factor.previous)
                    source = Source(node, slot, rule, polynomial, term, before)
                    total = total + self.moved(node, self.heard(source, told), -term.lag)
        return total

    def heard(self, source: Source, told: Array) -> Array:
        """An exposure told by all cells of a child, as the entries of a factor receive it."""
        child, term, factor = source.child, source.term, source.factor
        others = self.factors(child, source.slot, term, but=factor)
        seen = self.sum(factor.dims, (told, (R, *child.axes)), *others, over=term.contracted)
        if factor.through is None:
            return self.entries(factor, seen)
        edge, slot = factor.through.operation, factor.through.slot
        given = {other: array for other, array in self.operands(edge).items() if other != slot}
        return np.asarray(edge.edge.expose(slot, seen, self.values[factor.name].shape, **given))

    def tell(self, node: Node, slot: str, part: str, **known: Array) -> Array:
        """The count or the exposure that a node tells a slot, at all its cells: what was drawn, a
        function of quantities, one of these, or a number."""
        rule = self.wiring.rules[node.name, slot]
        source = getattr(rule, part)
        if rule.drawn is not None:
            found = getattr(self.drawn[node.name, slot], part)
        elif isinstance(source, str):
            found = self.quantity(node, source)
        else:
            found = self.narrow(node, self.ask(source, node, **known) if callable(source) else source)
        return self.known(node, slot, np.broadcast_to(found, self.values[node.name].shape))

    def known(self, node: Node, slot: str, told: Array) -> Array:
        """Nothing at missing cells, whose imputed counts are evidence about their rate alone."""
        link = find_link(node)
        if node.name not in self.missing or link is None or link.slot == slot:
            return told
        return np.where(self.missing[node.name], 0, told)

    def quantity(self, node: Node, name: str) -> Array:
        """What a rule may name: value, count, exposure, or a slot."""
        if name == "value":
            return self.values[node.name]
        if name == "count":
            return self.behind[node.name] if isinstance(node, Observed) else self.count(node.name)
        return self.exposure(node.name) if name == "exposure" else self.slot(node, name)

    # ---- downward: every node is drawn given what it received -----------------------------

    def draw(self, step: Step) -> None:
        """Draw a node: all of it, one row after another, or one entry after another with what is
        integrated over this entry."""
        node = self.nodes[step.node]
        if step.in_turn is not None:
            for number in range(self.sizes[step.in_turn.dim]):
                for name, dim in step.in_turn.members.items():
                    self.draw_part(self.nodes[name], self.at(self.nodes[name], dim, number))
        elif isinstance(node, Latent) and node.finite and len(self.rows(node)) > 1:
            self.draw_states(node)
        else:
            for part in self.rows(node):
                self.draw_part(node, part)

    def draw_part(self, node: Node, part: Any) -> None:
        """Draw some entries of a node by its rule: new parameters of its own family, or a kernel
        that gives new values."""
        rule, given = self.wiring.draws[node.name], {}
        if node.name in self.wiring.completed:
            given["count"] = self.completed(node)
        if not rule.kernel:
            self.generate(node, part, **self.ask(rule.posterior, node, part, **given))
        elif rule.hears and rule.kind == QUADRATIC:
            self.put(node, WHOLE, self.draw_jointly(node))
        else:
            self.put(node, part, self.ask(rule.posterior, node, part))

    def generate(self, node: Node, part: Any = WHOLE, **slots: Array) -> None:
        """Draw some entries of a node given its slots, those of a posterior or its own."""
        own = {slot: self.wide(node, self.slot(node, slot))[part]
               for slot in node.slots() if slot not in slots}  # fmt: skip
        self.put(node, part, node.generate(self.stream(node, part), **own, **slots))

    def completed(self, node: Node) -> Array:
        """Counts of proportions φ whose exposure q differs among entries: with pseudo-counts
        y ~ Pois((max q − q) φ) it is the same for all, and has no influence on φ."""
        q, value = self.exposure(node.name), self.values[node.name]
        over = tuple(1 + node.axes.index(dim) for dim in node.sums_over)
        lacking = (q.max(axis=over, keepdims=True) - q) * value
        pseudo = vectorised.poisson(self.stream(node), self.wide(node, lacking))
        return self.count(node.name) + pseudo.reshape(value.shape)

    def draw_jointly(self, node: Node) -> Array:
        """All entries x of a node in linear predictors ψ = Σ g x + rest. Cells with the likelihoods
        exp(κψ − ½ωψ²) tell x the quadratic form exp(bᵀx − ½xᵀAx)."""
        rule, (vector, matrix) = self.wiring.draws[node.name], self.quadratic(node)
        lines = (self.sizes[R], 1, -1)
        known = {"count": vector[:, None], "exposure": matrix[:, None]}
        for name in set(rule.reads) - {"count", "exposure"}:
            known[name] = self.quantity(node, name).reshape(lines)
        stream = Stream(0, (self.sizes[R], 1, *known["count"].shape[1:]), variates=self.variates)
        return np.asarray(rule.posterior(stream=stream, **known))

    def quadratic(self, node: Node) -> tuple[Array, Array]:
        """b and A of all entries of a node. A predictor is linear in them: what entry d is
        multiplied by is how the slot changes when x_d goes from 0 to 1."""
        before, shape = self.values[node.name], self.values[node.name].shape
        units = np.eye(prod(shape[1:])).reshape(-1, 1, *shape[1:])
        vector, matrix = np.zeros((shape[0], len(units))), np.zeros((shape[0], *[len(units)] * 2))
        slots = {(s.child.name, s.slot): s.child for s in self.wiring.sources[node.name]}
        for (_, slot), child in slots.items():
            kappa, omega = (self.tell(child, slot, p).reshape(shape[0], -1) for p in ("count", "exposure"))
            found = []
            for unit in (np.zeros(shape), *units):
                self.values[node.name] = np.broadcast_to(unit, shape)
                found.append(self.slot(child, slot).reshape(shape[0], -1))
            self.values[node.name] = before
            rest, design = found[0], np.array(found[1:]) - found[0]
            vector += np.einsum("rc,drc->rd", kappa - omega * rest, design)
            matrix += np.einsum("rc,drc,erc->rde", omega, design, design)
        return vector, matrix

    def draw_states(self, node: Node) -> None:
        """Hidden states z in time: α_t(k) ∝ F_k(x_t) Σ_l α_{t−1}(l) P_t(l, k) forward, and backward
        z_t ~ α_t(k) P_{t+1}(k, z_{t+1}); F and P are read off with all rows in one state."""
        name, (slot,) = node.name, node.slots()
        conditional, before = Conditional(self, node), self.values[name]
        time, state = 1 + node.axes.index(self.time(node)), 1 + node.axes.index(node.simplex or "")
        order = ((time, state), (0, -1))
        every = choices(before.shape, state)
        logs = np.concatenate([conditional(z, prior=False).reshape(z.shape[:state] + (1,) + z.shape[state + 1:]) for z in every], state)
        moves = []
        for self.values[name] in every:
            moves.append(np.moveaxis(self.slot(node, slot), *order))
        fit = np.moveaxis(logs, *order)
        fit = np.exp(fit - fit.max(axis=-1, keepdims=True))
        move = np.stack(moves, axis=-2)  # (time, …, from, to)
        filtered, ahead = [], move[0, ..., 0, :]
        for t in range(len(fit)):
            weight = fit[t] * ahead
            filtered.append(weight / weight.sum(axis=-1, keepdims=True))
            ahead = (filtered[t][..., None] * move[min(t + 1, len(fit) - 1)]).sum(axis=-2)
        states, weight = [], filtered[-1]
        for t in reversed(range(len(fit))):
            stream = Stream(0, (1, 1, weight.size // len(every), len(every)), variates=self.variates)
            with np.errstate(divide="ignore"):
                z = vectorised.categorical(stream, np.log(weight).reshape(stream.shape), 3)
            states.append(z.reshape(weight.shape))
            if t:
                weight = filtered[t - 1] * (move[t] * states[-1][..., None, :]).sum(axis=-1)
        self.values[name] = np.moveaxis(np.stack(states[::-1]).astype(np.float64), (0, -1), (time, state))

    # ---- parts of nodes, and how rules see them -------------------------------------------

    def time(self, node: Node) -> str:
        return self.wiring.connections.time_dim(node.name) or ""

    def rows(self, node: Node) -> list[Any]:
        """The parts of a node that are drawn one after another: rows in time, or all at once."""
        along = self.time(node)
        return [self.at(node, along, t) for t in range(self.sizes[along])] if along else [WHOLE]

    def at(self, node: Node, dim: str, number: int) -> Any:
        after = len(node.axes) - node.axes.index(dim) - 1
        return (..., slice(number, number + 1), *(slice(None),) * after)

    def wide(self, node: Node, array: Array) -> Array:
        """As rules see it: (replicate, d1, d2, d3), with axes of size 1 in front of the dims."""
        return array.reshape(len(array), *(1,) * (3 - len(node.axes)), *array.shape[1:])

    def narrow(self, node: Node, found: Any, part: Any = WHOLE) -> Array:
        own = self.values[node.name][part].shape
        return np.broadcast_to(found, self.wide(node, np.empty(own)).shape).reshape(own)

    def stream(self, node: Node, part: Any = WHOLE) -> Stream:
        shape = tuple(self.sizes[dim] for dim in (R, *node.axes))
        shape = self.wide(node, np.broadcast_to(0, shape)[part]).shape
        first = len(shape) - len(node.axes)
        axes = tuple(first + node.axes.index(dim) for dim in node.sums_over) or (len(shape) - 1,)
        return Stream(0, shape, simplex=axes if len(axes) > 1 else axes[0], variates=self.variates)

    def ask(self, function: Any, node: Node, part: Any = WHOLE, **known: Any) -> Any:
        """What a function of a rule makes of the quantities that it names."""
        given: dict[str, Any] = {}
        for name in signature(function).parameters:
            if name == "stream":
                given[name] = self.stream(node, part)
            elif name == "log_conditional":
                given[name] = Conditional(self, node)
            else:
                value = known[name] if name in known else self.quantity(node, name)
                given[name] = self.wide(node, value)[part]
        return function(**given)

    def put(self, node: Node, part: Any, drawn: Array) -> None:
        shape = tuple(self.sizes[dim] for dim in (R, *node.axes))
        value = np.array(self.values.get(node.name, np.zeros(shape)), np.float64)
        value[part] = np.asarray(drawn).reshape(value[part].shape)
        self.values[node.name] = value

    def density(self, node: Node, kept: tuple[str, ...]) -> Array:
        """ln p(node | its slots), summed over all dims but those ``kept``."""
        slots: dict[str, Any] = {slot: self.wide(node, self.slot(node, slot)) for slot in node.slots()}
        if node.sums_over:
            slots["axis"] = self.stream(node).simplex
        each = node.log_density(self.wide(node, self.values[node.name]), **slots)
        each = self.narrow(node, each)
        each = np.where(self.missing.get(node.name, False), 0.0, each)
        return self.sum(kept, (each, (R, *node.axes)))


class Conditional:
    """ln p(value | all else) of a node that is drawn by a kernel, one number for every entry, or
    for all entries together along the axes ``coupled``."""

    def __init__(self, chain: Reference, node: Node) -> None:
        self.chain, self.node, self.support = chain, node, node.support
        connections = chain.wiring.connections
        coupled = coupled_dims(connections, node)
        first = max(4 - len(node.axes), 1)
        self.coupled = tuple(first + node.axes.index(dim) for dim in coupled)
        self.kept = tuple(dim for dim in node.axes if dim not in (*coupled, *node.sums_over))
        self.children = [
            (child, tuple(names_in(factors_of(connections, node.name, child)[0])[d] for d in self.kept))
            for child in connections.children[node.name].values()
        ]

    def __call__(self, value: Array, prior: bool = True) -> Array:
        chain, name = self.chain, self.node.name
        before = chain.values[name]
        chain.values[name] = np.asarray(value, np.float64).reshape(before.shape)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            total = sum(chain.density(*child) for child in self.children)
            total = total + chain.density(self.node, self.kept) if prior else total
        chain.values[name] = before
        sizes = (chain.sizes[dim] if dim in self.kept else 1 for dim in self.node.axes)
        return chain.wide(self.node, np.asarray(total).reshape(len(before), *sizes))
