"""Markov chains in one node: scanned backward on the way up, forward on the way down.

Row t of the chain has the shape a_t = Σ_terms …(θ_{t−1})…. Backward, row t hears the counts of
its own children and those that row t+1 passes back, and shares its tables between the row
before and the other parents. Exposures run backward in the same way. Forward, row t is drawn
given the new row t−1.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.layout import Labelled, Shape4, align, shape4
from pgbn.nodes.base import Node
from pgbn.products import compile_product
from pgbn.program import Program
from pgbn.random import stream_key
from pgbn.samplers.stream import Stream
from pgbn.splitting import Splitter
from pgbn.sumproduct import Operand, operand_of, reduce_product
from pgbn.terms import ALWAYS, FIRST, LATER, Factor, Term

__all__ = ["chain_counts", "chain_draw", "chain_exposure", "chain_prior"]


class _Rows:
    """The rows of one chain node: everything beside a single row, the dim ``along`` left out."""

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
        self.shape4: Shape4 = shape4(self.name, self.dims, program.sizes, program.replicates)
        self.now = 0
        self.terms = {
            phase: tuple(term for term in polynomial.terms if term.phase in (ALWAYS, phase))
            for phase in (FIRST, LATER)
        }
        self.rule = program.wiring.rules[node.name, self.slot]
        self._values = {
            phase: [self._term_value(term) for term in terms] for phase, terms in self.terms.items()
        }

    @property
    def phase(self) -> str:
        return FIRST if self.now == 0 else LATER

    def row(self, labelled: Labelled) -> Labelled:
        """A quantity at the current row."""
        if self.along not in labelled.dims:
            return labelled
        axis = labelled.dims.index(self.along) + 1
        dims = tuple(dim for dim in labelled.dims if dim != self.along)
        get = labelled.get
        return Labelled(
            lambda: np.ascontiguousarray(np.moveaxis(get(), axis, 0)[self.now]),
            dims,
            labelled.replicates,
        )

    def read(self, operand: Operand) -> Labelled:
        """An operand at the current row; the chain itself one row before."""
        if operand.kind != "previous":
            return self.row(self.program.read(operand))
        names = dict(zip(operand.own_dims, operand.dims, strict=True))
        dims = tuple(names[dim] for dim in self.dims)
        values, name = self.program.values, self.name
        return Labelled(
            lambda: np.ascontiguousarray(np.moveaxis(values[name], self.axis, 0)[self.now - 1]),
            dims,
            self.program.replicates,
        )

    def operand(self, factor: Factor) -> Operand:
        return operand_of(factor, self.node)

    def term(self, term: Term) -> Labelled:
        """The value of a term at the current row."""
        operands = [self.operand(factor) for factor in term.factors]
        product = reduce_product(term.coefficient, operands, term.contracted)
        return compile_product(product, self.read, self.program.sizes)

    def _term_value(self, term: Term) -> Callable[[], Any]:
        return align(self.term(term), self.dims, self.program.sizes)

    def shape(self) -> Any:
        """The slot's value at the current row, 4-d."""
        total: Any = 0.0
        for value in self._values[self.phase]:
            total = total + value()
        return total

    def at_row(self, quantity: Any) -> Callable[[], Any]:
        """An aligned quantity of the whole node, evaluated now, seen row by row."""
        value = quantity.get()
        if not isinstance(value, np.ndarray):
            return lambda: value
        node_dims = self.program.storage[self.name]
        axis = 4 - len(node_dims) + self.axis - 1
        if value.shape[axis] == 1:
            rows = np.ascontiguousarray(np.moveaxis(value, axis, 1)).reshape(
                (value.shape[0], 1, *(s for i, s in enumerate(value.shape) if i not in (0, axis)))
            )
            return lambda: rows[:, 0].reshape(self._target(rows[:, 0]))
        moved = np.moveaxis(value, axis, 0)
        return lambda: np.ascontiguousarray(moved[self.now]).reshape(self._target(moved[self.now]))

    @staticmethod
    def _target(row: NDArray[Any]) -> Shape4:
        # one of the three axes is gone: put a leading one in its place
        return (row.shape[0], 1, row.shape[1], row.shape[2])

    def stream(self, key: int) -> Stream:
        return Stream(stream_key(key, self.now), self.shape4, self.program.threads)

    def splitters(self) -> dict[str, Splitter]:
        return {
            phase: Splitter(
                terms,
                self.dims,
                self.shape4,
                self.program.sizes,
                lambda factor: self.read(self.operand(factor)),
                lambda f: f.name == "self" or f.name in self.program.wiring.sources,
                self.term,
                self.program.threads,
            )
            for phase, terms in self.terms.items()
            if terms
        }

    def quantities(self, names: Any) -> dict[str, Callable[[], Any]]:
        """The named quantities, except the chain's own slot, row by row."""
        return {
            name: self.shape
            if name == self.slot
            else self.at_row(self.program.quantity(self.node, name))
            for name in names
        }


