"""The schedule: the steps of one sweep, derived from the graph and checked.

Upward, the counts of every node are drawn from the data to the roots. Downward, every latent
node is drawn from the roots to the data. A step that integrates a node out leaves that node
*stale*: it must be redrawn before any step conditions on it (van Dyk & Park 2008). One
exemption: drawing a Dirichlet leaves the sums of the gammas below it current, because they do
not depend on how their shape is shared out. The check runs over two sweeps, so that the end of
a sweep is a valid beginning of the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import networkx as nx

from pgbn.errors import NetworkError, StaleReadError, did_you_mean
from pgbn.nodes.base import Node, Observed
from pgbn.reads import Read
from pgbn.registry import find_link
from pgbn.wiring import Wiring

__all__ = ["Schedule", "Step", "check_order", "derive", "steps_of"]


@dataclass(frozen=True, eq=False)
class Step:
    """One step of a sweep.

    ``reads`` is what the draw conditions on; ``marginalises`` what it integrates out, each with
    the dims over which sums stay current; ``on_demand`` that no step reads the result, so that
    it is drawn only when somebody looks at it.
    """

    name: str
    node: str
    upward: bool
    reads: frozenset[Read]
    marginalises: dict[str, frozenset[str]]
    equation: str
    reference: str
    method: str = ""
    on_demand: bool = False

    def __str__(self) -> str:
        reads = ", ".join(sorted(_show(read) for read in self.reads)) or "-"
        out = ", ".join(sorted(self.marginalises)) or "-"
        flags = " [on demand]" if self.on_demand else ""
        flags += f" [{self.method}]" if self.method else ""
        return f"{self.name}{flags}: {self.equation}\n      reads {reads}; marginalises {out}"


def _show(read: Read) -> str:
    return f"sum of {read.name}" if read.summed else read.name


class Schedule(Sequence[Step]):
    """The steps in order; printable."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self.steps = tuple(steps)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return self.steps[index]

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    @property
    def names(self) -> list[str]:
        """The names of the steps, as `Network.with_order` takes them."""
        return [step.name for step in self.steps]

    def __str__(self) -> str:
        lines = []
        direction = None
        for number, step in enumerate(self.steps, 1):
            if step.upward is not direction:
                direction = step.upward
                lines.append("Upward: counts" if direction else "Downward: values")
            lines.append(f"{number:>4}. {step}")
        return "\n".join(lines)

    __repr__ = __str__


def steps_of(wiring: Wiring, layer1: str = "blocked") -> dict[str, Step]:
    """All steps of a network by name; ``layer1`` chooses how the first counts are drawn."""
    steps = [_count_step(wiring, node) for node in reversed(wiring.nodes.values())
             if has_counts(wiring, node)]  # fmt: skip
    steps += [_draw_step(wiring, wiring.nodes[name]) for name in wiring.sources]
    if layer1 in ("collapsed", "partial"):
        from pgbn.layer1 import variant_step

        steps = [variant_step(wiring, step, layer1) for step in steps]
    read = {r.name for step in steps for r in step.reads if r.name != step.node or step.upward}
    return {
        step.name: Step(**{**step.__dict__, "on_demand": not step.upward and step.node not in read})
        for step in steps
    }


def has_counts(wiring: Wiring, node: Node) -> bool:
    """Whether a node draws (or hands on) counts to a latent parent."""
    slots = [slot for slot in node.slots() if (node.name, slot) in wiring.rules]
    if isinstance(node, Observed):
        return bool(slots)
    return any(wiring.rules[node.name, slot].is_random for slot in slots)


