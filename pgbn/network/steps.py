"""The steps of a sweep, made from the graph: what each draws, reads and integrates out.

Upward, a step draws the counts that a node sends to its parents; downward, it draws the value
of a latent node. `pgbn.network.schedule` puts them in order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import networkx as nx

from pgbn.network.evidence import CountsRead, Read, counts_name
from pgbn.network.sequential_updates import InTurn
from pgbn.network.terms import Polynomial
from pgbn.network.wiring import Wiring
from pgbn.nodes.base import Node, Observed
from pgbn.nodes.rules import find_link

# ---- plates: the dims along which a step draws row by row ---------------------------------------
#
# A plate is a dim of rows, such as "doc". A step is local along a plate if it draws values with the
# plate, and each row depends only on the same row of all other values with the plate. It is global
# if it draws a value without the plate, or if a row depends on other rows. That happens by a sum
# over the plate, a recursion along it, a simplex over it, or a value without the plate that is
# integrated out (as the topics are in the collapsed sampler). The counts that a node receives have
# its own dims when they are delivered, and are read row by row.


def plates_of(wiring: Wiring, step: Step) -> frozenset[str]:
    """The dims along which a step is local."""
    node = wiring.nodes[step.node]
    out = [wiring.nodes[name] for name in step.marginalises if name in wiring.nodes]
    # An upward step draws row by row, given its own slots, the values that it integrates out.
    passed = out if step.upward else []
    involved = [*_involved(wiring, step), *passed]
    return frozenset(
        dim
        for dim in node.axes
        if dim not in node.sums_over
        and all(dim in other.axes for other in passed)
        and all(_is_by_row(wiring, other, dim) for other in involved)
    )


def _involved(wiring: Wiring, step: Step) -> list[Node]:
    """The nodes whose slots a step may read: its own node, and the senders of its exposures.

    The senders are the nodes below, down to the first that are not integrated out."""
    node = wiring.nodes[step.node]
    rules = wiring.connections.rules_of(node).values()
    if step.upward and not any("exposure" in rule.count_reads for rule in rules):
        return [node]
    found = {node.name: node}
    for name in (node.name, *wiring.reads.marginalised(node.name)):
        found |= {source.child.name: source.child for source in wiring.sources[name]}
        found |= wiring.connections.children.get(name, {})
    return list(found.values())


def _is_by_row(wiring: Wiring, node: Node, dim: str) -> bool:
    """Whether the rows of a node along a dim depend on the same rows of the nodes in its slots."""
    if wiring.connections.time_dim(node.name) == dim:
        return False
    return all(_row_by_row(wiring.polynomials[node.name, slot], dim) for slot in node.slots())


def _row_by_row(polynomial: Polynomial, dim: str) -> bool:
    """Whether the rows of a slot along a dim are made of the same rows of its factors."""
    return all(
        dim not in term.contracted
        and not any(factor.relation and dim in factor.dims for factor in term.factors)
        and all(
            here == own
            for factor in term.factors
            for here, own in zip(factor.dims, factor.own_dims, strict=bool(factor.own_dims))
            if dim in (here, own)
        )
        and not any(lookup.dim == dim for factor in term.factors for lookup in factor.lookups)
        for term in polynomial.terms
    )


# ---- steps --------------------------------------------------------------------------------------

Revise = Callable[[Wiring, "Step"], "Step"]

_COMPLETION = r"y \sim \mathrm{Pois}((\bar{q} - q)\, \phi),\ \bar{q} = \max q"

# Values integrated out and not drawn since, each with the dims over which its sums are current.
Stale = dict[str, frozenset[str]]


def is_current(read: Read, stale: Stale) -> bool:
    """Whether a step may condition on what it reads."""
    left = stale.get(read.name)
    return left is None or bool(read.summed & left) or read.slot in left


@dataclass(frozen=True, eq=False)
class Step:
    """One step of a sweep.

    The draw conditions on the values ``reads``, and leaves the values ``marginalises`` stale. No
    step reads the result of a step ``on_demand``, so it is drawn only when it is asked for. A step
    ``sequential`` draws the entries of its node, and the members drawn with them, one after
    another.
    """

    name: str
    node: str
    upward: bool
    reads: frozenset[Read]
    marginalises: Stale
    equation: str
    method: str = ""
    on_demand: bool = False
    plates: frozenset[str] = frozenset()
    sequential: InTurn | None = None

    @property
    def draws(self) -> tuple[str, ...]:
        """The counts or the values that it draws, which are current after it."""
        return (self.name,) if self.sequential is None else tuple(self.sequential.members)

    def local(self, plate: str) -> bool:
        """Whether the step draws row by row along ``plate``.

        Each row is drawn given the same row of what it reads, and all values without the plate.
        Blocks of rows can then be drawn in any process. Each block sends up its sums over the
        plate, which are counts for the nodes above."""
        return plate in self.plates

    @property
    def heading(self) -> str:
        """The name, and how and when the step is run."""
        flags = " [on demand]" if self.on_demand else ""
        if self.sequential is not None:
            others = ", ".join(name for name in self.draws if name != self.node)
            flags = f"{f' with {others}' if others else ''} [in turn along {self.sequential.dim}]"
        return self.name + flags + (f" [{self.method}]" if self.method else "")

    @property
    def reads_text(self) -> str:
        """The names that it reads, as text."""
        shown = {f"sum of {read.name}" if read.summed else read.name for read in self.reads}
        return ", ".join(sorted(shown)) or "-"

    @property
    def stale_text(self) -> str:
        """The names that it leaves stale, as text."""
        return ", ".join(sorted(self.marginalises)) or "-"

    def __str__(self) -> str:
        return self.text(self.equation)

    def text(self, equation: str) -> str:
        """Two lines: what it draws, by this equation; what it reads and leaves stale."""
        return (
            f"{self.heading}: {equation}\n      reads {self.reads_text}; marginalises "
            f"{self.stale_text}"
        )


def steps_of(wiring: Wiring, revise: Revise | None = None) -> dict[str, Step]:
    """All steps of a network by name.

    ``revise(wiring, step)`` may replace a step by another draw of the same values, which reads or
    integrates out other values."""
    steps = [_count_step(wiring, node) for node in reversed(wiring.nodes.values())
             if _has_counts(wiring, node)]  # fmt: skip
    sequential = wiring.connections.sequential
    together = {name for step in sequential.values() for name in step.members}
    steps += [
        _draw_step(wiring, wiring.nodes[name], sequential.get(name))
        for name in wiring.sources
        if name in sequential or name not in together
    ]
    if revise is not None:
        steps = [revise(wiring, step) for step in steps]
    for number, step in enumerate(steps):  # a given value is a constant, and never stale
        changing = frozenset(read for read in step.reads if read.name not in wiring.given)
        steps[number] = replace(step, plates=plates_of(wiring, step), reads=changing)
    read = {r.name for step in steps for r in step.reads if r.name != step.node or step.upward}
    return {step.name: replace(step, on_demand=_is_unread(step, read)) for step in steps}


def _is_unread(step: Step, read: set[str]) -> bool:
    """Whether no step reads the values that a step draws.

    Entries drawn one after another read each other. A node that reads its own value must move in
    every sweep."""
    own = {each.name for each in step.reads}
    return not step.upward and step.sequential is None and step.node not in read | own


def _has_counts(wiring: Wiring, node: Node) -> bool:
    """Whether a node draws (or passes on) counts for a latent parent."""
    slots = [slot for slot in node.slots() if (node.name, slot) in wiring.rules]
    if isinstance(node, Observed):
        return bool(slots)
    return any(wiring.rules[node.name, slot].is_random for slot in slots)


def _count_step(wiring: Wiring, node: Node) -> Step:
    reads: set[Read] = set()
    equations = []
    link = find_link(node)
    if link is not None:
        told = wiring.rules.get((node.name, link.slot))
        reads |= wiring.reads.of_slot(node, link.slot)  # unknown cells are imputed from it
        reads |= wiring.reads.of_names(node, told.exposure_reads) if told is not None else set()
        if link.counts is not None:
            equations.append(link.equation)
            for slot in node.slots():
                reads |= wiring.reads.of_slot(node, slot)
        equations.append(_split_equation(wiring, node, link.slot))
    for slot in node.slots():
        rule = wiring.rules.get((node.name, slot))
        if rule is not None and rule.is_random:
            shared = "" if rule.is_quadratic else _split_equation(wiring, node, slot)
            equations += [rule.equation, shared]
            reads |= wiring.reads.of_names(node, rule.count_reads)
    if isinstance(node, Observed):  # the data, and the counts that this step itself draws
        reads = {read for read in reads if read.name not in (node.name, counts_name(node.name))}
    for slot in node.slots():
        rule = wiring.rules.get((node.name, slot))
        polynomial = wiring.polynomials[node.name, slot]
        if rule is not None and rule.kind == "poisson" and not polynomial.is_plain:
            reads |= wiring.reads.of_slot(node, slot)
    above = {
        counts_name(name): frozenset[str]()
        for name in nx.ancestors(wiring.graph, node.name)
        if _has_counts(wiring, wiring.nodes[name])
    }
    equation = r";\quad ".join(text for text in equations if text)
    return Step(counts_name(node.name), node.name, True, frozenset(reads), above, equation)


def _split_equation(wiring: Wiring, node: Node, slot: str) -> str:
    polynomial = wiring.polynomials[node.name, slot]
    if polynomial.is_plain:
        return ""
    return r"(\ell_{1}, \ell_{2}, \ldots) \sim \mathrm{Mult}(\ell;\ \propto \text{terms of }" + (
        rf"\mathrm{{{slot}}})"
    )


def _draw_step(wiring: Wiring, node: Node, sequential: InTurn | None = None) -> Step:
    members = [node.name] if sequential is None else list(sequential.members)
    reads, stale = set[Read](), dict[str, frozenset[str]]()
    for name in members:
        member = wiring.nodes[name]
        by_density = name in wiring.connections.by_density
        reads |= (wiring.reads.of_density if by_density else wiring.reads.of_evidence)(name)
        for slot in member.slots():
            reads |= wiring.reads.of_slot(member, slot)
            if wiring.polynomials[name, slot].along is not None and not by_density:
                reads.add(
                    CountsRead(counts_name(name))
                )  # the counts that each row sends to the one before
        for other, sums in _stale_after(wiring, member).items():
            stale[other] = sums & stale.get(other, sums)
    reads = {read for read in reads if read.name not in members}
    reads |= {Read(name) for name in members if wiring.draws[name].reads_value}
    stale = {name: sums for name, sums in stale.items() if name not in members}
    equation = r";\quad ".join(wiring.draws[name].equation for name in members)
    method = ""
    if node.name in wiring.completed:
        reads.add(Read(node.name))
        equation, method = rf"{_COMPLETION};\quad {equation},\ n = m + y", "completed"
    return Step(
        node.name, node.name, False, frozenset(reads),
        stale | _old_counts(wiring, {*members, *stale}), equation, method, sequential=sequential,
    )  # fmt: skip


def _old_counts(wiring: Wiring, changed: set[str]) -> Stale:
    """The counts that are stale after the nodes ``changed`` were drawn or integrated out, with the
    slots for which they stay current.

    Counts are drawn given some values. The nodes that receive the counts are redrawn given them.
    When other nodes are redrawn or integrated out, the counts are stale, and so are the tables that
    were drawn from them.
    """
    out: Stale = {}
    for child in reversed(wiring.nodes.values()):
        old: set[str] = set()
        for draw in wiring.reads.count_draws[child.name]:
            from_old = not all(is_current(read, out) for read in draw.counts)
            if from_old or (draw.given - draw.received_by) & changed:
                old |= draw.slots
        if old:
            out[counts_name(child.name)] = frozenset(child.slots()) - old
    return out


def _stale_after(wiring: Wiring, node: Node) -> Stale:
    """The values that a draw of ``node`` leaves stale."""
    out: Stale = {}
    marginalised = wiring.reads.marginalised(node.name)
    for name, child in wiring.nodes.items():
        if name in marginalised:
            out[name] = frozenset(
                dim for dim in child.axes if _sum_is_current(wiring, node, child, dim, out)
            )
    return out


def _sum_is_current(wiring: Wiring, drawn: Node, child: Node, dim: str, stale: Stale) -> bool:
    """Whether Σ_dim of ``child`` is independent of ``drawn``, given the values still current.

    It is if the rate and the exposure do not vary along ``dim`` (then the sum is a gamma whose
    shape is the sum of the shapes) and that sum of shapes does not involve ``drawn``.
    """
    additive = [
        slot
        for slot in child.slots()
        if (child.name, slot) in wiring.rules and wiring.rules[child.name, slot].additive
    ]
    if not additive or wiring.polynomials[child.name, additive[0]].along is not None:
        return False
    if dim in wiring.exposures.received_dims(child.name):
        return False
    for slot in child.slots():
        if slot not in additive and dim in wiring.exposures.slot_dims(child, slot):
            return False
    total = wiring.reads.of_products(wiring.exposures.named_sum(additive[0], child, (dim,)))
    return all(read.name != drawn.name and is_current(read, stale) for read in total)
