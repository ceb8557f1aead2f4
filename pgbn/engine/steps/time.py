"""Nodes in time: scanned backward on the way up, forward on the way down.

Backward, row t receives the counts of its own children and those that row t+1 passes back (with a
lag, row t + lag). It shares its tables between the previous row and the other parents. Forward, row
t is drawn given the new row t−1.

Some types have a rule that keeps the value of the node, such as a gamma with a hidden count in its
shape. Their counts of row t are drawn given the rows t and t−1. Forward, each row is drawn together
with its own hidden counts, given the new row t−1 and the counts of row t+1: one row after another,
each given the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.density import ConditionalDensity
from pgbn.engine.compile.products import Labelled, Products, Shape4, Splitter, align, shape4
from pgbn.engine.compile.program import Program, dims_here, read_operand
from pgbn.engine.plan import Counts, Draw, Run, check_posterior, maker
from pgbn.network.sumproduct import (
    FirstRow,
    LaterRows,
    Operand,
    PreviousRow,
    TimeExposure,
    operand_of,
    reduce_product,
)
from pgbn.network.terms import ALWAYS, FIRST, LATER, PREVIOUS, Factor, Term
from pgbn.nodes.base import Latent, Node, draw_node
from pgbn.nodes.categorical import choices
from pgbn.nodes.rules import Evidence, EvidenceRule, checked_rule, drawn_counts, is_own
from pgbn.samplers import vectorised
from pgbn.samplers.elementary import exp_of
from pgbn.samplers.random import Stream, stream_key

Array = NDArray[np.float64]


@maker("time", Draw)
def state_draw(program: Program, task: Draw) -> Run | None:
    """Draw a chain of finite choices, given all that depends on it: forward filtering, backward
    sampling.

        α_t(k) ∝ F_k(x_t) Σ_l α_{t−1}(l) P_t(l, k)
        z_T ~ α_T,   P(z_t = l | z_{t+1} = k) ∝ α_t(l) P_{t+1}(l, k)

    F_k is the density of all that depends on z_t, P_t(l, k) the probability of k after l and, in
    the first row, that of k. Both are read off the network at the values "every row is in state k".
    """
    node, name = task.node, task.node.name
    if not (isinstance(node, Latent) and node.finite):
        return None
    conditional, shape = ConditionalDensity(program, node), program.shape4[name]
    along = program.wiring.connections.time_dim(name)
    assert along is not None
    (slot,) = node.slots()
    probability, stored = program.slot(name, slot).get, program.storage[name]
    axis, time = program.stream(name, 0).simplex, len(shape) - len(stored) + stored.index(along)

    def run(key: int) -> None:
        stream, every = program.stream(name, key), choices(shape, axis)
        logs = np.concatenate([conditional.likelihood(state) for state in every], axis=axis)
        weights = _by_row(np.broadcast_to(logs, shape), axis, time)
        before, rows = program.values[name], []
        for state in every:
            program.values[name] = state.reshape(program.shape[name])
            rows.append(_by_row(np.broadcast_to(probability(), shape), axis, time))
        program.values[name], moves = before, np.stack(rows, axis=1)
        uniforms = _by_row(vectorised.uniform(stream), axis, time)[..., 0]
        states = sample_states(filter_states(weights, moves), moves, uniforms)
        value = np.moveaxis(np.eye(shape[axis])[states], (0, -1), (time, axis))
        program.values[name] = np.ascontiguousarray(value).reshape(program.shape[name])

    return run


def _by_row(array: Array, axis: int, time: int) -> Array:
    """An array with the rows of time first and the states last."""
    return np.moveaxis(array, (time, axis), (0, -1))


def filter_states(log_weights: Array, moves: Array) -> Array:
    """α: (T, …, K), each row summing to one, from ln F (T, …, K) and P (T, from, …, to)."""
    filtered = np.empty(log_weights.shape)
    for row, logs in enumerate(log_weights):
        weight = exp_of(logs - logs.max(axis=-1, keepdims=True))
        predicted: Any = moves[0, 0] if row == 0 else sum(
            filtered[row - 1][..., state, None] * move for state, move in enumerate(moves[row])
        )  # fmt: skip
        each = weight * predicted
        total = each.sum(axis=-1, keepdims=True)
        filtered[row] = np.where(total > 0, each / np.where(total > 0, total, 1.0), predicted)
    return filtered


def sample_states(filtered: Array, moves: Array, uniforms: Array) -> NDArray[np.int64]:
    """The states (T, …), from the last row to the first, one uniform number each."""
    states = np.empty(filtered.shape[:-1], np.int64)
    for row in reversed(range(len(filtered))):
        weights = filtered[row]
        if row + 1 < len(filtered):
            chosen = states[row + 1][None, ..., None]
            backward = np.take_along_axis(moves[row + 1], chosen, axis=-1)[..., 0]  # (from, …)
            weights = weights * np.moveaxis(backward, 0, -1)
        sums = np.cumsum(weights, axis=-1)
        below = (sums <= (uniforms[row] * sums[..., -1])[..., None]).sum(axis=-1)
        last = (weights > 0).cumsum(axis=-1).argmax(axis=-1)  # in case rounding leaves a remainder
        states[row] = np.minimum(below, last)
    return states


# ---- a node in time, row by row -----------------------------------------------------------------


class Rows:
    """The rows of one node in time: all arrays are aligned with a single row, without the dim
    ``along``.

    Row t has the shape a_t = Σ_terms …(θ_{t−lag})…; the terms that count change at the lags of its
    Shifts. The rows between two lags have one phase.
    """

    def __init__(self, program: Program, node: Node) -> None:
        self.program, self.node, self.name = program, node, node.name
        self.slot = next(
            slot for slot in node.slots() if program.wiring.polynomials[node.name, slot].along
        )
        polynomial = program.wiring.polynomials[node.name, self.slot]
        assert polynomial.along is not None
        self.along = polynomial.along
        self.length = program.sizes[self.along]
        self.dims = tuple(dim for dim in program.storage[node.name] if dim != self.along)
        self.axis = program.storage[node.name].index(self.along) + 1
        self.shape4: Shape4 = shape4(self.dims, program.sizes, program.replicates)
        self.now = 0
        self.lags = polynomial.lags
        self.terms = {
            begin: tuple(term for term in polynomial.terms if term.counts_at(begin))
            for begin in (0, *self.lags)
        }
        self.lagged = tuple(term for term in polynomial.terms if term.phase == LATER)
        self._values = {
            phase: [align(self.term(term), self.dims, program.sizes).get for term in terms]
            for phase, terms in self.terms.items()
        }

    @property
    def rule(self) -> EvidenceRule:
        """The messages of the rows to the slot of their recursion."""
        return self.program.wiring.rules[self.name, self.slot]

    @property
    def phase(self) -> int:
        """The first of the rows in which the same terms count as in the current one."""
        return max(begin for begin in (0, *self.lags) if begin <= self.now)

    def row(self, labelled: Labelled) -> Labelled:
        """A quantity at the current row."""
        if self.along not in labelled.dims:
            return labelled
        axis, get = labelled.dims.index(self.along) + 1, labelled.get
        dims = tuple(dim for dim in labelled.dims if dim != self.along)
        return Labelled(lambda: get().take(self.now, axis), dims, labelled.replicates)

    def read(self, operand: Operand) -> Labelled:
        """An operand at the current row; the node itself is read its lag earlier."""
        if not isinstance(operand, PreviousRow):
            return self.row(self.program.read(operand))
        names = dict(zip(operand.own_dims, operand.dims, strict=True))
        dims = tuple(names[dim] for dim in self.dims)
        values, name, lag = self.program.values, self.name, operand.lag
        return Labelled(lambda: values[name].take(self.now - lag, self.axis), dims,
                        self.program.replicates)  # fmt: skip

    def factor(self, factor: Factor) -> Labelled:
        """A factor at the current row."""
        return self.read(operand_of(factor, self.node))

    def term(self, term: Term) -> Labelled:
        """The value of a term at the current row."""
        operands = [operand_of(factor, self.node) for factor in term.factors]
        product = reduce_product(term.coefficient, operands, term.contracted)
        return Products(self.read, self.program.sizes).compile(product)

    def wants(self, factor: Factor) -> bool:
        """Whether a factor receives its counts."""
        return factor.previous or factor.name in self.program.wiring.sources

    def shape(self) -> Any:
        """The slot's value at the current row, 4-d."""
        total: Any = 0.0
        for value in self._values[self.phase]:
            total = total + value()
        return total

    def at_row(self, quantity: Labelled) -> Callable[[], Any]:
        """A quantity that is aligned with the node, evaluated now, row by row."""
        value: Any = quantity.get()
        if not isinstance(value, np.ndarray):
            return lambda: value
        axis = value.ndim - len(self.program.storage[self.name]) + self.axis - 1

        def row() -> NDArray[Any]:
            one = value.take(0 if value.shape[axis] == 1 else self.now, axis)
            # one of the axes is gone: put a leading one in its place, if there were three at most
            return np.reshape(one, (one.shape[0], *(1,) * (4 - one.ndim), *one.shape[1:]))

        return row

    def stream(self, key: int) -> Stream:
        simplex = self.node.simplex
        first = len(self.shape4) - len(self.dims)
        axis = len(self.shape4) - 1 if simplex is None else first + self.dims.index(simplex)
        return Stream(stream_key(key, self.now), self.shape4, self.program.executor, axis)

    def splitters(self) -> dict[int, Splitter]:
        return {
            phase: Splitter(self.program, terms, self.dims, self.shape4, self)
            for phase, terms in self.terms.items()
            if terms
        }

    def quantities(self, names: Any) -> dict[str, Callable[[], Any]]:
        """The named quantities, except the node's own slot, row by row."""
        return {
            name: self.shape
            if name == self.slot
            else self.at_row(self.program.quantity(self.node, name))
            for name in names
        }


