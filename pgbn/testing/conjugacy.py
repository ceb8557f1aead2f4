"""The algebra test: is each draw the conditional of the joint distribution?

Let J be the log density of everything: all values, the data, and the counts drawn on the way up.
A node A is drawn with some nodes B below it integrated out; then B is drawn given A. Together
they are a draw from p(A, B | rest), so

    J − ln p(A | rest without B) − ln p(B | A, rest)

must not depend on A and B. J is computed from the nodes' own densities and the probabilities of
the drawn counts, never from the rules of evidence, so that a wrong rule shows at once. There is no
Monte Carlo error, and the accuracy is 1e-8. (It does not detect a wrong order: `geweke` does.)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from pgbn.checks import Count, Seed, validated
from pgbn.engine.compile.density import ConditionalDensity, log_density
from pgbn.engine.compile.products import splitter_of
from pgbn.engine.compile.program import Program
from pgbn.engine.plan import Draw, make_step
from pgbn.engine.run.chain import Chain
from pgbn.engine.steps.sequential import Entry, draw_entry
from pgbn.errors import NetworkError
from pgbn.network.evidence import counts_name
from pgbn.network.terms import PREVIOUS
from pgbn.nodes.base import Node, Observed
from pgbn.nodes.rules import Evidence, find_link
from pgbn.samplers.random import stream_key
from pgbn.testing.geweke import check_network, reject_large_counts

if TYPE_CHECKING:
    from pgbn.network.network import Network


# ---- joint --------------------------------------------------------------------------------------
#
# The log density of everything: all values, the data, and the counts drawn on the way up.
#
# It is computed from the nodes' own densities and the probabilities of the drawn counts, never
# from the rules of evidence.


def integrated_counts(program: Program, name: str) -> set[tuple[str, str]]:
    """The (node, slot) whose counts a draw of a node integrates out, and so leaves stale."""
    step = next(step for step in program.network.schedule if name in step.draws)
    if step.sequential is not None:  # its entries redraw the counts that they leave stale
        return set()
    return {
        (node.name, slot)
        for node in program.network.nodes.values()
        for slot in node.slots()
        if slot not in step.marginalises.get(counts_name(node.name), node.slots())
    }


def joint_density(
    program: Program, drawn: dict[tuple[str, str], list[Any]], out: set[tuple[str, str]]
) -> Any:
    """ln p(values, data, counts) of every replicate, with the counts ``out`` integrated out."""
    total: Any = sum(log_density(program, name) for name in program.network.nodes)
    for node in program.network.nodes.values():
        # Data whose parameters are all numbers pass no counts on.
        if isinstance(node, Observed) and node.name in program.latent_counts:
            link = find_link(node)
            if link is None or (node.name, link.slot) not in out:
                total = total + _data_counts(program, node)
    for (name, slot), results in drawn.items():
        if (name, slot) in out:
            continue
        total = total + _node_counts(program, program.network.nodes[name], slot, results)
    return total


def _data_counts(program: Program, node: Observed) -> Any:
    """The latent counts of the data, and how they were shared out."""
    link = find_link(node)
    assert link is not None
    cells, counts = program.cells[node.name], program.latent_counts[node.name]
    rate = splitter_of(program, node, link.slot).rates(cells).reshape(-1)
    each = -xlogy(counts, rate)
    if link.counts is not None:
        known = {"drawn": counts, "value": cells.values, link.slot: rate}
        names = _parameters(link.log_probability, f"the link rule of {type(node).__name__}")
        for other in set(names) - set(known):
            known[other] = program.at_cells(node, other, cells).reshape(-1)
        assert link.log_probability is not None
        each = each + link.log_probability(**{name: known[name] for name in names})
    shares = _shares(program, node, link.slot)
    for other in node.slots():  # such as the noise of PoissonGamma: it gets the same counts
        rule = program.wiring.rules.get((node.name, other))
        if other != link.slot and rule is not None and rule.count == "count":
            each = each - xlogy(counts, program.at_cells(node, other, cells).reshape(-1))
            shares = shares + _shares(program, node, other)
    return cells.total(each, ()) + shares


def _node_counts(program: Program, node: Node, slot: str, results: list[Any]) -> Any:
    """The counts that a node drew for a slot, and how they were shared out."""
    rule = program.wiring.rules[node.name, slot]
    law = (lambda: 0.0) if rule.is_computed else rule.log_probability
    names = _parameters(law, f"{type(node).__name__}.{slot}")
    known = {name: program.quantity(node, name).get() for name in names if name not in
             ("drawn", "axis", "count")}  # fmt: skip
    result, received = results[0], None
    if "count" in names:
        received = program.received_count(node.name).get()
    if program.is_in_time(node.name):
        result = _stack(program, node, results[::-1])  # the scan runs backward
        if received is not None:
            received = received + _stack(program, node, list(program.counts[node.name, PREVIOUS]))
    known |= {"drawn": result, "axis": program.stream(node.name, 0).simplex, "count": received}
    assert law is not None
    each = law(**{name: known[name] for name in names})
    tables = result.count if isinstance(result, Evidence) else result
    if not rule.is_quadratic:  # tables are shared out below
        each = each - xlogy(tables, program.slot(node.name, slot).get())
    each = np.broadcast_to(each, program.shape4[node.name])
    whole = each.reshape(program.replicates, -1).sum(axis=1)
    return whole + _shares(program, node, slot)


def _shares(program: Program, node: Node, slot: str) -> Any:
    """Σ n ln(factor): with −Σ n ln(sum), the multinomial split among the terms of a slot."""
    total: Any = 0.0
    for parent in program.wiring.polynomials[node.name, slot].names:
        if (node.name, parent) in program.counts:
            each = xlogy(program.counts[node.name, parent], program.values[parent])
            total = total + each.reshape(program.replicates, -1).sum(axis=1)
    if program.is_in_time(node.name) and (node.name, PREVIOUS) in program.counts:
        passed = _stack(program, node, list(program.counts[node.name, PREVIOUS]))
        each = xlogy(passed, program.values[node.name].reshape(passed.shape))
        total = total + each.reshape(program.replicates, -1).sum(axis=1)
    return total


def _stack(program: Program, node: Node, rows: list[Any]) -> Any:
    """The rows of a chain as one 4-d array, aligned with the node."""
    axis = along_axis(program, node)
    shape = [size for i, size in enumerate(program.shape[node.name]) if i != axis]
    stacked = np.stack([np.asarray(row).reshape(shape) for row in rows], axis=axis)
    return stacked.reshape(program.shape4[node.name])


def along_axis(program: Program, node: Node) -> int:
    """The axis of a node's array that is its time."""
    along = program.wiring.connections.time_dim(node.name)
    assert along is not None
    return program.storage[node.name].index(along) + 1


