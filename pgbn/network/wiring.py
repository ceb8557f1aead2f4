"""Wiring: who hears what from whom, worked out from the graph before any array exists.

For every latent node: the sources of its evidence (`connections`); the exposure that it will hear
(`exposures`); what reading that evidence conditions on and what it leaves out (`reads`). The
checks that need all three are made here.
"""

from __future__ import annotations

from collections.abc import Collection

from pgbn.errors import MissingRuleError, NetworkError
from pgbn.network.connections import Connections
from pgbn.network.exposures import Exposures
from pgbn.network.kernels import check_kernel
from pgbn.network.positivity import leave_no_gap
from pgbn.network.reads import OthersRead, Reads
from pgbn.network.sumproduct import in_words
from pgbn.network.terms import ALWAYS, FIRST, LATER, Factor
from pgbn.nodes.base import Latent, Node
from pgbn.nodes.rules.draws import kinds_heard, way_out

__all__ = ["Wiring"]


class Wiring:
    """The static analysis of a network; ``nodes`` in topological order, parents first.

    The nodes ``held`` have given values, see `Connections`. Those that are ``completed`` sum to one
    over a dim along which their exposure q varies. They are drawn given pseudo-counts that bring it
    to its maximum, y_v ~ Pois((q̄ − q_v) φ_v), and these are forgotten at once: such a draw reads
    the node's own value, and whatever else the exposure is made of.
    """

    def __init__(
        self, nodes: dict[str, Node], held: Collection[str] = (), above: bool = True
    ) -> None:
        self.connections = Connections(nodes, held, above)
        self.exposures = Exposures(self.connections)
        self.reads = Reads(self.connections, self.exposures)
        self.nodes, self.held = nodes, self.connections.held
        self.polynomials, self.rules = self.connections.polynomials, self.connections.rules
        self.sources = self.connections.sources
        for name in self.sources:
            self._check_node(nodes[name])
        self.draws = self.connections.draws
        self.completed = frozenset(
            name
            for name in self.sources
            if self.draws[name].constant_over_simplex and self.exposures.varies_over_simplex(name)
        )
        for name in self.completed:
            self._check_completed(nodes[name])
        for name in self.sources:
            self._check_reads(name)
        for node in nodes.values():
            for slot in node.positive_slots:
                if (node.name, slot) in self.polynomials:
                    self._check_positive(node, slot)

    def counts_are_integer(self, name: str) -> bool:
        """Whether all counts that a node hears are integers."""
        return all(source.rule.is_integer for source in self.sources[name])

    def _check_node(self, node: Node) -> None:
        sources = self.sources[node.name]
        if self.connections.children.get(node.name):
            check_kernel(self.connections, node)
            self._check_leaves_zero(node)
            return
        if not sources:
            raise NetworkError(
                f"{node.name}: nothing depends on it; leave it out of the network, or put it in a "
                "slot of another node"
            )
        kinds = {source.rule.kind for source in sources}
        if len(kinds) > 1:
            raise MissingRuleError(
                f"{node.name} would hear evidence of different kinds: {kinds}{way_out(node)}"
            )
        if not kinds <= set(kinds_heard(node)):
            raise MissingRuleError(f"{node.name} cannot hear {kinds} evidence")
        for slot in node.slots():
            rule = self.rules.get((node.name, slot))
            if rule is None:
                continue
            if rule.is_random and "count" in rule.count_reads:
                self._check_integer(node, slot)
            if rule.unit_exposure:
                self._check_unit(node, slot)
            if rule.drawn is not None and self.polynomials[node.name, slot].along is not None:
                self._check_passed_back(node, slot)
        if self.connections.draws[node.name].kernel:
            check_kernel(self.connections, node)

    def _check_leaves_zero(self, node: Node) -> None:
        """Refuse a hidden count and a gamma that would keep each other at 0 for ever."""
        if not isinstance(node, Latent) or node.support != "whole":
            return
        for child in self.connections.children[node.name].values():
            for slot in child.zero_with:
                named = node.name in self.polynomials[child.name, slot].names
                if named and not self.is_positive(child, slot):
                    raise NetworkError(
                        f"{node.name} stands in the {slot} of {child.name}, which is "
                        f"{getattr(child, slot)} and can be 0: then {child.name} is 0, and a "
                        f"{child.name} of 0 keeps {node.name} at 0 for ever. Add a positive number "
                        f"to it, as in {slot}=0.1 + {node.name}; or let the two be drawn together: "
                        f"pgbn.RandomisedGamma({child.name!r}, rate of {node.name}, rate)"
                    )

    def _check_integer(self, node: Node, slot: str) -> None:
        for source in self.sources[node.name]:
            if not source.rule.is_integer:
                names = self.polynomials[node.name, slot].names
                parents = ", ".join(names) or f"the row before of {node.name}"
                raise MissingRuleError(
                    f"{parents} stands in the {slot} of {node.name}, but {node.name} hears a "
                    f"real-valued count from the {source.slot} of {source.child.name}, and only "
                    f"integer counts can be passed on; make {slot} of {node.name} a number"
                )

    def _check_reads(self, name: str) -> None:
        """The evidence of a node may not depend on its value, nor on what it integrates out."""
        in_turn = self.connections.in_turn
        read = {
            read.name
            for read in self.reads.of_evidence(name)
            # an entry is drawn given the others, and so is what is integrated over that entry
            if not (isinstance(read, OthersRead) and name in in_turn[read.name].members)
        }
        wrong = sorted(read & (self.reads.marginalised(name) | {name}))
        if wrong:
            children = ", ".join(dict.fromkeys(s.child.name for s in self.sources[name]))
            weight = any(source.term.phase == LATER for source in self.sources[name])
            once = "" if weight else f"use {name} in one place only, or "
            raise MissingRuleError(
                f"{name} has no conjugate update: what it hears from {children} depends on "
                f"{', '.join(wrong)}, which its update would change or integrate out; {once}make "
                f"{name} a number{way_out(self.nodes[name])}"
            )
        slots: dict[str, set[str]] = {}
        for source in self.sources[name]:
            slots.setdefault(source.child.name, set()).add(source.slot)
        for child, used in slots.items():
            if len(used) > 1:
                raise MissingRuleError(
                    f"{name} stands in the slots {', '.join(sorted(used))} of {child}, which has "
                    f"no conjugate update; use another node in one of them"
                    f"{way_out(self.nodes[name])}"
                )

    def may_be_zero(self, name: str) -> bool:
        """Whether a node's value can be exactly 0: a gate, or a gamma that a gate switches off. A
        given value is known, and looked at when it is there."""
        node = self.nodes[name]
        if name in self.held:
            return node.has_zeros
        return node.has_zeros or any(not self.is_positive(node, slot) for slot in node.zero_with)

    def is_positive(self, node: Node, slot: str) -> bool:
        """Whether a slot is always positive: by one term, by one where two dims are the same and
        another where they are not, or by constants that are 0 in different places."""
        found: dict[tuple[str | int, ...], set[str]] = {}
        for term in self.polynomials[node.name, slot].terms:
            pairs = [f for f in term.factors if f.relation is not None or f.when]
            if len(pairs) < 2 and all(
                (factor.simplex and set(factor.simplex) <= set(term.contracted))
                or self._factor_is_positive(factor)
                for factor in term.factors  # what sums to one is somewhere positive
            ):
                if not pairs:
                    return True
                pair = pairs[0]
                lag = pair.lag if pair.when else 0
                key: tuple[str | int, ...] = (*sorted(pair.dims), lag)
                found.setdefault(key, set()).add(pair.relation or pair.when)
        if any(r >= {"same", "distinct"} or r >= {FIRST, LATER} for r in found.values()):
            return True
        return leave_no_gap(
            term
            for term in self.polynomials[node.name, slot].terms
            if term.phase == ALWAYS
            and all(
                factor.constant is not None or (factor.is_node and self._factor_is_positive(factor))
                for factor in term.factors
            )
        )

    def _factor_is_positive(self, factor: Factor) -> bool:
        if factor.through is not None:
            operation = factor.through.operation
            return operation.edge.positive and all(
                self._factor_is_positive(each) for each in operation.operands.values()
            )
        if factor.constant is not None:
            return bool(factor.constant.min() > 0)
        return factor.previous or not factor.is_node or not self.may_be_zero(factor.name)

    def _check_positive(self, node: Node, slot: str) -> None:
        if not self.is_positive(node, slot):
            rule = self.rules.get((node.name, slot))
            handed_on = rule is not None and rule.count == "count" and isinstance(node, Latent)
            sums = rule is None or (rule.kind == "poisson" and rule.is_integer and not handed_on)
            remedies = [f"add a positive number to it, as in {slot}=... + 0.1"] if sums else []
            for parent in map(self.nodes.get, self.polynomials[node.name, slot].names):
                if parent is not None and parent.has_zeros:
                    remedies.append("put the gate into the shape of a Gamma")
                elif parent is not None and self.may_be_zero(parent.name):
                    added = " and ".join(parent.zero_with)
                    remedies.append(f"add a positive number to the {added} of {parent.name}")
            remedies = remedies or ["make its constants positive"]
            raise NetworkError(
                f"{node.name}: {slot} = {getattr(node, slot)} can be 0, and a {slot} must be "
                f"positive; {', or '.join(dict.fromkeys(remedies))}"
            )

    def _check_unit(self, node: Node, slot: str) -> None:
        heard = self.exposures.heard(node.name)
        lagged = self.connections.time_dim(node.name) is not None
        several = any(source.factor.lookups for source in self.sources[node.name])
        if lagged or several or not (len(heard) == 1 and heard[0].is_one):
            parent = self.polynomials[node.name, slot].names[0]
            given = "passed on from row to row" if lagged else in_words(heard)
            given = "as large as the number of rows that read it" if several else given
            raise MissingRuleError(
                f"{parent} is the {slot} of {node.name}, whose exposure is {given} instead of 1, "
                f"so the beta prior is not conjugate; "
                f"make {parent} a Gamma: pgbn.Gamma({parent!r}, 1, 1, dims=...)"
                f"{way_out(self.nodes[parent])}"
            )

    def _check_passed_back(self, node: Node, slot: str) -> None:
        """A row of proportions hears from the next row an exposure that must be the same for all
        its entries."""
        if node.simplex in self.exposures.passed_back_dims(node, slot):
            raise MissingRuleError(
                f"{node.name}: {slot} = {getattr(node, slot)} weighs the entries of the row before "
                f"differently along {node.simplex!r}, so that what a row passes back varies over "
                f"{node.simplex!r} and its Dirichlet is not conjugate; let the weights be the same "
                f"along {node.simplex!r}"
            )

    def _check_completed(self, node: Node) -> None:
        """The pseudo-counts of a node are drawn given its value, so that nobody may integrate it
        out."""
        heard = [p for s in self.sources[node.name] for p in self.exposures.source_exposure(s)
                 if not s.dims_of(p.dims).isdisjoint(node.sums_over)]  # fmt: skip
        over = ", ".join(map(repr, node.sums_over))
        why = (
            f"{node.name} sums to one over {over}, and the exposure that it hears "
            f"({in_words(heard)}) varies over {over}"
        )
        if any(node.name in step.members for step in self.connections.in_turn.values()):
            raise MissingRuleError(
                f"{why}, but its entries are drawn in turn, given each other; make {node.name} a "
                "Gamma"
            )
        for slot, rule in self.connections.rules_of(node).items():
            if rule.relation == "collapsed":
                names = self.polynomials[node.name, slot].names
                raise MissingRuleError(
                    f"{why}: it is drawn given pseudo-counts that read its value, and "
                    f"{', '.join(names) or 'its row before'} in its {slot} would be drawn with it "
                    f"integrated out; make {slot} of {node.name} a number, let the exposure be the "
                    f"same along {over}, or make {node.name} a Gamma"
                )
