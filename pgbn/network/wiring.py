"""Wiring: who receives what from whom, derived from the graph before any array exists.

It has three parts for every latent node:

- the sources of its evidence (`connections`);
- the exposure that it will receive (`exposures`);
- the values on which the evidence conditions, and those that it integrates out (`reads`).

The checks that need all three are made here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property
from string import ascii_letters

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from pgbn.errors import MissingRuleError, NetworkError
from pgbn.network.connections import Connections, Source
from pgbn.network.evidence import Exposures, OthersRead, Reads
from pgbn.network.sumproduct import in_words
from pgbn.network.terms import ALWAYS, FIRST, LATER, Factor, Term
from pgbn.nodes.base import Latent, Node
from pgbn.nodes.rules import kinds_received, suggest_remedy

# ---- positivity ---------------------------------------------------------------------------------
#
# A sum Σ_i w_i a_i with fixed w_i ≥ 0 and positive a_i is positive at a place if one of the w_i is.

Mask = tuple[tuple[str, ...], NDArray[np.bool_]]


def leave_no_gap(terms: Iterable[Term]) -> bool:
    """Whether one of the terms has only positive constants at every place."""
    masks = [_mask(term) for term in terms]
    dims = tuple(dict.fromkeys(dim for own, _ in masks for dim in own))
    covered = np.zeros((1,) * len(dims), bool)
    for own, mask in masks:
        order = [own.index(dim) for dim in dims if dim in own]
        shape = [mask.shape[own.index(dim)] if dim in own else 1 for dim in dims]
        try:
            covered = covered | mask.transpose(order).reshape(shape)
        except ValueError:  # sizes that do not agree; the check of the data rejects them
            return False
    return bool(covered.all())


def _mask(term: Term) -> Mask:
    """A mask of the places at which the constants of a term are positive for some summand.

    The result has the dims of the mask too."""
    every = [(f, f.constant > 0) for f in term.factors if f.constant is not None]
    if any(factor.lookups and not where.all() for factor, where in every):
        return (), np.asarray(False)  # only the data say which entries are read
    known = [(factor.dims, where) for factor, where in every
             if not factor.lookups and not factor.is_sparse]  # fmt: skip
    for factor in (factor for factor in term.factors if factor.is_sparse):
        elsewhere = {dim for own, _ in known for dim in own}
        summed = [dim for dim in factor.dims if dim in term.contracted and dim not in elsewhere]
        if not summed:  # a sparse matrix does not list its zeros
            return (), np.asarray(factor.constant.min() > 0)
        axis = factor.dims.index(summed[0])
        known.append(((factor.dims[1 - axis],), factor.constant.sum(axis=axis) > 0))
    letters = dict(zip(dict.fromkeys(d for own, _ in known for d in own), ascii_letters,
                       strict=False))  # fmt: skip
    dims = tuple(dim for dim in letters if dim not in term.contracted)
    names = ["".join(letters[dim] for dim in own) for own, _ in known]
    formula = f"{','.join(names)}->{''.join(letters[dim] for dim in dims)}"
    ones = [where.astype(np.int64) for _, where in known]
    return dims, np.asarray(np.einsum(formula, *ones) > 0 if known else True)


# ---- kernel rules: what a node drawn by a kernel requires of other nodes ------------------------
#
# A kernel from log densities moves every entry of a node by ln p(entry | slots) + Σ ln p(child |
# entry). Entries are independent given the rest, and move together, if every cell of every child
# depends on one of them: the child then has the dims of the node and no simplex along them.


def check_kernel(connections: Connections, node: Node) -> None:
    """Reject a node that its kernel cannot draw."""
    rule = connections.draws[node.name]
    how = f"update={rule.name!r}" if rule.name else f"the kernel rule of {type(node).__name__}"
    if rule.receives:
        return
    assert isinstance(node, Latent)
    if rule.reads_value and not node.support:
        raise NetworkError(
            f"{node.name}: {how}: the values of {type(node).__name__} cannot be moved by it; it is "
            "for positive values and probabilities"
        )
    coupled = coupled_dims(connections, node)
    if coupled and not rule.reads_value:
        raise MissingRuleError(
            f"{node.name}: {how} draws all entries at once, but along {coupled} they depend on "
            "each other given the rest; let what depends on it have these dims, without a sum"
        )


def factors_of(connections: Connections, name: str, child: Node) -> list[Factor]:
    """The factors that are a node in the slots of a child."""
    return [
        factor
        for slot in child.slots()
        for term in connections.polynomials[child.name, slot].terms
        for factor in term.factors
        if factor.name == name
    ]


def names_in(factor: Factor) -> dict[str, str]:
    """The names of a node's dims in this factor, without those read through categories."""
    through = {dim for lookup in factor.lookups for dim in lookup.dims}
    names = zip(factor.own_dims, factor.dims, strict=True)
    return {own: here for own, here in names if own not in through}