# ---- exposures: row t receives those of its children and what row t + lag passes back -----------


def time_exposures(rows: Rows) -> list[Any]:
    """ζ_t = rule(q_t + what row t + lag passes back, rates): one 4-d array (or number) a row."""
    program, rule = rows.program, rows.rule
    if isinstance(rule.exposure, (int, float)):  # a kept value has an exposure of its own
        return [float(rule.exposure)] * rows.length
    assert callable(rule.exposure)
    received = rows.at_row(program.exposure(rows.name))
    others = rows.quantities(name for name in rule.exposure_reads if name != "exposure")
    cell: list[Any] = [0.0]
    back = [backward(rows, term, cell) for term in rows.lagged]
    exposures: list[Any] = [0.0] * rows.length
    for now in reversed(range(rows.length)):
        rows.now = now
        arguments = {name: get() for name, get in others.items()}
        if "exposure" in rule.exposure_reads:
            arguments["exposure"] = received() + passed_back(rows, back, cell, exposures)
        exposure = rule.exposure
        if is_own(exposure):
            shape = np.broadcast_shapes(*map(np.shape, arguments.values()))
            exposure = checked_rule(exposure, rows.node, rows.slot, shape)
        exposures[now] = exposure(**arguments)
    return exposures


def passed_back(rows: Rows, back: list[Any], cell: list[Any], exposures: list[Any]) -> Any:
    """The exposure that later rows pass back to the current one."""
    total: Any = 0.0
    now = rows.now
    for term, get in zip(rows.lagged, back, strict=True):
        rows.now = now + term.lag
        if rows.now < rows.length:
            cell[0] = exposures[rows.now]
            total = total + get()
    rows.now = now
    return total


