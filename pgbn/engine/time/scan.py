"""Nodes in time: scanned backward on the way up, forward on the way down.

Backward, row t hears the counts of its own children and those that row t+1 passes back (with a
lag, row t + lag), and shares its tables between the row before and the other parents. Forward, row
t is drawn given the new row t−1.

Of a type whose rule holds its value, such as a gamma with a hidden count in its shape, the counts
of row t are drawn given the rows t and t−1. Forward, each row is drawn together with its own hidden
counts, given the new row t−1 and the counts of row t+1: one row after another, each given the rest.
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
from pgbn.network.terms import PREVIOUS, Factor
from pgbn.nodes.base import Node, draw_node
from pgbn.nodes.rules.evidence import Evidence
from pgbn.nodes.rules.registry import is_own
from pgbn.nodes.rules.results import drawn_counts
from pgbn.samplers.random import stream_key
from pgbn.samplers.stream import Stream

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
        seen: dict[Factor, NDArray[np.int64]] = {}
        passed = np.zeros((rows.length, *rows.shape4), np.int64)  # [t]: from later rows to t
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
                        passed[now - factor.lag] += counts.reshape(rows.shape4)
                    elif factor.lookups:
                        _collect_seen(rows, factor, counts, seen)
                    else:
                        _collect(rows, factor, counts, collected)
        for factor, counts in seen.items():
            view = program.view(factor.lookups, program.storage[factor.name])
            collected[factor.name] += view.counts(counts)
        program.counts[node.name, PREVIOUS] = passed
        if rows.rule.drawn is not None:
            program.drawn[node.name, rows.slot] = stack_rows(rows, exposures)
        for parent, counts in collected.items():
            program.counts[node.name, parent] = counts

    return run


def _collect(
    rows: Rows, factor: Factor, counts: NDArray[np.int64], collected: dict[str, NDArray[np.int64]]
) -> None:
    own = dict(zip(factor.own_dims, factor.dims, strict=True))
    stored = [own[dim] for dim in rows.program.storage[factor.name]]
    _add(rows, collected[factor.name], stored, counts)


def _collect_seen(
    rows: Rows, factor: Factor, counts: NDArray[np.int64], seen: dict[Factor, NDArray[np.int64]]
) -> None:
    """The same of a factor that is read through categories, before its entries hear of it."""
    program = rows.program
    view = program.view(factor.lookups, program.storage[factor.name])
    if factor not in seen:
        sizes = (program.sizes[dim] for dim in view.dims)
        seen[factor] = np.zeros((program.replicates, *sizes), np.int64)
    own = dict(zip(factor.own_dims, factor.dims, strict=True))
    _add(rows, seen[factor], [own[dim] for dim in view.dims], counts)


def _add(rows: Rows, total: NDArray[np.int64], dims: list[str], counts: NDArray[np.int64]) -> None:
    """Add the counts of the current row to those of an array of these dims."""
    if rows.along in dims:
        total[(slice(None),) * (dims.index(rows.along) + 1) + (rows.now,)] += counts
    else:
        total += counts


def _forward(
    program: Program,
    node: Node,
    drawn: Callable[[Rows], Callable[[Stream, tuple[int, ...]], Any]],
    first: NDArray[Any] | None = None,
) -> Callable[[int], NDArray[Any]]:
    """Draw the rows from first to last; ``drawn`` draws the current row, in a shape. If the
    values of the ``first`` rows are known, draw the others."""
    rows = Rows(program, node)

    def run(key: int) -> NDArray[Any]:
        value = np.zeros(program.shape[node.name])
        by_row = np.moveaxis(value, rows.axis, 0)
        at_row = drawn(rows)
        kept = program.values.get(node.name)
        program.values[node.name] = value
        known = 0 if first is None else len(first)
        by_row[:known] = first
        for now in range(known, rows.length):
            rows.now = now
            by_row[now] = at_row(rows.stream(key), by_row[now].shape)
        if kept is not None:
            program.values[node.name] = kept
        return value

    return run


def time_prior(
    program: Program, node: Node, first: NDArray[Any] | None = None
) -> Callable[[int], NDArray[Any]]:
    """Generate a node in time from its slots, after the ``first`` rows if those are known."""

    def drawn(rows: Rows) -> Callable[[Stream, tuple[int, ...]], Any]:
        slots = rows.quantities(node.slots())
        return lambda stream, shape: draw_node(
            node, stream, shape, {slot: get() for slot, get in slots.items()}
        )

    return _forward(program, node, drawn, first)


@maker("time", Draw)
def time_draw(program: Program, task: Draw) -> Run | None:
    """Draw a node in time given the counts and exposures of every row."""
    node = task.node
    rule = program.wiring.draws[node.name]
    if not program.is_in_time(node.name) or not rule.hears:
        return None
    posterior = rule.posterior
    needed = inspect.signature(posterior).parameters
    heard = program.heard_count(node.name)

    def drawn(rows: Rows) -> Callable[[Stream, tuple[int, ...]], Any]:
        exposures = time_exposures(rows) if "exposure" in needed else []
        cell: list[Any] = [0.0]
        back = [backward(rows, term, cell) for term in rows.lagged]
        own_exposure = rows.at_row(program.exposure(node.name))
        own_count = rows.at_row(heard)
        slots = rows.quantities(node.slots())
        back_counts = program.counts.get((node.name, PREVIOUS))

        def at_row(stream: Stream, shape: tuple[int, ...]) -> Any:
            values = {slot: get() for slot, get in slots.items()}
            arguments = {name: values[name] for name in needed if name in values}
            if "count" in needed:
                arguments["count"] = own_count()
                if back_counts is not None:
                    arguments["count"] = arguments["count"] + back_counts[rows.now]
            if "exposure" in needed:
                arguments["exposure"] = own_exposure() + passed_back(rows, back, cell, exposures)
            if rule.kernel:
                return posterior(stream=stream, **arguments).reshape(shape)
            updated = posterior(**arguments)
            check_posterior(node, updated)
            return draw_node(node, stream, shape, {**values, **updated})

        return at_row

    draw = _forward(program, node, drawn)

    def run(key: int) -> None:
        program.values[node.name] = draw(key)

    return run