def coupled_dims(connections: Connections, node: Node) -> tuple[str, ...]:
    """The dims along which the entries of a node depend on each other given the rest.

    The simplex of the node is not included."""
    found: set[str] = set()
    for child in connections.children[node.name].values():
        factors = factors_of(connections, node.name, child)
        for factor in factors:
            lone = set(child.axes) - set(child.sums_over)
            found |= {own for own, here in names_in(factor).items() if here not in lone}
            along = connections.time_dim(child.name)
            found |= {own for own, here in names_in(factor).items() if here == along}
            found |= {lookup.dim for lookup in factor.lookups}
            for other in map(names_in, factors):  # φ_i φ_j: a cell depends on two entries
                found |= {own for own, here in names_in(factor).items() if other.get(own) != here}
    return tuple(dim for dim in node.axes if dim in found and dim not in node.sums_over)


# ---- wiring -------------------------------------------------------------------------------------


class Wiring:
    """The static analysis of a network; ``nodes`` in topological order, parents first.

    The nodes ``given`` have given values, see `Connections`. Nodes ``completed`` sum to one over a
    dim along which their exposure q varies. They are drawn given pseudo-counts that raise it to its
    maximum, y_v ~ Pois((q̄ − q_v) φ_v). The pseudo-counts are then discarded. Such a draw reads the
    node's own value and all parts of the exposure.
    """

    def __init__(
        self, nodes: dict[str, Node], given: Collection[str] = (), above: bool = True
    ) -> None:
        self.connections = Connections(nodes, given, above)
        self.exposures = Exposures(self.connections)
        self.reads = Reads(self.connections, self.exposures)
        self.nodes, self.given = nodes, self.connections.given
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

    @cached_property
    def graph(self) -> nx.DiGraph:
        """The nodes (attribute ``spec``) and their edges, parent → child (attribute ``slots``)."""
        graph = nx.DiGraph()
        for name, node in self.nodes.items():
            graph.add_node(name, spec=node)
        for (child, slot), polynomial in self.polynomials.items():
            for parent in polynomial.names:
                slots = graph.get_edge_data(parent, child, {"slots": ()})["slots"]
                graph.add_edge(parent, child, slots=(*slots, slot))
        return graph

    def counts_are_integer(self, name: str) -> bool:
        """Whether all counts that a node receives are integers."""
        return all(source.rule.is_integer for source in self.sources[name])

    def _check_node(self, node: Node) -> None:
        sources = self.sources[node.name]
        if self.connections.children.get(node.name):
            check_kernel(self.connections, node)
            self._check_leaves_zero(node)
            return
        if not sources:
            raise NetworkError(
                f"{node.name}: nothing depends on it; remove it from the network, or put it in a "
                "slot of another node"
            )
        kinds = {source.rule.kind for source in sources}
        if len(kinds) > 1:
            raise MissingRuleError(
                f"{node.name} would receive evidence of different kinds: {kinds}"
                + suggest_remedy(node)
            )
        if not kinds <= set(kinds_received(node)):
            raise MissingRuleError(f"{node.name} cannot receive {kinds} evidence")
        for source in sources:
            self._check_dims(source)
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
        """Reject a hidden count and a gamma that would keep each other at 0 for ever."""
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
                        f"to it, as in {slot}=0.1 + {node.name}; or draw the two together: "
                        f"pgbn.RandomisedGamma({child.name!r}, rate of {node.name}, rate)"
                    )

    def _check_dims(self, source: Source) -> None:
        """Reject evidence that varies along a dim of the child that its slot may not have."""
        child, slot, rule = source.child, source.slot, source.rule
        names = {*rule.count_reads, *rule.exposure_reads}
        allowed = child.slot_axes(slot)
        beyond = self.exposures.named_dims(child, names) - set(allowed)
        if beyond and not rule.is_random:
            raise MissingRuleError(
                f"{child.name}: slot_axes({slot!r}) of {type(child).__name__} is {allowed}, but "
                f"its rule for {slot} reads {', '.join(sorted(names))}, which also have the dims "
                f"{', '.join(sorted(beyond))}; remove slot_axes: a node in a slot may have fewer "
                "dims than the slot"
            )

    def _check_integer(self, node: Node, slot: str) -> None:
        for source in self.sources[node.name]:
            if not source.rule.is_integer:
                names = self.polynomials[node.name, slot].names
                parents = ", ".join(names) or f"the row before of {node.name}"
                raise MissingRuleError(
                    f"{parents} stands in the {slot} of {node.name}, but {node.name} receives a "
                    f"real-valued count from the {source.slot} of {source.child.name}, and only "
                    f"integer counts can be passed on; make {slot} of {node.name} a number"
                )

    def _check_reads(self, name: str) -> None:
        """Check that a node's evidence does not depend on its value or on nodes integrated out."""
        sequential = self.connections.sequential
        read = {
            read.name
            for read in self.reads.of_evidence(name)
            # an entry is drawn given the others, and so are the draws that integrate it out
            if not (isinstance(read, OthersRead) and name in sequential[read.name].members)
        }
        wrong = sorted(read & (self.reads.marginalised(name) | {name}))
        if wrong:
            children = ", ".join(dict.fromkeys(s.child.name for s in self.sources[name]))
            weight = any(source.term.phase == LATER for source in self.sources[name])
            once = "" if weight else f"use {name} in one place only, or "
            raise MissingRuleError(
                f"{name} has no conjugate update: what it receives from {children} depends on "
                f"{', '.join(wrong)}, which its update would change or integrate out; {once}make "
                f"{name} a number{suggest_remedy(self.nodes[name])}"
            )
        slots: dict[str, set[str]] = {}
        for source in self.sources[name]:
            slots.setdefault(source.child.name, set()).add(source.slot)
        for child, used in slots.items():
            if len(used) > 1:
                raise MissingRuleError(
                    f"{name} stands in the slots {', '.join(sorted(used))} of {child}, which has "
                    f"no conjugate update; use another node in one of them"
                    f"{suggest_remedy(self.nodes[name])}"
                )

    def may_be_zero(self, name: str) -> bool:
        """Whether a node's value can be exactly 0: a gate, or a gamma that a gate switches off.

        A given value is checked when it is passed."""
        node = self.nodes[name]
        if name in self.given:
            return node.has_zeros
        return node.has_zeros or any(not self.is_positive(node, slot) for slot in node.zero_with)

    def is_positive(self, node: Node, slot: str) -> bool:
        """Whether a slot is always positive, for one of three reasons.

        One term is positive; or one term is positive if two dims are the same and another if they
        differ; or the constants are 0 in different places."""
        found: dict[tuple[str | int, ...], set[str]] = {}
        for term in self.polynomials[node.name, slot].terms:
            pairs = [f for f in term.factors if f.relation is not None or f.when]
            if len(pairs) < 2 and all(
                (factor.simplex and set(factor.simplex) <= set(term.contracted))
                or self._factor_is_positive(factor)
                for factor in term.factors  # a value that sums to one is positive somewhere
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
        received = self.exposures.received(node.name)
        lagged = self.connections.time_dim(node.name) is not None
        several = any(source.factor.lookups for source in self.sources[node.name])
        if lagged or several or not (len(received) == 1 and received[0].is_one):
            parent = self.polynomials[node.name, slot].names[0]
            given = "passed on from row to row" if lagged else in_words(received)
            given = "as large as the number of rows that read it" if several else given
            raise MissingRuleError(
                f"{parent} is the {slot} of {node.name}, whose exposure is {given} instead of 1, "
                f"so the beta prior is not conjugate; "
                f"make {parent} a Gamma: pgbn.Gamma({parent!r}, 1, 1, dims=...)"
                f"{suggest_remedy(self.nodes[parent])}"
            )

    def _check_passed_back(self, node: Node, slot: str) -> None:
        """Check the exposure that a row of proportions receives from the next row.

        It must be the same for all entries of the row."""
        if node.simplex in self.exposures.passed_back_dims(node, slot):
            raise MissingRuleError(
                f"{node.name}: {slot} = {getattr(node, slot)} weights the entries of the row "
                f"before differently along {node.simplex!r}, so that what a row passes back "
                f"varies over {node.simplex!r} and its Dirichlet is not conjugate; let the weights "
                f"be the same along {node.simplex!r}"
            )

    def _check_completed(self, node: Node) -> None:
        """Check that no step integrates out a node that is drawn given pseudo-counts."""
        received = [p for s in self.sources[node.name] for p in self.exposures.source_exposure(s)
                 if not s.dims_of(p.dims).isdisjoint(node.sums_over)]  # fmt: skip
        over = ", ".join(map(repr, node.sums_over))
        why = (
            f"{node.name} sums to one over {over}, and the exposure that it receives "
            f"({in_words(received)}) varies over {over}"
        )
        if any(node.name in step.members for step in self.connections.sequential.values()):
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
