"""The log density of everything: all values, the data, and the counts drawn on the way up.

It is computed from the nodes' own densities and the probabilities of the drawn counts, never from
the rules of evidence.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import xlogy

from pgbn.engine.compile.composed import splitter_of
from pgbn.engine.compile.density import log_density
from pgbn.engine.compile.program import Program
from pgbn.errors import NetworkError
from pgbn.network.reads import counts_name
from pgbn.network.terms import PREVIOUS
from pgbn.nodes.base import Node, Observed
from pgbn.nodes.rules.evidence import Evidence
from pgbn.nodes.rules.registry import find_link

__all__ = ["along_axis", "integrated_counts", "joint_density"]


def integrated_counts(program: Program, name: str) -> set[tuple[str, str]]:
    """The (node, slot) whose counts a draw of a node leaves old: it is a draw without them."""
    step = next(step for step in program.network.schedule if name in step.draws)
    if step.in_turn is not None:  # what its entries leave old is drawn again with them
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
    """ln p(values, data, counts), for every replicate, the counts ``out`` integrated out."""
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
    names = _parameters(rule.log_probability, f"{type(node).__name__}.{slot}")
    known = {name: program.quantity(node, name).get() for name in names if name not in
             ("drawn", "axis", "count")}  # fmt: skip
    result, heard = results[0], None
    if "count" in names:
        heard = program.heard_count(node.name).get()
    if program.is_in_time(node.name):
        result = _stack(program, node, results[::-1])  # the scan runs backward
        if heard is not None:
            heard = heard + _stack(program, node, list(program.counts[node.name, PREVIOUS]))
    known |= {"drawn": result, "axis": program.stream(node.name, 0).simplex, "count": heard}
    assert rule.log_probability is not None
    each = rule.log_probability(**{name: known[name] for name in names})
    tables = result.count if isinstance(result, Evidence) else result
    if not rule.is_quadratic:  # of tables: what follows shares them out
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
    """The rows of a chain as one 4-d array beside the node."""
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
