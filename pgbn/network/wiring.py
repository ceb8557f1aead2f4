"""Wiring: who hears what from whom, worked out from the graph before any array exists.

For every latent node: the sources of its evidence; the exposure that it will hear
(`pgbn.network.exposures`); what reading that evidence conditions on and what it leaves out
(`pgbn.network.reads`). All checks that need no data are made here.
"""

from __future__ import annotations

from itertools import combinations

from pgbn.errors import MissingRuleError, NetworkError
from pgbn.network.exposures import Source
from pgbn.network.reads import Reads
from pgbn.network.sumproduct import describe, operand_of, reduce_product
from pgbn.network.terms import LATER, Polynomial, lower
from pgbn.nodes.base import Latent, Node, Observed
from pgbn.nodes.rules.registry import find_draw, find_evidence, find_link, kinds_heard
from pgbn.nodes.rules.types import EvidenceRule, names_read

__all__ = ["Wiring"]


class Wiring(Reads):
    """The static analysis of a network; ``nodes`` in topological order, parents first."""

    def __init__(self, nodes: dict[str, Node]) -> None:
        self.nodes = nodes
        self.polynomials = {
            (node.name, slot): lower(node, slot) for node in nodes.values() for slot in node.slots()
        }
        for kind in {type(node) for node in nodes.values()}:
            _check_named_slots(kind)
        self.rules = {}
        self.sources = {node.name: [] for node in nodes.values() if isinstance(node, Latent)}
        for node in nodes.values():
            for slot in node.slots():
                self._connect(node, slot)
            self._check_drawn(node)
        self._heard = {}
        for name in self.sources:
            self._check_node(nodes[name])
        for name in self.sources:
            self._check_reads(name)
        for node in nodes.values():
            for slot in node.positive_slots:
                self._check_positive(node, slot)

    # ---- connections ------------------------------------------------------------------

    def _connect(self, node: Node, slot: str) -> None:
        polynomial = self.polynomials[node.name, slot]
        parents = [self.nodes[name] for name in polynomial.names]
        latent = [parent for parent in parents if isinstance(parent, Latent)]
        for parent in parents:
            if isinstance(parent, Observed):
                raise NetworkError(
                    f"{node.name}: {slot}: {parent.name} is observed; only latent nodes and "
                    "constants may stand in a slot"
                )
        if polynomial.along is not None and isinstance(node, Observed):
            raise NetworkError(
                f"{node.name}: {slot} holds a Shift, but {node.name} is observed; put the chain "
                "into a latent Gamma above it"
            )
        if not latent and polynomial.along is None:
            return
        rule = None
        for parent in latent or (node,):
            found = find_evidence(node, slot, parent)
            if rule is not None and found is not rule:
                raise MissingRuleError(
                    f"{node.name}: {slot} mixes {', '.join(p.name for p in latent)}, which hear "
                    "different kinds of evidence; a product of them has no conjugate update"
                )
            rule = found
        assert rule is not None
        self.rules[node.name, slot] = rule
        self._check_rule(node, slot, rule, polynomial)
        if rule.kind != "poisson":
            term = polynomial.terms[0]
            if not (polynomial.is_plain and len(term.factors) == 1 and term.coefficient == 1.0):
                raise MissingRuleError(
                    f"{node.name}: {slot}: {latent[0].name} must stand alone there; "
                    "a product or sum with it has no conjugate update"
                )
        elif not rule.is_integer and not polynomial.is_plain:
            raise MissingRuleError(
                f"{node.name}: {slot} is a sum ({getattr(node, slot)}), which has no conjugate "
                "update in this slot; use a single node or product"
            )
        if rule.normalised:
            self._check_normalised(node, slot, polynomial)
        for term in polynomial.terms:
            for factor in term.factors:
                if factor.name in self.sources:
                    source = Source(node, slot, rule, polynomial, term, factor)
                    self.sources[factor.name].append(source)

    def _check_rule(
        self, node: Node, slot: str, rule: EvidenceRule, polynomial: Polynomial
    ) -> None:
        """Refuse what no step could carry out."""
        names = rule.count_reads + rule.exposure_reads
        if isinstance(node, Observed) and "count" in names and find_link(node) is None:
            kind = type(node).__name__
            raise MissingRuleError(
                f"{node.name}: the rule for its {slot} reads 'count', but {kind} has no link to "
                f"counts; read 'value', or register pgbn.counts_are_data({kind}, ...) or a "
                f"@pgbn.link_rule({kind}, ...)"
            )
        chained = rule.is_random and callable(rule.exposure)
        if polynomial.along is not None and not chained:
            raise MissingRuleError(
                f"{node.name}: {slot} holds a Shift, but the rule of {type(node).__name__} for "
                f"{slot} cannot be passed from row to row; chains run through the shape of a Gamma"
            )
        handed_on = rule.count == "count" and isinstance(node, Latent)
        if handed_on and rule.kind == "poisson" and not polynomial.is_plain:
            raise MissingRuleError(
                f"{node.name}: {slot} is a sum ({getattr(node, slot)}), and counts that are handed "
                "on as they are cannot be shared out; use a single node or product"
            )

    def _check_drawn(self, node: Node) -> None:
        """Refuse two draws that depend on each other's slot. Each rule draws on its own: once the
        one slot is redrawn given its own draw, the other draw belongs to an old value."""
        rules = self.rules_of(node)
        reads = {slot: rule.count_reads for slot, rule in rules.items() if rule.is_random}
        link = find_link(node)
        if link is not None and link.counts is not None:
            reads[link.slot] = names_read(link.counts)
        for one, other in combinations(reads, 2):
            mutual = one in reads[other] and other in reads[one]
            if mutual and not any("count" in reads[slot] for slot in (one, other)):
                raise MissingRuleError(
                    f"{node.name}: the rules of {type(node).__name__} for {one!r} and {other!r} "
                    "both draw, and each reads the slot of the other, so that no order of the draws"
                    " is right; make what they draw a node of its own, or the counts of a "
                    f"link_rule, or make {one} or {other} a number"
                )

    def _check_normalised(self, node: Node, slot: str, polynomial: Polynomial) -> None:
        assert node.simplex is not None
        for term in polynomial.terms:
            total = reduce_product(
                term.coefficient, map(operand_of, term.factors), (node.simplex, *term.contracted)
            )
            if not total.is_one or len(polynomial.terms) > 1:
                raise NetworkError(
                    f"{node.name}: {slot} = {getattr(node, slot)} does not sum to one over "
                    f"{node.simplex!r} by construction; use Dirichlet factors, or a Poisson node"
                )

    # ---- checks -----------------------------------------------------------------------

    def counts_are_integer(self, name: str) -> bool:
        """Whether all counts that a node hears are integers."""
        return all(source.rule.is_integer for source in self.sources[name])

    def _check_node(self, node: Node) -> None:
        sources = self.sources[node.name]
        if not sources:
            raise NetworkError(
                f"{node.name}: nothing depends on it; leave it out of the network, or put it in a "
                "slot of another node"
            )
        kinds = {source.rule.kind for source in sources}
        if len(kinds) > 1:
            raise MissingRuleError(f"{node.name} would hear evidence of different kinds: {kinds}")
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
        if find_draw(node, kinds.pop()).constant_over_simplex:
            self._check_constant(node)

    def _check_integer(self, node: Node, slot: str) -> None:
        for source in self.sources[node.name]:
            if not source.rule.is_integer:
                parents = ", ".join(self.polynomials[node.name, slot].names)
                raise MissingRuleError(
                    f"{parents} stands in the {slot} of {node.name}, but {node.name} hears a "
                    f"real-valued count from the {source.slot} of {source.child.name}, and only "
                    f"integer counts can be passed on; make {slot} of {node.name} a number"
                )

    def _check_reads(self, name: str) -> None:
        """The evidence of a node may not depend on its value, nor on what it integrates out."""
        read = {read.name for read in self.evidence_reads(name)}
        wrong = sorted(read & (self.marginalised(name) | {name}))
        if wrong:
            children = ", ".join(dict.fromkeys(s.child.name for s in self.sources[name]))
            weight = any(source.term.phase == LATER for source in self.sources[name])
            once = "" if weight else f"use {name} in one place only, or "
            raise MissingRuleError(
                f"{name} has no conjugate update: what it hears from {children} depends on "
                f"{', '.join(wrong)}, which its update would change or integrate out; {once}make "
                f"{name} a number"
            )
        slots: dict[str, set[str]] = {}
        for source in self.sources[name]:
            slots.setdefault(source.child.name, set()).add(source.slot)
        for child, used in slots.items():
            if len(used) > 1:
                raise MissingRuleError(
                    f"{name} stands in the slots {', '.join(sorted(used))} of {child}, which has "
                    f"no conjugate update; use another node in one of them"
                )

    def may_be_zero(self, name: str) -> bool:
        """Whether a node's value can be exactly 0: a gate, or a gamma that a gate switches off."""
        node = self.nodes[name]
        return node.has_zeros or any(not self.is_positive(node, slot) for slot in node.zero_with)

    def is_positive(self, node: Node, slot: str) -> bool:
        """Whether some term of a slot is always positive."""
        return any(
            all(
                (factor.constant > 0).all()
                if factor.constant is not None
                else factor.name == "self" or not self.may_be_zero(factor.name)
                for factor in term.factors
            )
            for term in self.polynomials[node.name, slot].terms
        )

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
        heard = self.exposure(node.name)
        chained = self.chain_dim(node.name) is not None
        if chained or not (len(heard) == 1 and heard[0].is_one):
            parent = self.polynomials[node.name, slot].names[0]
            given = "passed on from row to row" if chained else describe(heard)
            raise MissingRuleError(
                f"{parent} is the {slot} of {node.name}, whose exposure is {given} instead of 1, "
                f"so the beta prior is not conjugate; "
                f"make {parent} a Gamma: pgbn.Gamma({parent!r}, 1, 1, dims=...)"
            )

    def _check_constant(self, node: Node) -> None:
        for source in self.sources[node.name]:
            for product in self.source_exposure(source):
                if node.simplex not in {source.own[dim] for dim in product.dims}:
                    continue
                raise MissingRuleError(
                    f"{node.name} sums to one over {node.simplex!r}, but the exposure that it "
                    f"hears from {source.child.name} ({describe([product])}) varies over "
                    f"{node.simplex!r}, so the Dirichlet is not conjugate; let the rates of "
                    f"{source.child.name} be the same along {node.simplex!r}, or make "
                    f"{node.name} a Gamma"
                )


def _check_named_slots(kind: type[Node]) -> None:
    """Refuse a type that says something about a slot which it has not."""
    for attribute in ("positive_slots", "zero_with", "real_slots"):
        for slot in getattr(kind, attribute):
            if slot not in kind.slots():
                raise NetworkError(
                    f"{kind.__name__}.{attribute} names {slot!r}, which is no slot; its slots are "
                    f"{', '.join(kind.slots())}"
                )