def backward(rows: Rows, term: Term, cell: list[Any]) -> Callable[[], Any]:
    """The exposure of an earlier row that comes through one term, from that in ``cell``."""
    own = next(factor for factor in term.factors if factor.previous)
    program = rows.program
    dims = program.wiring.exposures.rule_dims(rows.node, rows.slot)
    kept = tuple(dim for dim in rows.dims if dim in dims)
    zeta = Operand(name=rows.name, dims=kept)
    shape = (program.replicates, *(program.sizes[dim] for dim in kept))

    def passed() -> NDArray[Any]:
        full = np.broadcast_to(_without_padding(rows, cell[0], kept), shape)
        return np.ascontiguousarray(full)

    def read(operand: Operand) -> Labelled:
        return Labelled(passed, kept, program.replicates) if operand is zeta else rows.read(operand)

    others = [operand_of(factor, rows.node) for factor in term.factors if factor is not own]
    every = dict.fromkeys((*rows.dims, *term.contracted))
    over = [dim for dim in every if dim not in own.dims]
    product = reduce_product(term.coefficient, [zeta, *others], over)
    found = Products(read, program.sizes).compile(product)
    names = dict(zip(own.dims, rows.node.axes, strict=True))
    renamed = replace(found, dims=tuple(names[dim] for dim in found.dims))
    return align(renamed, rows.dims, program.sizes).get


def _without_padding(rows: Rows, value: Any, dims: tuple[str, ...]) -> NDArray[np.float64]:
    """An array that is aligned with a row, a number or 4-d, as (R or 1, *dims)."""
    array = np.asarray(value, np.float64)
    if not array.ndim:
        return array
    first = array.ndim - len(rows.dims)
    return array.reshape((-1, *(array.shape[first + rows.dims.index(dim)] for dim in dims)))


