"""Nodes in time: scanned backward on the way up, forward on the way down.

Backward, row t hears the counts of its own children and those that row t+1 passes back, and
shares its tables between the row before and the other parents. Forward, row t is drawn given the
new row t−1.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.posterior import check_posterior
from pgbn.engine.compile.program import Program
from pgbn.engine.plan import Counts, Draw, Run, maker
from pgbn.engine.time.exposures import backward, passed_back, stack_rows, time_exposures
from pgbn.engine.time.rows import Rows
from pgbn.network.terms import LATER, PREVIOUS, Factor
from pgbn.nodes.base import Node, draw_node
from pgbn.nodes.rules.evidence import Evidence
from pgbn.nodes.rules.registry import is_own
from pgbn.nodes.rules.results import drawn_counts
from pgbn.samplers.random import stream_key

__all__ = ["time_counts", "time_draw", "time_prior"]


@maker("time", Counts)
def time_counts(program: Program, task: Counts) -> Run | None:
    """Backward: the tables of every row, shared between the row before and other parents."""
    node = task.node
    if not program.is_in_time(node.name):
        return None
    rows = Rows(program, node)
    splitters = rows.splitters()
    count = rows.rule.count
    assert callable(count)
    heard = program.heard_count(node.name)
    names = program.wiring.polynomials[node.name, rows.slot].names
    parents = [name for name in names if name in program.wiring.sources]

    def run(key: int) -> None:
        own = rows.at_row(heard)
        reads = rows.rule.count_reads
        arguments = rows.quantities(n for n in reads if n != "count")
        collected = {name: np.zeros(program.shape[name], np.int64) for name in parents}
        passed = np.zeros((rows.length, *rows.shape4), np.int64)  # [t]: from row t+1 to row t
        exposures: list[Any] = [0.0] * rows.length  # those that are drawn
        for now in reversed(range(rows.length)):
            rows.now = now
            total = own() + passed[now]
            values = {name: get() for name, get in arguments.items()}
            values |= {"count": total} if "count" in reads else {}
            tables = count(stream=rows.stream(key), **values)
            if is_own(count):
                tables = drawn_counts(node, rows.slot, rows.rule, tables, rows.shape4,
                                      program.sizes)  # fmt: skip
            if isinstance(tables, Evidence):
                exposures[now], tables = tables.exposure, tables.count
            splitter = splitters.get(rows.phase)
            if splitter is None:
                continue
            shares = splitter.dense(stream_key(key, rows.length + now), tables)
            for term, share in zip(rows.terms[rows.phase], shares, strict=True):
                for factor, counts in zip(term.factors, share, strict=True):
                    if counts is None:
                        continue
                    if factor.previous:
                        passed[now - 1] += counts.reshape(rows.shape4)
                    else:
                        _collect(rows, factor, counts, collected)
        program.counts[node.name, PREVIOUS] = passed
        if rows.rule.drawn is not None:
            program.drawn[node.name, rows.slot] = stack_rows(rows, exposures)
        for parent, counts in collected.items():
            program.counts[node.name, parent] = counts

    return run


def _collect(
    rows: Rows, factor: Factor, counts: NDArray[np.int64], collected: dict[str, NDArray[np.int64]]
) -> None:
    program = rows.program
    total = collected[factor.name]
    own = dict(zip(factor.own_dims, factor.dims, strict=True))
    stored = [own[dim] for dim in program.storage[factor.name]]
    if rows.along in stored:
        total[(slice(None),) * (stored.index(rows.along) + 1) + (rows.now,)] += counts
    else:
        total += counts


def _forward(
    program: Program,
    node: Node,
    parameters: Callable[[Rows], Callable[[], dict[str, Any]]],
    first: NDArray[Any] | None = None,
) -> Callable[[int], NDArray[Any]]:
    """Draw the rows from first to last; ``parameters`` gives those of the current row. If the
    value of the ``first`` row is known, draw the others."""
    rows = Rows(program, node)

    def run(key: int) -> NDArray[Any]:
        value = np.zeros(program.shape[node.name])
        by_row = np.moveaxis(value, rows.axis, 0)
        at_row = parameters(rows)
        kept = program.values.get(node.name)
        program.values[node.name] = value
        if first is not None:
            by_row[0] = first
        for now in range(0 if first is None else 1, rows.length):
            rows.now = now
            by_row[now] = draw_node(node, rows.stream(key), by_row[now].shape, at_row())
        if kept is not None:
            program.values[node.name] = kept
        return value

    return run


def time_prior(
    program: Program, node: Node, first: NDArray[Any] | None = None
) -> Callable[[int], NDArray[Any]]:
    """Generate a node in time from its slots, from the ``first`` row on if that is known."""

    def parameters(rows: Rows) -> Callable[[], dict[str, Any]]:
        slots = rows.quantities(node.slots())
        return lambda: {slot: get() for slot, get in slots.items()}

    return _forward(program, node, parameters, first)


@maker("time", Draw)
def time_draw(program: Program, task: Draw) -> Run | None:
    """Draw a node in time given the counts and exposures of every row."""
    node = task.node
    if not program.is_in_time(node.name) or program.wiring.draws[node.name].kernel:
        return None
    posterior = program.wiring.draws[node.name].posterior
    needed = inspect.signature(posterior).parameters
    heard = program.heard_count(node.name)

    def parameters(rows: Rows) -> Callable[[], dict[str, Any]]:
        exposures = time_exposures(rows) if "exposure" in needed else []
        cell: list[Any] = [0.0]
        back = [backward(rows, term, cell) for term in rows.terms[LATER]]
        own_exposure = rows.at_row(program.exposure(node.name))
        own_count = rows.at_row(heard)
        slots = rows.quantities(node.slots())
        back_counts = program.counts.get((node.name, PREVIOUS))

        def at_row() -> dict[str, Any]:
            values = {slot: get() for slot, get in slots.items()}
            arguments = {name: values[name] for name in needed if name in values}
            if "count" in needed:
                arguments["count"] = own_count()
                if back_counts is not None:
                    arguments["count"] = arguments["count"] + back_counts[rows.now]
            if "exposure" in needed:
                arguments["exposure"] = own_exposure() + passed_back(rows, back, cell, exposures)
            updated = posterior(**arguments)
            check_posterior(node, updated)
            return {**values, **updated}

        return at_row

    draw = _forward(program, node, parameters)

    def run(key: int) -> None:
        program.values[node.name] = draw(key)

    return run
