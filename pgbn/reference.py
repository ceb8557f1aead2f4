"""The sampler in one file: a sweep of any network, in plain numpy, for small dense data.

A network is a graph of nodes. A node has slots, as a Gamma has a shape and a rate, in which other
nodes stand in sums of products. One sweep is Algorithm 1 of the Poisson gamma belief network (Zhou,
Cong & Chen 2015), made general:

    upward     Every node sends what stands in its slots a count m and an exposure q: the likelihood
               λ^m e^{−qλ} of a value λ. A count of a sum is shared out among the summands by a
               multinomial. The counts of a gamma that is integrated out become tables of a Chinese
               restaurant, which are counts for its shape.
    downward   Every node adds up the evidence that it received, and is drawn given it.

The rules of each type (`pgbn.nodes.rules`) say what a node sends to its slots, and how it is drawn.
The network (`pgbn.network`) brings every slot to a sum of products, y = Σ_terms c Σ_contracted Π
factors, and derives the order of the steps. `pgbn.reference_arrays` evaluates such sums by einsum.
What remains is here. `pgbn.engine` draws from the same law by compiled kernels, much faster.

``net.sample(data, engine="reference")`` runs it, without a compiler. It covers all operations, but
data must be arrays that fit into memory: no `pgbn.Corpus`.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

import numpy as np

from pgbn.network.connections import Source
from pgbn.network.network import Network
from pgbn.network.steps import Step
from pgbn.network.terms import LATER
from pgbn.nodes.base import Latent, Node, Observed
from pgbn.nodes.categorical import choices
from pgbn.nodes.rules import QUADRATIC, Evidence, find_link
from pgbn.reference_arrays import WHOLE, Array, R, WholeArrays
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream


class Reference(WholeArrays):
    """A chain, or several: the ``values`` of all nodes as (replicate, *dims), and what was sent up.

    ``values`` includes the data. ``variates`` draws random numbers, see `pgbn.samplers.plain`.
    ``missing`` marks unknown cells of data, which every sweep imputes."""

    number: Any = np.int64  # counts are whole; expectations of them need not be

    def __init__(
        self, network: Network, values: Mapping[str, Array], sizes: Mapping[str, int],
        variates: Any, missing: Mapping[str, Array] | None = None, replicates: int = 1,
    ) -> None:  # fmt: skip
        super().__init__(network, values, sizes, variates, missing, replicates)
        self.counts: dict[tuple[str, str], Array] = {}  # from a child to what stands in its slots
        self.from_later: dict[str, Array] = {}  # counts that rows of a node sent to earlier ones
        self.drawn: dict[tuple[str, str], Evidence] = {}  # evidence that was drawn, by slot
        self.behind: dict[str, Array] = {}  # the Poisson counts behind data

    def sweep(self) -> None:
        """All steps, in the order that the network derived and checked."""
        for step in self.network.schedule:
            if step.upward:
                self.send(self.nodes[step.node])
            else:
                self.draw(step)

    # ---- upward: every node sends evidence -----------------------------------------------

    def send(self, node: Node) -> None:
        """Draw the counts that a node sends, and share them out among what stands in its slots."""
        self.counts = {pair: n for pair, n in self.counts.items() if pair[0] != node.name}
        if find_link(node) is not None:
            self.behind[node.name] = self.counts_behind(node)
        for slot, rule in self.wiring.connections.rules_of(node).items():
            if rule.is_random:
                self.send_drawn(node, slot)
            elif isinstance(node, Observed) and rule.count == "count":
                self.share(node, slot, self.without_imputed(node, slot, self.behind[node.name]))

    def counts_behind(self, node: Node) -> Array:
        """The Poisson counts behind data: the data, what their link draws, or what is imputed."""
        link, data = find_link(node), self.values[node.name]
        assert link is not None
        counts = data.astype(self.number)
        if link.counts is not None:
            cells = (data != 0) | link.all_cells
            stream = Stream(0, (1, 1, int(cells.sum()), 1), variates=self.variates)
            given = {name: np.broadcast_to(self.quantity(node, name), data.shape)[cells]
                     for name in signature(link.counts).parameters if name != "stream"}  # fmt: skip
            wide = {name: value.reshape(stream.shape) for name, value in given.items()}
            counts[~cells], counts[cells] = 0, np.ravel(link.counts(stream=stream, **wide))
        if node.name in self.missing and (node.name, link.slot) in self.wiring.rules:
            rate = self.slot(node, link.slot) * self.evidence(node, link.slot, "exposure")
            imputed = vectorised.poisson(self.stream(node), self.wide(node, rate))
            counts = np.where(self.missing[node.name], imputed.reshape(data.shape), counts)
        return counts

    def send_drawn(self, node: Node, slot: str) -> None:
        """Draw what a rule sends to a slot.

        Rows of a node in time are drawn from last to first, each given the counts that later rows
        sent to it."""
        rule, shape = self.wiring.rules[node.name, slot], self.values[node.name].shape
        self.from_later[node.name] = np.zeros(shape, self.number)
        count, exposure = np.zeros(shape), np.zeros(shape)
        for part in reversed(self.parts(node)):
            sent = self.ask(rule.count, node, part)
            if isinstance(sent, Evidence):
                sent, exposure[part] = sent.count, self.narrow(node, sent.exposure, part)
            count[part] = self.narrow(node, sent, part)
            if not rule.is_quadratic:
                here = np.zeros(shape, self.number)
                here[part] = count[part]
                self.share(node, slot, self.without_imputed(node, slot, here))
        self.drawn[node.name, slot] = Evidence(count, exposure)

    def share(self, node: Node, slot: str, counts: Array) -> None:
        """Share counts out among all summands of a slot, in proportion to them. Every factor then
        receives the counts of the summands in which it stands."""
        terms = self.wiring.polynomials[node.name, slot].terms
        axes = [(*node.axes, *term.contracted) for term in terms]
        weights = [
            self.sum(a, *self.factors(node, slot, t)) for t, a in zip(terms, axes, strict=True)
        ]
        flat = np.concatenate([weight.reshape(counts.size, -1) for weight in weights], axis=1)
        stream = Stream(0, (1, 1, *flat.shape), variates=self.variates)
        drawn = vectorised.multinomial(stream, counts.reshape(1, 1, -1, 1), flat[None, None], 3)
        ends = np.cumsum([weight.size // counts.size for weight in weights])[:-1]
        for term, dims, weight, own in zip(
            terms, axes, weights, np.split(drawn[0, 0], ends, axis=1), strict=True
        ):
            for factor in (factor for factor in term.factors if factor.is_node):
                found = self.sum(factor.dims, (own.reshape(weight.shape), (R, *dims)))
                found = found.astype(self.number)
                if factor.previous:
                    self.from_later[node.name] += self.moved(node, found, -factor.lag)
                    continue
                for name, received in self.received(factor, found).items():
                    pair = (node.name, name)
                    self.counts[pair] = self.counts.get(pair, 0) + received

    # ---- what a node receives, and what it sends ------------------------------------------

    def count(self, name: str) -> Array:
        """The counts that a node received: those that were sent, and those that are computed."""
        total = self.from_later.get(name, 0) + np.zeros(self.values[name].shape)
        total += sum(n for (_, parent), n in self.counts.items() if parent == name)
        for source in self.wiring.sources[name]:
            if not source.is_delivered:
                sent = (self.evidence(source.child, source.slot, "count"), (R, *source.child.axes))
                total += self.entries(source.factor, self.sum(source.factor.dims, sent))
        return total

    def exposure(self, name: str) -> Array:
        """The exposure of a node, from all its children. Row t of a node in time also receives it
        from row t + lag: after as many rounds as there are rows, all have what they receive."""
        node, own = self.nodes[name], np.zeros(self.values[name].shape)
        for source in self.wiring.sources[name]:
            own += self.through(source, self.evidence(source.child, source.slot, "exposure"))
        total = own
        for slot, rule in self.wiring.connections.rules_of(node).items():
            polynomial = self.wiring.polynomials[name, slot]
            lagged = [(term, factor) for term in polynomial.terms if term.phase == LATER
                      for factor in term.factors if factor.previous]  # fmt: skip
            for _ in range(self.sizes[polynomial.along] if polynomial.along else 0):
                sent, total = self.evidence(node, slot, "exposure", exposure=total), own
                for term, before in lagged:
                    found = self.through(Source(node, slot, rule, polynomial, term, before), sent)
                    total = total + self.moved(node, found, -term.lag)
        return total

    def through(self, source: Source, sent: Array) -> Array:
        """The exposure of a factor: what the child sends, times the other factors of the term."""
        child, term, factor = source.child, source.term, source.factor
        others = self.factors(child, source.slot, term, but=factor)
        seen = self.sum(factor.dims, (sent, (R, *child.axes)), *others, over=term.contracted)
        return self.exposed(factor, seen)

    def evidence(self, node: Node, slot: str, part: str, **given: Array) -> Array:
        """The "count" or the "exposure" that a node sends to a slot, at all cells: drawn before, a
        number, a quantity by its name, or a function of some."""
        rule, shape = self.wiring.rules[node.name, slot], self.values[node.name].shape
        found = getattr(rule, part)
        if rule.drawn is not None:
            found = getattr(self.drawn[node.name, slot], part)
        elif callable(found):
            found = self.narrow(node, self.ask(found, node, **given))
        elif isinstance(found, str):
            found = self.quantity(node, found)
        return self.without_imputed(node, slot, np.broadcast_to(found, shape))

    def without_imputed(self, node: Node, slot: str, sent: Array) -> Array:
        """The counts or exposures ``sent``, but 0 at missing cells if ``slot`` is not the rate.

        Imputed counts are evidence about the rate alone."""
        link = find_link(node)
        if node.name not in self.missing or link is None or link.slot == slot:
            return sent
        return np.where(self.missing[node.name], 0, sent)

    def quantity(self, node: Node, name: str) -> Array:
        """What a rule may name: value, count, exposure, or a slot."""
        if name == "value":
            return self.values[node.name]
        if name == "count":
            return self.behind[node.name] if isinstance(node, Observed) else self.count(node.name)
        return self.exposure(node.name) if name == "exposure" else self.slot(node, name)

    def ask(self, function: Any, node: Node, part: Any = WHOLE, **given: Any) -> Any:
        """What a function of a rule makes of the quantities that it names."""
        names, found = signature(function).parameters, dict[str, Any]()
        for name in names:
            if name == "stream":
                found[name] = self.stream(node, part)
            elif name == "log_conditional":
                found[name] = self.log_conditional(node)
            else:
                value = given[name] if name in given else self.quantity(node, name)
                found[name] = self.wide(node, value)[part]
        return function(**found)

    # ---- downward: every node is drawn given what it received -----------------------------

    def draw(self, step: Step) -> None:
        """Draw a node: all of it; rows in time, the first one first; hidden states in time; or one
        entry after another, each with what was drawn with this entry integrated out."""
        node = self.nodes[step.node]
        if step.sequential is not None:
            for number in range(self.sizes[step.sequential.dim]):
                for name, dim in step.sequential.members.items():
                    self.draw_part(self.nodes[name], self.parts(self.nodes[name], dim)[number])
        elif isinstance(node, Latent) and node.finite and len(self.parts(node)) > 1:
            self.draw_states(node)
        else:
            for part in self.parts(node):
                self.draw_part(node, part)

    def draw_part(self, node: Node, part: Any) -> None:
        """Draw by the rule of a node: new parameters of its family, or the values of a kernel."""
        rule = self.wiring.draws[node.name]
        if rule.kernel and rule.receives and rule.kind == QUADRATIC:
            self.put(node, WHOLE, self.draw_jointly(node))
        elif rule.kernel:
            self.put(node, part, self.ask(rule.posterior, node, part))
        else:
            given = {"count": self.completed(node)} if node.name in self.wiring.completed else {}
            self.generate(node, part, **self.ask(rule.posterior, node, part, **given))

    def generate(self, node: Node, part: Any = WHOLE, **updated: Array) -> None:
        """Draw from the family of a node, given its slots, or those that evidence ``updated``."""
        own = [slot for slot in node.slots() if slot not in updated]
        slots = {slot: self.wide(node, self.slot(node, slot))[part] for slot in own} | updated
        self.put(node, part, node.generate(self.stream(node, part), **slots))

    def completed(self, node: Node) -> Array:
        """Counts of proportions φ whose exposure q is not the same for all entries. It is with
        pseudo-counts y ~ Pois((max q − q) φ), and then leaves no trace, since φ sums to one."""
        q, value = self.exposure(node.name), self.values[node.name]
        over = tuple(1 + node.axes.index(dim) for dim in node.sums_over)
        lacking = (q.max(axis=over, keepdims=True) - q) * value
        pseudo = vectorised.poisson(self.stream(node), self.wide(node, lacking))
        return self.count(node.name) + pseudo.reshape(value.shape)

    def draw_jointly(self, node: Node) -> Array:
        """The entries x of a node in linear predictors, given exp(bᵀx − ½xᵀAx)."""
        rule, (vector, matrix) = self.wiring.draws[node.name], self.quadratic(node)
        given = {"count": vector[:, None], "exposure": matrix[:, None]}
        for name in rule.reads:
            if name not in given:
                given[name] = np.reshape(self.quantity(node, name), vector[:, None].shape)
        stream = Stream(0, (len(vector), 1, 1, vector.shape[1]), variates=self.variates)
        return np.asarray(rule.posterior(stream=stream, **given))

    def quadratic(self, node: Node) -> tuple[Array, Array]:
        """b and A, from cells with the likelihoods exp(κψ − ½ωψ²). A predictor ψ = Σ g x + rest is
        linear: g_d is how much it grows when x_d grows from 0 to 1."""
        before = self.values[node.name]
        copies, size = len(before), before[0].size
        vector, matrix = np.zeros((copies, size)), np.zeros((copies, size, size))
        for child, slot in {(s.child, s.slot) for s in self.wiring.sources[node.name]}:
            sent = [self.evidence(child, slot, part) for part in ("count", "exposure")]
            kappa, omega = (each.reshape(copies, -1) for each in sent)
            psi = []
            for x in (np.zeros(size), *np.eye(size)):
                self.values[node.name] = np.broadcast_to(x.reshape(before.shape[1:]), before.shape)
                psi.append(self.slot(child, slot).reshape(copies, -1))
            self.values[node.name] = before
            g = np.array(psi[1:]) - psi[0]
            vector += np.einsum("rc,drc->rd", kappa - omega * psi[0], g)
            matrix += np.einsum("rc,drc,erc->rde", omega, g, g)
        return vector, matrix

    def draw_states(self, node: Node) -> None:
        """Hidden states in time, all at once: their weights F_k(x_t) and moves P_t(l, k) are read
        off the network at the values "every row is in state k"."""
        name, (slot,), before = node.name, node.slots(), self.values[node.name]
        time = 1 + node.axes.index(self.wiring.connections.time_dim(name) or "")
        state = 1 + node.axes.index(node.simplex or "")
        log_density, weights, moves = self.log_conditional(node), [], []
        for choice in choices(before.shape, state):
            weights.append(log_density(choice, own=False).reshape(np.delete(before.shape, state)))
            self.values[name] = choice
            moves.append(np.moveaxis(self.slot(node, slot), (time, state), (0, -1)))
        rows = np.moveaxis(np.stack(weights, axis=-1), time - (state < time), 0)
        drawn = self.variates.states(rows, np.stack(moves, axis=-2))
        self.values[name] = np.moveaxis(drawn, (0, -1), (time, state))