def chain_exposures(rows: _Rows) -> list[Any]:
    """ζ_t = rule(q_t + what row t+1 passes back, rates): one 4-d array (or number) a row."""
    program, rule = rows.program, rows.rule
    assert callable(rule.exposure)
    heard = rows.at_row(program.exposure(rows.name))
    others = rows.quantities(name for name in rule.exposure_reads if name != "exposure")
    cell: list[Any] = [0.0]
    back = [_backward(rows, term, cell) for term in rows.terms[LATER]]
    exposures: list[Any] = [0.0] * rows.length
    for now in reversed(range(rows.length)):
        rows.now = now
        arguments = {name: get() for name, get in others.items()}
        if "exposure" in rule.exposure_reads:
            arguments["exposure"] = heard() + passed_back(rows, back, cell, exposures)
        exposures[now] = rule.exposure(**arguments)
    return exposures


def passed_back(rows: _Rows, back: list[Any], cell: list[Any], exposures: list[Any]) -> Any:
    """The exposure that the next row passes back to the current one."""
    if rows.now == rows.length - 1:
        return 0.0
    rows.now += 1
    cell[0] = exposures[rows.now]
    total: Any = 0.0
    for get in back:
        if get is not None:
            total = total + get()
    rows.now -= 1
    return total


def _backward(rows: _Rows, term: Term, cell: list[Any]) -> Callable[[], Any] | None:
    """The exposure of the previous row that comes through one term, from that in ``cell``."""
    own = [factor for factor in term.factors if factor.name == "self"]
    if not own:
        return None
    program = rows.program
    dims = program.wiring.rule_dims(rows.node, rows.slot)
    kept = tuple(dim for dim in rows.dims if dim in dims)

    def read(operand: Operand) -> Labelled:
        if operand.kind != "rest":
            return rows.read(operand)
        shape = tuple(program.sizes[dim] for dim in kept)

        def get() -> NDArray[Any]:
            value = np.asarray(cell[0], np.float64)
            full = value.reshape((-1, *(value.shape[1 + 3 - len(rows.dims) + rows.dims.index(d)]
                                        for d in kept))) if value.ndim else value.reshape(
                                            (1, *(1,) * len(kept)))  # fmt: skip
            return np.ascontiguousarray(np.broadcast_to(full, (program.replicates, *shape)))

        return Labelled(get, kept, program.replicates)

    zeta = Operand("rest", rows.name, kept)
    others = [rows.operand(factor) for factor in term.factors if factor is not own[0]]
    every = dict.fromkeys((*rows.dims, *term.contracted))
    over = [dim for dim in every if dim not in own[0].dims]
    product = reduce_product(term.coefficient, [zeta, *others], over)
    labelled = compile_product(product, read, program.sizes)
    names = dict(zip(own[0].dims, rows.node.axes, strict=True))
    renamed = Labelled(
        labelled.get, tuple(names[d] for d in labelled.dims), labelled.replicates, labelled.value
    )
    return align(renamed, rows.dims, program.sizes)


def chain_exposure(program: Program, node: Node, slot: str, phase: str) -> Labelled:
    """The exposure that the chain passes to its slot, all rows; zero where ``phase`` is not."""
    rows = _Rows(program, node)
    kept = tuple(
        dim for dim in program.storage[node.name] if dim in program.wiring.rule_dims(node, slot)
    )
    inner = tuple(dim for dim in kept if dim != rows.along)
    shape = (program.replicates, *(program.sizes[dim] for dim in inner))

    def get() -> NDArray[np.float64]:
        each = chain_exposures(rows)
        stacked = []
        for now, value in enumerate(each):
            counts = phase in ("", ALWAYS) or (phase == FIRST) == (now == 0)
            array = np.asarray(value, np.float64)
            if array.ndim:
                sizes = [array.shape[4 - len(rows.dims) + rows.dims.index(dim)] for dim in inner]
                array = array.reshape((-1, *sizes))
            stacked.append(np.broadcast_to(array * counts, shape))
        return np.ascontiguousarray(np.stack(stacked, axis=kept.index(rows.along) + 1))

    return Labelled(get, kept, program.replicates)