def stack_rows(
    rows: Rows, each: list[Any], counts: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """The exposures of every row as one array, (R, *dims); 0 for a row that does not count."""
    program, kept = rows.program, _kept(rows)
    inner = tuple(dim for dim in kept if dim != rows.along)
    shape = (program.replicates, *(program.sizes[dim] for dim in inner))
    out = [
        np.broadcast_to(
            _without_padding(rows, value, inner) * (counts is None or bool(counts[now])), shape
        )
        for now, value in enumerate(each)
    ]
    return np.ascontiguousarray(np.stack(out, axis=kept.index(rows.along) + 1))


def _kept(rows: Rows) -> tuple[str, ...]:
    """The dims of the messages of a node in time to its slot, as they are stored."""
    dims = rows.program.wiring.exposures.rule_dims(rows.node, rows.slot)
    return tuple(dim for dim in rows.program.storage[rows.name] if dim in dims)


def time_exposure(program: Program, node: Node, slot: str, phase: str, lag: int = 1) -> Labelled:
    """The exposure that a node in time passes to its slot, all rows; 0 where terms of this phase
    and lag do not count."""
    rows = Rows(program, node)
    kept, first = _kept(rows), np.arange(rows.length) < lag
    times = None if phase in ("", ALWAYS) else first if phase == FIRST else ~first
    if rows.rule.drawn is None:
        return Labelled(lambda: stack_rows(rows, time_exposures(rows), times), kept,
                        program.replicates)  # fmt: skip
    shape = [-1 if dim == rows.along else 1 for dim in kept]
    here = np.ones(1) if times is None else times.reshape(shape).astype(np.float64)

    def drawn() -> NDArray[np.float64]:
        sizes = (program.replicates, *(program.sizes[dim] for dim in kept))
        return np.asarray(program.drawn[node.name, slot].reshape(sizes) * here)

    return Labelled(drawn, kept, program.replicates)


# ---- the operands of nodes in time --------------------------------------------------------------


@read_operand.register(TimeExposure)
def _rest(operand: TimeExposure, program: Program) -> Labelled:
    return time_exposure(program, program.network.nodes[operand.name], operand.slot,
                         operand.phase, operand.lag)  # fmt: skip


@read_operand.register(FirstRow)
@read_operand.register(LaterRows)
def _rows(operand: FirstRow | LaterRows, program: Program) -> Labelled:
    first = np.arange(program.sizes[operand.dims[0]]) < operand.lag
    chosen = (first if isinstance(operand, FirstRow) else ~first).astype(np.float64)[None]
    return Labelled(lambda: chosen, operand.dims, 1)


@read_operand.register(PreviousRow)
def _previous(operand: PreviousRow, program: Program) -> Labelled:
    """The value its lag earlier; zero in the first rows."""
    name, lag = operand.name, operand.lag
    along = program.wiring.connections.time_dim(name)
    assert along is not None
    axis = program.storage[name].index(along) + 1

    def get() -> NDArray[np.float64]:
        value = np.roll(program.values[name], lag, axis=axis)
        value[(slice(None),) * axis + (slice(lag),)] = 0.0
        return value

    return Labelled(get, dims_here(operand, program), program.replicates)


# ---- steps: counts backward, values forward -----------------------------------------------------


@maker("time", Counts)
def time_counts(program: Program, task: Counts) -> Run:
    """Backward: the tables of every row, shared between the previous row and other parents."""
    node = task.node
    rows = Rows(program, node)
    splitters = rows.splitters()
    count = rows.rule.count
    assert callable(count)
    received = program.received_count(node.name)
    names = program.wiring.polynomials[node.name, rows.slot].names
    parents = [name for name in names if name in program.wiring.sources]

    def run(key: int) -> None:
        own = rows.at_row(received)
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
                        continue
                    target, stored = collected[factor.name], program.storage[factor.name]
                    if factor.lookups:  # before its entries receive them
                        stored = program.view(factor.lookups, stored).dims
                        sizes = (program.sizes[dim] for dim in stored)
                        empty = np.zeros((program.replicates, *sizes), np.int64)
                        target = seen.setdefault(factor, empty)
                    names = dict(zip(factor.own_dims, factor.dims, strict=True))
                    _add(rows, target, [names[dim] for dim in stored], counts)
        for factor, counts in seen.items():
            view = program.view(factor.lookups, program.storage[factor.name])
            collected[factor.name] += view.counts(counts)
        program.counts[node.name, PREVIOUS] = passed
        if rows.rule.drawn is not None:
            program.drawn[node.name, rows.slot] = stack_rows(rows, exposures)
        for parent, counts in collected.items():
            program.counts[node.name, parent] = counts

    return run


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
    """Draw the rows from first to last; ``drawn`` draws the current row, in a shape. If the values
    of the ``first`` rows are given, draw the others."""
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
    """Generate a node in time from its slots, after the ``first`` rows if those are given."""

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
    if not rule.receives:
        return None
    posterior = rule.posterior
    needed = signature(posterior).parameters
    received = program.received_count(node.name)

    def drawn(rows: Rows) -> Callable[[Stream, tuple[int, ...]], Any]:
        exposures = time_exposures(rows) if "exposure" in needed else []
        cell: list[Any] = [0.0]
        back = [backward(rows, term, cell) for term in rows.lagged]
        own_exposure = rows.at_row(program.exposure(node.name))
        own_count = rows.at_row(received)
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
            check_posterior(node, slots, updated)
            return draw_node(node, stream, shape, {**values, **updated})

        return at_row

    draw = _forward(program, node, drawn)

    def run(key: int) -> None:
        program.values[node.name] = draw(key)

    return run