def _parameters(function: Callable[..., Any] | None, rule: str) -> tuple[str, ...]:
    if function is None:
        raise NetworkError(
            f"check_conjugacy: {rule} draws counts but has no log_probability=; give the log "
            "probability of ``drawn`` given what the rule reads"
        )
    return tuple(inspect.signature(function).parameters)


# ---- conjugacy ----------------------------------------------------------------------------------


Array = NDArray[np.float64]


@dataclass(frozen=True)
class ConjugacyResult:
    """The result of `check_conjugacy`; it prints the error of every node.

    Attributes
    ----------
    errors : dict
        The change of J − ln(conditional) with the value of each latent node, relative to J.
    tolerance : float
        The largest error of a right draw.

    Examples
    --------
    >>> from pgbn.testing import ConjugacyResult
    >>> ConjugacyResult({"theta": 3e-14, "r": 0.2}, 1e-8).failures
    ['r']
    """

    errors: dict[str, float]
    tolerance: float

    @property
    def worst(self) -> float:
        """The largest error."""
        return max(self.errors.values(), default=0.0)

    @property
    def failures(self) -> list[str]:
        """The nodes whose draw is not their conditional."""
        return [name for name, error in self.errors.items() if not error <= self.tolerance]

    def __str__(self) -> str:
        lines = [f"largest relative error {self.worst:.1e} of {len(self.errors)} nodes"]
        lines += [f"  {name:<20} {error:.1e}{' FAILS' if name in self.failures else ''}"
                  for name, error in self.errors.items()]  # fmt: skip
        return "\n".join(lines)


@validated
def check_conjugacy(
    network: Network,
    sizes: Mapping[str, int] | None = None,
    seed: Seed = 0,
    draws: Count = 4,
    replicates: Count = 10,
    tolerance: float = 1e-8,
) -> ConjugacyResult:
    """Check that every draw of a network is a draw from its conditional.

    The states are drawn from the prior. A node that a kernel draws from log densities is checked by
    its log conditional. Two kinds of nodes are omitted, which `geweke` tests: those that a kernel
    draws from evidence, and those that are drawn given pseudo-counts (`Wiring.completed`).

    Parameters
    ----------
    network : Network
        Rules that draw counts must give their ``log_probability``. Choose mild priors: a value that
        underflows to 0 has an infinite density, and its replicate is omitted (if most have one, the
        node fails).
    sizes : mapping, optional
        The sizes of its dims; tiny ones.
    seed : int
        Of all draws.
    draws : int
        New values at which each draw is checked, besides the old one.
    replicates : int
        Independent states.
    tolerance : float
        The largest relative error of a right draw.

    Returns
    -------
    ConjugacyResult
        The error of every node.

    Examples
    --------
    >>> import pgbn
    >>> theta = pgbn.Gamma("theta", 4, 4, dims="doc")
    >>> network = pgbn.Network(pgbn.Poisson("x", theta, dims="doc"))
    >>> pgbn.testing.check_conjugacy(network, {"doc": 3}).failures
    []
    """
    check_network(network, sizes, "check_conjugacy")
    drawn: dict[tuple[str, str], list[Any]] = {}
    network = _recording(network, drawn)
    chain = Chain._replicated(network, sizes or {}, replicates, seed, "composed", 1)
    reject_large_counts(chain, "check_conjugacy", 2000)  # tables of Stirling numbers grow as m²
    for _ in range(2):
        drawn.clear()
        chain.sweep()
    chain._refresh()
    errors = {}
    for name in network.latent:
        if name in network.wiring.completed:  # a draw given pseudo-counts has no such density
            continue
        rule = network.wiring.draws.get(name)
        if rule is not None and rule.kernel and rule.receives:  # its density is not known
            continue
        marginalised = network.wiring.reads.marginalised(name)
        block = [name, *(other for other in network.latent if other in marginalised)]
        errors[name] = _largest_error(chain._program, drawn, block, draws)
    return ConjugacyResult(errors, tolerance)