def _count_step(wiring: Wiring, node: Node) -> Step:
    reads: set[Read] = set()
    equations, references = [], []
    link = find_link(node)
    if link is not None:
        reads |= wiring.slot_reads(node, link.slot)  # unknown cells are imputed from it
        if link.counts is not None:
            equations.append(link.equation)
            references.append(link.reference)
            for slot in node.slots():
                reads |= wiring.slot_reads(node, slot)
        equations.append(_split_equation(wiring, node, link.slot))
    for slot in node.slots():
        rule = wiring.rules.get((node.name, slot))
        if rule is not None and rule.is_random:
            equations += [rule.equation, _split_equation(wiring, node, slot)]
            references.append(rule.reference)
            reads |= wiring.named_reads(node, rule.count_reads)
    if isinstance(node, Observed):  # the data, and the counts that this step itself draws
        reads -= {Read(node.name), Read(f"counts({node.name})")}
    for slot in node.slots():
        rule = wiring.rules.get((node.name, slot))
        polynomial = wiring.polynomials[node.name, slot]
        if rule is not None and rule.kind == "poisson" and not polynomial.is_plain:
            reads |= wiring.slot_reads(node, slot)
    above = {
        f"counts({name})": frozenset[str]()
        for name in nx.ancestors(_graph(wiring), node.name)
        if has_counts(wiring, wiring.nodes[name])
    }
    equation = r";\quad ".join(text for text in equations if text)
    reference = "; ".join(text for text in references if text)
    return Step(f"counts({node.name})", node.name, True, frozenset(reads), above, equation,
                reference)  # fmt: skip


def _split_equation(wiring: Wiring, node: Node, slot: str) -> str:
    polynomial = wiring.polynomials[node.name, slot]
    if polynomial.is_plain:
        return ""
    return r"(\ell_{1}, \ell_{2}, \ldots) \sim \mathrm{Mult}(\ell;\ \propto \text{terms of }" + (
        rf"\mathrm{{{slot}}})"
    )


def _draw_step(wiring: Wiring, node: Node) -> Step:
    reads = set(wiring.evidence_reads(node.name))
    for slot in node.slots():
        reads |= wiring.slot_reads(node, slot)
        if wiring.polynomials[node.name, slot].along is not None:
            reads.add(Read(f"counts({node.name})"))  # what each row passes to the one before
    reads = {read for read in reads if read.name != node.name}
    rule = wiring.draws[node.name]
    stale = _stale_after(wiring, node)
    if _counts_read_value(wiring, node):  # they were drawn given the value that is replaced
        stale[f"counts({node.name})"] = frozenset()
    return Step(node.name, node.name, False, frozenset(reads), stale, rule.equation,
                rule.reference)  # fmt: skip


def _counts_read_value(wiring: Wiring, node: Node) -> bool:
    """Whether counts that a node passes up are drawn given its value."""
    found = (wiring.rules.get((node.name, slot)) for slot in node.slots())
    return any(rule and rule.is_random and "value" in rule.count_reads for rule in found)


def _stale_after(wiring: Wiring, node: Node) -> dict[str, frozenset[str]]:
    """What a draw of ``node`` leaves stale, with the dims over which sums stay current."""
    out: dict[str, frozenset[str]] = {}
    marginalised = wiring.marginalised(node.name)
    for name, child in wiring.nodes.items():
        if name in marginalised:
            out[name] = frozenset(
                dim for dim in child.axes if _sum_is_current(wiring, node, child, dim, out)
            )
    return out


