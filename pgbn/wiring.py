"""Wiring: who hears what from whom, worked out from the graph before any array exists.

For every latent node: the sources of its evidence; the exposure that it will hear, as a sum
of products with known dims; what reading that evidence conditions on, and what it leaves out.
All checks that need no data are made here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pgbn.errors import MissingRuleError, NetworkError
from pgbn.nodes.base import Latent, Node, Observed
from pgbn.registry import DrawRule, EvidenceRule, find_draw, find_evidence, find_link, kinds_heard
from pgbn.terms import FIRST, LATER, Factor, Polynomial, Term, lower

__all__ = ["Operand", "Read", "Source", "SumProduct", "Wiring"]


@dataclass(frozen=True)
class Read:
    """A value that a step conditions on; ``summed`` if only its sum over these dims is used."""

    name: str
    summed: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class Operand:
    """An array inside a sum of products.

    ``kind``: "node" (a value), "previous" (a chain's value one row before), "constant",
    "first" (1 in the first row of a chain, 0 in the others),
    "count" (what the node hears), "rule count" and "exposure" (what node ``name`` passes to
    ``slot``), "rest" (the exposure of the rows of a chain in which ``phase`` counts).
    """

    kind: str
    name: str
    dims: tuple[str, ...]
    simplex: str | None = None
    constant: NDArray[np.float64] | None = None
    slot: str = ""
    phase: str = ""
    own_dims: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class SumProduct:
    """coefficient · (sizes of ``repeated``) · Σ_summed Π operands, with dims ``dims``."""

    coefficient: float
    operands: tuple[Operand, ...]
    dims: tuple[str, ...]
    summed: tuple[str, ...]
    repeated: tuple[str, ...]

    @property
    def is_one(self) -> bool:
        return not self.operands and not self.repeated and self.coefficient == 1.0


def reduce_product(
    coefficient: float, operands: Iterable[Operand], over: Iterable[str]
) -> SumProduct:
    """Sum a product over dims; a factor that sums to one over a dim of its own drops out."""
    remaining, left = list(operands), dict.fromkeys(over)
    dropped = True
    while dropped:
        dropped = False
        for operand in remaining:
            others = {dim for other in remaining if other is not operand for dim in other.dims}
            dim = operand.simplex
            if dim is not None and dim in left and dim not in others:
                remaining.remove(operand)
                del left[dim]
                dropped = True
                break
    present = dict.fromkeys(dim for operand in remaining for dim in operand.dims)
    return SumProduct(
        coefficient,
        tuple(remaining),
        tuple(dim for dim in present if dim not in left),
        tuple(dim for dim in left if dim in present),
        tuple(dim for dim in left if dim not in present),
    )


@dataclass(frozen=True, eq=False)
class Source:
    """One way in which ``child`` informs a parent: a factor of a term of a slot."""

    child: Node
    slot: str
    rule: EvidenceRule
    polynomial: Polynomial
    term: Term
    factor: Factor


class Wiring:
    """The static analysis of a network; ``nodes`` in topological order, parents first."""

    def __init__(self, nodes: dict[str, Node]) -> None:
        self.nodes = nodes
        self.polynomials = {
            (node.name, slot): lower(node, slot) for node in nodes.values() for slot in node.slots()
        }
        self.rules: dict[tuple[str, str], EvidenceRule] = {}
        self.sources: dict[str, list[Source]] = {
            node.name: [] for node in nodes.values() if isinstance(node, Latent)
        }
        for node in nodes.values():
            for slot in node.slots():
                self._connect(node, slot)
        self._exposures: dict[str, tuple[SumProduct, ...]] = {}
        for name in self.sources:
            self._check_node(nodes[name])

    @cached_property
    def draws(self) -> dict[str, DrawRule]:
        """The draw rule of every latent node."""
        return {
            name: find_draw(self.nodes[name], sources[0].rule.kind)
            for name, sources in self.sources.items()
        }

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

    def _check_normalised(self, node: Node, slot: str, polynomial: Polynomial) -> None:
        assert node.simplex is not None
        for term in polynomial.terms:
            total = reduce_product(
                term.coefficient, map(_operand, term.factors), (node.simplex, *term.contracted)
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

    def _check_unit(self, node: Node, slot: str) -> None:
        heard = self.exposure(node.name)
        if not (len(heard) == 1 and heard[0].is_one):
            parent = self.polynomials[node.name, slot].names[0]
            raise MissingRuleError(
                f"{parent} is the {slot} of {node.name}, whose exposure is "
                f"{self.describe(heard)} instead of 1, so the beta prior is not conjugate; "
                f"make {parent} a Gamma: pgbn.Gamma({parent!r}, 1, 1, dims=...)"
            )

    def _check_constant(self, node: Node) -> None:
        for source in self.sources[node.name]:
            for product in self.source_exposure(source):
                if node.simplex not in product.dims:
                    continue
                raise MissingRuleError(
                    f"{node.name} sums to one over {node.simplex!r}, but the exposure that it "
                    f"hears from {source.child.name} ({self.describe([product])}) varies over "
                    f"{node.simplex!r}, so the Dirichlet is not conjugate; let the rates of "
                    f"{source.child.name} be the same along {node.simplex!r}, or make "
                    f"{node.name} a Gamma"
                )

    def describe(self, heard: Iterable[SumProduct]) -> str:
        """An exposure in words, for messages and `explain`."""
        parts = []
        for product in heard:
            factors = [f"size of {dim}" for dim in product.repeated]
            factors += [
                f"exposure({o.name}.{o.slot})" if o.kind in ("exposure", "rest") else o.name
                for o in product.operands
            ]
            if product.coefficient != 1.0 or not factors:
                factors.insert(0, f"{product.coefficient:g}")
            text = " · ".join(factors)
            parts.append(f"Σ_{','.join(product.summed)} {text}" if product.summed else text)
        return " + ".join(parts)

    # ---- exposures --------------------------------------------------------------------

    def exposure(self, name: str) -> tuple[SumProduct, ...]:
        """The exposure that a latent node hears, one sum of products for each source."""
        if name not in self._exposures:
            self._exposures[name] = tuple(
                product for source in self.sources[name] for product in self.source_exposure(source)
            )
        return self._exposures[name]

    def source_exposure(self, source: Source) -> tuple[SumProduct, ...]:
        """The exposure that comes through one source, in the dims of the parent."""
        rule, child, term = source.rule, source.child, source.term
        others = tuple(_operand(f, child) for f in term.factors if f is not source.factor)
        over = self._over(source)
        if isinstance(rule.exposure, (int, float)):
            coefficient = term.coefficient * rule.exposure
            return (reduce_product(coefficient, others, over),) if coefficient else ()
        if isinstance(rule.exposure, str):
            return self.named_sum(rule.exposure, child, over, others, term.coefficient)
        operand = self.rule_operand(child, source.slot, term.phase)
        return (reduce_product(term.coefficient, (operand, *others), over),)

    @staticmethod
    def is_delivered(source: Source) -> bool:
        """Whether the count of a source was drawn and shared out on the way up."""
        rule = source.rule
        return rule.is_random or (rule.count == "count" and isinstance(source.child, Observed))

    def source_count(self, source: Source) -> tuple[SumProduct, ...]:
        """The count that comes through one source and is computed when it is read."""
        rule, child, over = source.rule, source.child, self._over(source)
        if rule.count == "count":
            own = Operand("count", child.name, child.axes, own_dims=child.axes)
            return (reduce_product(1.0, (own,), over),)
        if isinstance(rule.count, str):
            return self.named_sum(rule.count, child, over)
        dims = self._named_dims(child, rule.count_reads)
        ordered = tuple(dim for dim in child.axes if dim in dims)
        own = Operand("rule count", child.name, ordered, slot=source.slot)
        return (reduce_product(1.0, (own,), over),)

    def named_sum(
        self,
        name: str,
        child: Node,
        over: Iterable[str],
        others: tuple[Operand, ...] = (),
        coefficient: float = 1.0,
    ) -> tuple[SumProduct, ...]:
        """``child``'s value, or one of its slots, times other operands, summed over dims."""
        if name == "value":
            own = Operand("node", child.name, child.axes, child.simplex, own_dims=child.axes)
            return (reduce_product(coefficient, (own, *others), over),)
        polynomial = self.polynomials[child.name, name]
        return tuple(
            reduce_product(
                coefficient * term.coefficient,
                (*(_operand(factor, child) for factor in term.factors),
                 *_first_row(child, polynomial, term), *others),
                (*over, *term.contracted),
            )
            for term in polynomial.terms
        )  # fmt: skip

    def _over(self, source: Source) -> tuple[str, ...]:
        """The dims that are summed on the way from the child's cells to the parent's entries."""
        every = dict.fromkeys((*source.child.slot_axes(source.slot), *source.term.contracted))
        return tuple(dim for dim in every if dim not in source.factor.dims)

    def rule_operand(self, child: Node, slot: str, phase: str = "") -> Operand:
        """The exposure that ``child`` passes to ``slot``, before it is spread over factors."""
        along = self.polynomials[child.name, slot].along
        kind = "rest" if along is not None else "exposure"
        return Operand(kind, child.name, self.rule_dims(child, slot), slot=slot, phase=phase)

    def rule_dims(self, child: Node, slot: str) -> tuple[str, ...]:
        """The dims of the exposure that ``child`` passes to ``slot``."""
        rule = self.rules[child.name, slot]
        polynomial = self.polynomials[child.name, slot]
        if rule.drawn is not None:
            return tuple(rule.drawn(child))
        dims: set[str] = {polynomial.along} if polynomial.along else set()
        dims |= self._named_dims(child, rule.exposure_reads)
        if polynomial.along is not None:
            dims |= self._chain_dims(child, polynomial, dims)
        return tuple(dim for dim in child.axes if dim in dims)

    def _named_dims(self, child: Node, names: Iterable[str]) -> set[str]:
        """The dims of what a rule of ``child`` makes from the named quantities."""
        dims: set[str] = set()
        for name in names:
            if name == "exposure":
                dims |= {dim for product in self.exposure(child.name) for dim in product.dims}
            elif name in ("value", "count"):
                dims |= set(child.axes)
            else:
                dims |= self.slot_dims(child, name)
        return dims

    def _chain_dims(self, child: Node, polynomial: Polynomial, dims: set[str]) -> set[str]:
        """What the rows of a chain add to the dims of each other's exposure."""
        added: set[str] = set()
        for _ in child.axes:
            base = Operand("rest", child.name, tuple(dims | added))
            for term in polynomial.terms:
                own = [factor for factor in term.factors if factor.name == "self"]
                if own:
                    others = [_operand(f, child) for f in term.factors if f is not own[0]]
                    every = dict.fromkeys((*child.axes, *term.contracted))
                    over = [dim for dim in every if dim not in own[0].dims]
                    product = reduce_product(1.0, [base, *others], over)
                    back = dict(zip(own[0].dims, child.axes, strict=True))
                    added |= {back[dim] for dim in product.dims}
        return added

    def slot_dims(self, node: Node, slot: str) -> set[str]:
        """The dims that a slot's value really has."""
        terms = self.polynomials[node.name, slot].terms
        dims = {dim for term in terms for dim in term.dims if dim not in term.contracted}
        along = self.polynomials[node.name, slot].along
        return dims | ({along} if along else set())

    # ---- what evidence reads and leaves out -------------------------------------------

    def product_reads(self, products: Iterable[SumProduct]) -> set[Read]:
        """The values that sums of products read."""
        reads: set[Read] = set()
        for product in products:
            for operand in product.operands:
                if operand.kind in ("node", "previous"):
                    names = dict(zip(operand.dims, operand.own_dims, strict=True))
                    summed = frozenset(names[d] for d in operand.dims if d in product.summed)
                    alone = all(
                        not (set(other.dims) & set(product.summed) & set(operand.dims))
                        for other in product.operands
                        if other is not operand
                    )
                    reads.add(Read(operand.name, summed if alone else frozenset()))
                elif operand.kind in ("exposure", "rest"):
                    reads |= self.rule_reads(self.nodes[operand.name], operand.slot)
                elif operand.kind == "rule count":
                    rule = self.rules[operand.name, operand.slot]
                    reads |= self.named_reads(self.nodes[operand.name], rule.count_reads)
                elif operand.kind == "count":
                    reads |= self.count_reads(operand.name)
        return reads

    def rule_reads(self, child: Node, slot: str) -> set[Read]:
        """What the exposure that ``child`` passes to ``slot`` conditions on."""
        rule = self.rules[child.name, slot]
        if rule.drawn is not None:
            return {Read(f"counts({child.name})")}
        reads = self.named_reads(child, rule.exposure_reads)
        if self.polynomials[child.name, slot].along is not None:
            # the scan multiplies by the other factors of the lagged terms, never by the chain
            for term in self.polynomials[child.name, slot].terms:
                if term.phase == LATER:
                    own = next(f for f in term.factors if f.name == "self")
                    others = [_operand(f, child) for f in term.factors if f is not own]
                    over = [d for d in (*child.axes, *term.contracted) if d not in own.dims]
                    reads |= self.product_reads([reduce_product(1.0, others, over)])
        return reads

    def named_reads(self, child: Node, names: Iterable[str]) -> set[Read]:
        """What the quantities that a rule of ``child`` names condition on."""
        reads: set[Read] = set()
        for name in names:
            if name == "exposure":
                reads |= self.product_reads(self.exposure(child.name))
            elif name == "value":
                reads.add(Read(child.name))
            elif name == "count":
                reads |= self.count_reads(child.name)
            else:
                reads |= self.slot_reads(child, name)
        return reads

    def slot_reads(self, node: Node, slot: str) -> set[Read]:
        """The latent values that a slot's value reads."""
        polynomial = self.polynomials[node.name, slot]
        reads = {Read(name) for name in polynomial.names if name in self.sources}
        return reads | ({Read(node.name)} if polynomial.along is not None else set())

    def count_reads(self, name: str) -> set[Read]:
        """The drawn counts that make up the count heard by a node."""
        node = self.nodes[name]
        if isinstance(node, Observed):
            return {Read(f"counts({name})")}
        return {Read(f"counts({source.child.name})") for source in self.sources[name]}

    def evidence_reads(self, name: str) -> set[Read]:
        """Everything that the evidence heard by a node conditions on."""
        reads: set[Read] = set()
        constant = self.draws[name].constant_over_simplex
        for source in self.sources[name]:
            if self.is_delivered(source):
                reads.add(Read(f"counts({source.child.name})"))
            else:
                reads |= self.product_reads(self.source_count(source))
            if not constant:  # a constant exposure leaves no trace in a Dirichlet
                reads |= self.product_reads(self.source_exposure(source))
        return {read for read in reads if read.name in self.sources or "(" in read.name}

    def marginalised(self, name: str) -> set[str]:
        """The nodes that the evidence heard by a node integrates out."""
        out: set[str] = set()
        for source in self.sources[name]:
            if source.rule.relation == "collapsed" and isinstance(source.child, Latent):
                out |= {source.child.name} | self.marginalised(source.child.name)
        return out


def _first_row(child: Node, polynomial: Polynomial, term: Term) -> tuple[Operand, ...]:
    """What keeps the initial value of a chain to its first row."""
    if term.phase != FIRST or polynomial.along is None:
        return ()
    return (Operand("first", child.name, (polynomial.along,)),)


def _operand(factor: Factor, owner: Node | None = None) -> Operand:
    if factor.constant is not None:
        return Operand("constant", "constant", factor.dims, constant=factor.constant)
    if factor.name == "self":
        assert owner is not None
        return Operand("previous", owner.name, factor.dims, factor.simplex, own_dims=owner.axes)
    return Operand("node", factor.name, factor.dims, factor.simplex, own_dims=factor.own_dims)