def chain_counts(program: Program, node: Node) -> Callable[[int], None]:
    """Backward: the tables of every row, shared between the row before and other parents."""
    rows = _Rows(program, node)
    splitters = rows.splitters()
    count = rows.rule.count
    assert callable(count)
    heard = program.heard_count(node.name)
    names = program.wiring.polynomials[node.name, rows.slot].names
    parents = [name for name in names if name in program.wiring.sources]

    def run(key: int) -> None:
        own = rows.at_row(heard)
        arguments = rows.quantities(n for n in rows.rule.count_reads if n != "count")
        collected = {name: np.zeros(program.shape[name], np.int64) for name in parents}
        passed = np.zeros((rows.length, *rows.shape4), np.int64)  # [t]: from row t+1 to row t
        for now in reversed(range(rows.length)):
            rows.now = now
            total = own() + passed[now]
            values = {name: get() for name, get in arguments.items()}
            tables = count(stream=rows.stream(key), count=total, **values)
            splitter = splitters.get(rows.phase)
            if splitter is None:
                continue
            shares = splitter.dense(stream_key(key, rows.length + now), tables)
            for term, share in zip(rows.terms[rows.phase], shares, strict=True):
                for factor, counts in zip(term.factors, share, strict=True):
                    if counts is None:
                        continue
                    if factor.name == "self":
                        passed[now - 1] += counts.reshape(rows.shape4)
                    else:
                        _collect(rows, factor, counts, collected)
        program.counts[node.name, "self"] = passed
        for parent, counts in collected.items():
            program.counts[node.name, parent] = counts

    return run


def _collect(
    rows: _Rows, factor: Factor, counts: NDArray[np.int64], collected: dict[str, NDArray[np.int64]]
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
    program: Program, node: Node, parameters: Callable[[_Rows], Callable[[], dict[str, Any]]]
) -> Callable[[int], NDArray[Any]]:
    """Draw the rows from first to last; ``parameters`` gives those of the current row."""
    rows = _Rows(program, node)

    def run(key: int) -> NDArray[Any]:
        value = np.zeros(program.shape[node.name])
        by_row = np.moveaxis(value, rows.axis, 0)
        at_row = parameters(rows)
        kept = program.values.get(node.name)
        program.values[node.name] = value
        for now in range(rows.length):
            rows.now = now
            draw = node.generate(rows.stream(key), **at_row())
            by_row[now] = draw.reshape(by_row[now].shape)
        if kept is not None:
            program.values[node.name] = kept
        return value

    return run


def chain_prior(program: Program, node: Node) -> Callable[[int], NDArray[Any]]:
    """Generate a chain from its slots."""

    def parameters(rows: _Rows) -> Callable[[], dict[str, Any]]:
        slots = rows.quantities(node.slots())
        return lambda: {slot: get() for slot, get in slots.items()}

    return _forward(program, node, parameters)


def chain_draw(program: Program, node: Node) -> Callable[[int], None]:
    """Draw a chain given the counts and exposures of every row."""
    posterior = program.wiring.draws[node.name].posterior
    needed = inspect.signature(posterior).parameters
    heard = program.heard_count(node.name)

    def parameters(rows: _Rows) -> Callable[[], dict[str, Any]]:
        exposures = chain_exposures(rows)
        cell: list[Any] = [0.0]
        back = [_backward(rows, term, cell) for term in rows.terms[LATER]]
        own_exposure = rows.at_row(program.exposure(node.name))
        own_count = rows.at_row(heard)
        slots = rows.quantities(node.slots())
        back_counts = program.counts.get((node.name, "self"))

        def at_row() -> dict[str, Any]:
            values = {slot: get() for slot, get in slots.items()}
            arguments = {name: values[name] for name in needed if name in values}
            if "count" in needed:
                arguments["count"] = own_count()
                if back_counts is not None:
                    arguments["count"] = arguments["count"] + back_counts[rows.now]
            if "exposure" in needed:
                arguments["exposure"] = own_exposure() + passed_back(rows, back, cell, exposures)
            return {**values, **posterior(**arguments)}

        return at_row

    draw = _forward(program, node, parameters)

    def run(key: int) -> None:
        program.values[node.name] = draw(key)

    return run