def _sum_is_current(
    wiring: Wiring, drawn: Node, child: Node, dim: str, stale: dict[str, frozenset[str]]
) -> bool:
    """Whether Σ_dim of ``child`` is independent of ``drawn``, given what is still current.

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
    if any(dim in product.dims for product in wiring.exposure(child.name)):
        return False
    for slot in child.slots():
        if slot not in additive and dim in wiring.slot_dims(child, slot):
            return False
    total = wiring.product_reads(wiring.named_sum(additive[0], child, (dim,)))
    return all(
        read.name != drawn.name and (read.name not in stale or read.summed & stale[read.name])
        for read in total
    )


def _graph(wiring: Wiring) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(wiring.nodes)
    for (name, _), polynomial in wiring.polynomials.items():
        graph.add_edges_from((parent, name) for parent in polynomial.names)
    return graph


# ---- deriving an order ------------------------------------------------------------------


def derive(steps: dict[str, Step]) -> Schedule:
    """All counts from the data up; then the values, so that no step reads a stale one.

    Among the values: what integrates a node out comes before that node; beyond that, a step
    waits while it would leave stale what another step still has to read. For the deep networks
    this gives: rates given the current values, then everything else from the roots down.
    """
    order = [step for step in steps.values() if step.upward]
    waiting = [step for step in steps.values() if not step.upward]
    stale: dict[str, frozenset[str]] = {}
    for step in order:
        _apply(step, stale)
    while waiting:
        ready = [
            step
            for step in waiting
            if not any(step.node in other.marginalises for other in waiting if other is not step)
            and all(_is_current(read, stale) for read in step.reads)
        ]
        if not ready:
            names = ", ".join(step.name for step in waiting)
            raise StaleReadError(
                f"no valid order exists for {names}: each reads a value that another one has "
                "integrated out; hold one of them fixed or change a prior"
            )
        step = next((s for s in ready if not _spoils(s, waiting)), ready[0])
        waiting.remove(step)
        order.append(step)
        _apply(step, stale)
    schedule = Schedule(order)
    check_order(schedule)
    return schedule


def _spoils(step: Step, waiting: list[Step]) -> bool:
    """Whether a step makes stale what another waiting step reads before it is redrawn."""
    after = {other.node: other.marginalises for other in waiting}
    return any(
        read.name in step.marginalises and other.node not in after.get(read.name, {})
        for other in waiting
        if other is not step
        for read in other.reads
    )


def _is_current(read: Read, stale: dict[str, frozenset[str]]) -> bool:
    return read.name not in stale or bool(read.summed & stale[read.name])


def _apply(step: Step, stale: dict[str, frozenset[str]]) -> None:
    stale.pop(step.name, None)
    for name, sums in step.marginalises.items():
        stale[name] = sums & stale[name] if name in stale else sums


# ---- checking an order ------------------------------------------------------------------


def check_order(schedule: Iterable[Step]) -> None:
    """Raise `StaleReadError` if a step conditions on a value that was integrated out."""
    steps = list(schedule)
    stale: dict[str, frozenset[str]] = {}
    culprit: dict[str, str] = {}
    for sweep in (1, 2):
        for step in steps:
            if step.upward and sweep == 1:
                stale[step.name] = frozenset()
                culprit[step.name] = ""
        for step in steps:
            for read in sorted(step.reads, key=lambda r: r.name):
                if not _is_current(read, stale):
                    raise StaleReadError(_explain(step, read.name, culprit[read.name], sweep))
            _apply(step, stale)
            for name in step.marginalises:
                culprit[name] = step.name


def _explain(step: Step, name: str, culprit: str, sweep: int) -> str:
    if not culprit:
        return f"{step.name} reads {name}, which has not been drawn yet; put {name} before it"
    again = " of the next sweep" if sweep == 2 else ""
    return (
        f"{step.name}{again} conditions on {name}, but {name} is stale: {culprit} was drawn with "
        f"{name} integrated out, and {name} has not been redrawn since. Draw {name} between "
        f"{culprit} and {step.name}, or move {step.name} before {culprit}"
    )


def reorder(steps: dict[str, Step], order: Iterable[str]) -> Schedule:
    """The schedule in a user's order, checked."""
    names = [order] if isinstance(order, str) else list(order)
    for name in names:
        if name not in steps:
            raise NetworkError(f"order: there is no step {name!r}.{did_you_mean(name, steps)}")
    missing = [n for n, step in steps.items() if n not in names and not step.on_demand]
    if missing:
        raise NetworkError(f"order: the steps {', '.join(missing)} are missing")
    left_out = [step for name, step in steps.items() if name not in names]
    schedule = Schedule([*(steps[name] for name in names), *left_out])
    check_order(schedule)
    return schedule