def _largest_error(
    program: Program, drawn: dict[tuple[str, str], list[Any]], block: list[str], draws: int
) -> float:
    old = {name: program.values[name] for name in block}
    found, scale = [], np.ones(1)
    out = integrated_counts(program, block[0])
    for number in range(draws + 1):
        program.values.update(old)
        conditional = sum(_draw(program, name, number, old[name]) for name in block)
        joint = joint_density(program, drawn, out)
        with np.errstate(invalid="ignore"):
            found.append(joint - conditional)
        scale = np.maximum(scale, np.maximum(np.abs(joint), np.abs(conditional)))
    program.values.update(old)
    differences = np.array(found)
    finite = np.isfinite(differences).all(axis=0)
    if finite.mean() < 0.5:  # more than a few values underflowed to 0
        return float("inf")
    differences, scale = differences[:, finite], np.broadcast_to(scale, finite.shape)[finite]
    return float((np.abs(differences - differences[0]) / scale).max())


def _draw(program: Program, name: str, number: int, old: Array) -> Any:
    """Draw a node, and return the log density of the draw; number 0 is the old value."""
    node = program.network.nodes[name]
    given = None
    groups = program.wiring.connections.sequential.values()
    together = next((group for group in groups if name in group.members), None)
    if together is not None:  # given the others, the first entry alone has a conditional
        entry = Entry(program, together)
        part = _Recorder(node, [entry.cut(name, old)] if number == 0 else None)
        draw_entry(program, entry, cast(Node, part))(stream_key(number))
        return part.log_density
    if name in program.wiring.connections.by_density:
        if number:
            make_step(program, Draw(node))(stream_key(number))
        each = ConditionalDensity(program, node)(program.values[name].reshape(program.shape4[name]))
        return each.reshape(len(each), -1).sum(axis=1)
    if number == 0:
        rows = np.moveaxis(old, along_axis(program, node), 0) if program.is_in_time(name) else [old]
        given = list(rows)
    recorder = _Recorder(node, given)
    program.network.nodes[name] = recorder  # type: ignore[assignment]
    make_step(program, Draw(program.network.nodes[name]))(stream_key(number))
    program.network.nodes[name] = node
    return recorder.log_density


class _Recorder:
    """A node that adds up the log density of its draws; ``given`` replaces the draws."""

    def __init__(self, node: Node, given: list[Array] | None) -> None:
        self.node, self.given, self.log_density = node, given, np.zeros(1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.node, name)

    def generate(self, stream: Any, **slots: Any) -> Array:
        if self.given is None:
            value = self.node.generate(stream, **slots)
        else:
            value = self.given.pop(0).reshape(stream.shape)
        if self.node.sums_over:
            slots["axis"] = stream.simplex
        density = np.broadcast_to(self.node.log_density(value, **slots), stream.shape)
        self.log_density = self.log_density + density.sum(axis=tuple(range(1, density.ndim)))
        return value


def _recording(network: Network, drawn: dict[tuple[str, str], list[Any]]) -> Network:
    """A copy of a network whose count rules keep their draws, by (node, slot)."""
    copy = network.with_sizes()
    for key, rule in copy.wiring.rules.items():
        if rule.is_random:
            copy.wiring.rules[key] = replace(rule, count=_keeping(rule.count, key, drawn))
    return copy


def _keeping(
    count: Any, key: tuple[str, str], drawn: dict[tuple[str, str], list[Any]]
) -> Callable[..., Any]:
    @wraps(count)
    def keep(**arguments: Any) -> Any:
        result = count(**arguments)
        drawn.setdefault(key, []).append(result)
        return result

    return keep
