"""Connections: which rule connects each slot to the nodes in it, and who receives from whom.

A network that no step could carry out is rejected here, before any exposure is derived.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from pgbn.errors import MissingRuleError, NetworkError
from pgbn.network.lowering import lower
from pgbn.network.sequential_updates import find_sequential
from pgbn.network.sumproduct import operand_of, reduce_product
from pgbn.network.terms import ALWAYS, FIRST, LATER, Factor, Polynomial, Term
from pgbn.nodes.base import Latent, Node, Observed
from pgbn.nodes.rules import (
    DrawRule,
    EvidenceRule,
    begins_from_value,
    find_draw,
    find_evidence,
    find_link,
    find_value_rule,
    kernel_of,
    names_read,
    suggest_remedy,
)

# ---- linear predictors: slots that receive a quadratic form -------------------------------------
#
# A cell of a child with the predictor ψ = Σ_d g_d x_d + rest has the likelihood exp(κψ − ½ωψ²).
# The vector x receives exp(bᵀx − ½xᵀAx) from all cells, with A = Σ ω g gᵀ and
# b = Σ (κ − ω·rest) g. Its entries depend on each other along the dims that the predictor sums
# over, and are drawn jointly.


def check_linear(
    node: Node,
    slot: str,
    polynomial: Polynomial,
    hearing: Collection[str],
    suggest_remedy: Callable[[str], str],
) -> None:
    """Reject a slot that is not linear in each of the nodes which receive its evidence."""

    def reject(reason: str, remedy: str) -> MissingRuleError:
        return MissingRuleError(f"{node.name}: {slot} = {getattr(node, slot)}: {reason}; {remedy}")

    if polynomial.along is not None:
        raise reject(
            "a Shift has no joint update in a linear predictor",
            "give the row before as a fixed array: pgbn.Constant(…) @ a node",
        )
    seen: dict[str, Factor] = {}
    for term in polynomial.terms:
        own = [factor for factor in term.factors if factor.name in hearing]
        names = [factor.name for factor in own]
        for factor in own:
            if names.count(factor.name) > 1:
                raise reject(
                    f"{factor.name} stands twice in a product, which is not linear in it",
                    f"use it once, or use another node in one place{suggest_remedy(factor.name)}",
                )
            if factor.lookups:
                raise reject(
                    f"{factor.name} is read through {factor.lookups[0].name}",
                    "multiply by a fixed array of zeros and ones instead: "
                    f"pgbn.Constant(…) @ {factor.name}",
                )
            if seen.setdefault(factor.name, factor).dims != factor.dims:
                raise reject(
                    f"{factor.name} stands there with different dims",
                    f"use another node in one place{suggest_remedy(factor.name)}",
                )
        if any(factor.relation is not None for factor in term.factors):
            raise reject("pairs have no joint update", "use a fixed array of zeros and ones")


def joint_dims(node: Node, sources: Iterable[Source]) -> tuple[str, ...]:
    """The dims along which a node is drawn jointly, by its own names.

    They are the dims that a linear predictor with the node sums over."""
    summed = {
        source.own[dim]
        for source in sources
        for dim in source.factor.dims
        if dim not in source.child.axes
    }
    return tuple(dim for dim in node.axes if dim in summed)


# ---- connections --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Source:
    """One way in which ``child`` informs a parent: a factor of a term of a slot."""

    child: Node
    slot: str
    rule: EvidenceRule
    polynomial: Polynomial
    term: Term
    factor: Factor

    @cached_property
    def own(self) -> dict[str, str]:
        """The parent's own names of its dims, by those that they have in the child's slot."""
        return dict(zip(self.factor.dims, self.factor.own_dims, strict=True))

    def dims_of(self, dims: Iterable[str]) -> set[str]:
        """The parent's own dims along which evidence with these dims of the child varies.

        An entry that is read through categories receives evidence each time that it is named."""
        through = {dim for lookup in self.factor.lookups for dim in lookup.dims}
        looked = {lookup.dim for lookup in self.factor.lookups}
        return looked | ({self.own[dim] for dim in dims} - through)

    @property
    def is_delivered(self) -> bool:
        """Whether its count was drawn and shared out on the way up."""
        handed_on = self.rule.count == "count" and isinstance(self.child, Observed)
        return self.rule.is_random or handed_on


class Connections:
    """The rules and sources of a network; ``nodes`` in topological order, parents first.

    - ``polynomials`` are the normal forms of all slots.
    - ``rules`` are the evidence rules of the slots that contain latent nodes.
    - ``sources`` are the senders of the evidence of every latent node.
    - The latent nodes ``given`` have given values: they receive nothing, and slots read them as
      constants. Unless ``above``, the nodes in their own slots are omitted.
    - Nodes ``by_density`` are drawn by kernels from log densities, given their ``children``: they
      receive nothing.
    - Nodes drawn by such a kernel, or from their own value, are ``uncollapsed``: they cannot be
      integrated out.
    - Nodes ``sequential`` are drawn one entry after another.
    """

    def __init__(
        self, nodes: dict[str, Node], given: Collection[str] = (), above: bool = True
    ) -> None:
        self.nodes, self.given = nodes, frozenset(given)
        known = frozenset[str]() if above else self.given
        self.polynomials: dict[tuple[str, str], Polynomial] = {
            (node.name, slot): lower(node, slot)
            for node in nodes.values()
            if node.name not in known
            for slot in node.slots()
        }
        for kind in {type(node) for node in nodes.values()}:
            _check_named_slots(kind)
        self.rules: dict[tuple[str, str], EvidenceRule] = {}
        self.sources: dict[str, list[Source]] = {
            node.name: []
            for node in nodes.values()
            if isinstance(node, Latent) and node.name not in self.given
        }
        own = {name: kernel_of(nodes[name]) for name in self.sources}
        self.by_density = frozenset(n for n, rule in own.items() if rule and not rule.receives)
        self.uncollapsed = self.by_density | {
            n for n in self.sources if begins_from_value(nodes[n])
        }
        self.children: dict[str, dict[str, Node]] = {name: {} for name in self.by_density}
        for name, slot in self.polynomials:
            self._connect(nodes[name], slot)
        for node in nodes.values():
            self._check_drawn(node)
        self.sequential = find_sequential(self)

    def time_dim(self, name: str) -> str | None:
        """The dim along which a node depends on its own earlier rows, or None."""
        slots = [slot for slot in self.nodes[name].slots() if (name, slot) in self.polynomials]
        return next((a for slot in slots if (a := self.polynomials[name, slot].along)), None)

    def summed_dims(self, node: Node) -> list[str]:
        """The dims of a node, by its own names, that slots with it sum over."""
        return [
            dict(zip(factor.dims, factor.own_dims, strict=True))[dim]
            for polynomial in self.polynomials.values()
            for term in polynomial.terms
            for factor in term.factors
            if factor.name == node.name
            for dim in term.contracted
            if dim in factor.dims
        ]

    def rules_of(self, node: Node) -> dict[str, EvidenceRule]:
        """The rules by which a node informs the nodes in its slots."""
        return {s: self.rules[node.name, s] for s in node.slots() if (node.name, s) in self.rules}

    @cached_property
    def draws(self) -> dict[str, DrawRule]:
        """The draw rule of every latent node."""
        return {
            name: find_draw(self.nodes[name], sources[0].rule.kind if sources else "")
            for name, sources in self.sources.items()
        }

    def _connect(self, node: Node, slot: str) -> None:
        polynomial = self.polynomials[node.name, slot]
        parents = [self.nodes[name] for name in polynomial.names]
        latent = [p for p in parents if p.name in self.sources and p.name not in self.by_density]
        for parent in parents:
            if parent.name in self.by_density:
                self.children[parent.name][node.name] = node
        for parent in parents:
            if isinstance(parent, Observed):
                raise NetworkError(
                    f"{node.name}: {slot}: {parent.name} is observed; only latent nodes and "
                    "constants may stand in a slot. A hidden count is a pgbn.HiddenPoisson"
                )
        if polynomial.along is not None and isinstance(node, Observed):
            raise NetworkError(
                f"{node.name}: {slot} holds a Shift, but {node.name} is observed; put the chain "
                "into a latent Gamma above it"
            )
        if polynomial.along is not None and len(node.sums_over) > 1:
            raise MissingRuleError(
                f"{node.name} sums to one over {', '.join(node.sums_over)} together, but {slot} "
                "holds a Shift; chains of Dirichlets sum to one over one dim"
            )
        finite = isinstance(node, Latent) and node.finite
        if polynomial.along is not None and node.name in self.uncollapsed and not finite:
            row, kind = f"{node.name}_{polynomial.along}", type(node).__name__
            raise MissingRuleError(
                f"{node.name} is drawn by a kernel that begins from its value, or fixes what "
                f"depends on it, but {slot} holds a Shift, and the rows of a chain are drawn "
                "one after another; remove the kernel, or make every row a node: "
                f"{row}2 = {kind}('{row}2', …, {slot}={row}1), {row}3 = …"
            )
        if not latent and (polynomial.along is None or node.name in self.given):
            return
        rule = None
        for parent in latent or (node,):
            if node.name in self.given | self.uncollapsed:
                found = find_value_rule(node, slot, parent, self.given)
            else:
                found = find_evidence(node, slot, parent)
            if rule is not None and found is not rule:
                raise MissingRuleError(
                    f"{node.name}: {slot} mixes {', '.join(p.name for p in latent)}, which receive "
                    "different kinds of evidence; a product of them has no conjugate update"
                )
            rule = found
        assert rule is not None
        self.rules[node.name, slot] = rule
        self._check_rule(node, slot, rule, polynomial)
        if rule.is_quadratic:
            hearing = [parent.name for parent in latent]
            check_linear(
                node, slot, polynomial, hearing, lambda name: suggest_remedy(self.nodes[name])
            )
        elif rule.kind != "poisson":
            term = polynomial.terms[0]
            if not (polynomial.is_plain and len(term.factors) == 1 and term.coefficient == 1.0):
                raise MissingRuleError(
                    f"{node.name}: {slot}: {latent[0].name} must stand alone there; "
                    f"a product or sum with it has no conjugate update{suggest_remedy(latent[0])}"
                )
        elif not rule.is_integer and not polynomial.is_plain:
            raise MissingRuleError(
                f"{node.name}: {slot} is a sum ({getattr(node, slot)}), which has no conjugate "
                f"update in this slot; use a single node or product{suggest_remedy(latent[0])}"
            )
        if rule.normalised:
            self._check_normalised(node, slot, polynomial)
        for term in polynomial.terms:
            for factor in term.factors:
                if factor.name in self.sources and factor.name not in self.by_density:
                    source = Source(node, slot, rule, polynomial, term, factor)
                    self.sources[factor.name].append(source)

    def _check_rule(
        self, node: Node, slot: str, rule: EvidenceRule, polynomial: Polynomial
    ) -> None:
        """Reject a slot that no step could carry out."""
        names = rule.count_reads + rule.exposure_reads
        if isinstance(node, Observed) and "count" in names and find_link(node) is None:
            kind = type(node).__name__
            raise MissingRuleError(
                f"{node.name}: the rule for its {slot} reads 'count', but {kind} has no link to "
                f"counts; read 'value', or register pgbn.extend.counts_are_data({kind}, ...) or a "
                f"@pgbn.extend.link_rule({kind}, ...)"
            )
        finite = isinstance(node, Latent) and node.finite  # its rows send each other nothing
        known = rule.relation == "given" and isinstance(rule.exposure, (int, float))
        passed = callable(rule.exposure) or rule.drawn is not None or known
        chained = rule.is_random and (passed or finite)
        if polynomial.along is not None and not chained:
            given = rule.relation == "given" and rule.exposure == "value"
            row, kind = f"{node.name}_{polynomial.along}", type(node).__name__
            one = (
                f". Here a row would receive the value of the next one, so each must be drawn "
                "given the row before and the row after it, and no two at once: make every row a "
                f"node, {row}2 = pgbn.{kind}('{row}2', …, {slot}={row}1), {row}3 = …"
            )
            raise MissingRuleError(
                f"{node.name}: {slot} holds a Shift, but the rule of {type(node).__name__} for "
                f"{slot} cannot be passed from row to row; chains run through the shape of a "
                "Gamma, the concentration of a Dirichlet or the rate of a RandomisedGamma"
                f"{one if given else ''}"
            )
        if finite and polynomial.lags not in ((), (1,)):
            raise MissingRuleError(
                f"{node.name}: {slot} reads {node.name} {polynomial.lags[-1]} rows before, but "
                "hidden states are filtered given the row before; remove lag=, or let the "
                "states be pairs of states: over= of size K², a move from (k, l) to (l, m)"
            )
        handed_on = rule.count == "count" and isinstance(node, Latent)
        if handed_on and rule.kind == "poisson" and not polynomial.is_plain:
            raise MissingRuleError(
                f"{node.name}: {slot} is a sum ({getattr(node, slot)}), and counts that are passed "
                "on unchanged cannot be shared out; use a single node or product"
            )

    def _check_drawn(self, node: Node) -> None:
        """Reject two draws that depend on each other's slot.

        Each rule draws independently. When one slot is redrawn given its own draw, the other draw
        belongs to an old value."""
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
                    " is right; make what they draw a separate node, or the counts of a "
                    f"link_rule, or make {one} or {other} a number"
                )

    def _check_normalised(self, node: Node, slot: str, polynomial: Polynomial) -> None:
        assert node.simplex is not None
        for term in polynomial.terms:
            operands = [operand_of(factor, node) for factor in term.factors]
            over = (node.simplex, *term.contracted)
            total = reduce_product(term.coefficient, operands, over)
            rows = (FIRST, LATER) if polynomial.along is not None else (term.phase,)
            alone = sum(other.phase in (term.phase, ALWAYS) for other in polynomial.terms) == 1
            if not total.is_one or not alone or term.phase not in rows:
                raise NetworkError(
                    f"{node.name}: {slot} = {getattr(node, slot)} does not sum to one over "
                    f"{node.simplex!r} by construction; use Dirichlet factors, or a Poisson node"
                )


def _check_named_slots(kind: type[Node]) -> None:
    """Reject a type whose attributes name a slot that it does not have."""
    for attribute in ("positive_slots", "zero_with", "real_slots"):
        for slot in getattr(kind, attribute):
            if slot not in kind.slots():
                raise NetworkError(
                    f"{kind.__name__}.{attribute} names {slot!r}, which is not a slot; its slots "
                    f"are {', '.join(kind.slots())}"
                )
