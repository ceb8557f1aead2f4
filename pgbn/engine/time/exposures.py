"""Exposures of a node in time: row t hears its own children and what row t + lag passes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.layout import Labelled, align
from pgbn.engine.compile.operands import dims_here, read_operand
from pgbn.engine.compile.products import compile_product
from pgbn.engine.compile.program import Program
from pgbn.engine.time.rows import Rows
from pgbn.network.sumproduct import (
    FirstRow,
    LaterRows,
    Operand,
    PreviousRow,
    TimeExposure,
    reduce_product,
)
from pgbn.network.terms import ALWAYS, FIRST, Term
from pgbn.nodes.base import Node
from pgbn.nodes.rules.registry import is_own
from pgbn.nodes.rules.results import checked_rule

__all__ = ["backward", "passed_back", "stack_rows", "time_exposure", "time_exposures"]


def time_exposures(rows: Rows) -> list[Any]:
    """ζ_t = rule(q_t + what row t + lag passes back, rates): one 4-d array (or number) a row."""
    program, rule = rows.program, rows.rule
    if isinstance(rule.exposure, (int, float)):  # what is held tells of itself alone
        return [float(rule.exposure)] * rows.length
    assert callable(rule.exposure)
    heard = rows.at_row(program.exposure(rows.name))
    others = rows.quantities(name for name in rule.exposure_reads if name != "exposure")
    cell: list[Any] = [0.0]
    back = [backward(rows, term, cell) for term in rows.lagged]
    exposures: list[Any] = [0.0] * rows.length
    for now in reversed(range(rows.length)):
        rows.now = now
        arguments = {name: get() for name, get in others.items()}
        if "exposure" in rule.exposure_reads:
            arguments["exposure"] = heard() + passed_back(rows, back, cell, exposures)
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
    own = [factor for factor in term.factors if factor.previous]
    program = rows.program
    dims = program.wiring.exposures.rule_dims(rows.node, rows.slot)
    kept = tuple(dim for dim in rows.dims if dim in dims)

    def read(operand: Operand) -> Labelled:
        if operand is not zeta:
            return rows.read(operand)
        shape = tuple(program.sizes[dim] for dim in kept)

        def get() -> NDArray[Any]:
            value = np.asarray(cell[0], np.float64)
            first = value.ndim - len(rows.dims)
            full = value.reshape((-1, *(value.shape[first + rows.dims.index(d)] for d in kept)
                                  )) if value.ndim else value.reshape(
                                      (1, *(1,) * len(kept)))  # fmt: skip
            return np.ascontiguousarray(np.broadcast_to(full, (program.replicates, *shape)))

        return Labelled(get, kept, program.replicates)

    zeta = Operand(name=rows.name, dims=kept)
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


def stack_rows(
    rows: Rows, each: list[Any], counts: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """The exposures of every row as one array, (R, *dims); 0 where a row does not count."""
    program, kept = rows.program, _kept(rows)
    inner = tuple(dim for dim in kept if dim != rows.along)
    shape = (program.replicates, *(program.sizes[dim] for dim in inner))
    out = []
    for now, value in enumerate(each):
        array = np.asarray(value, np.float64)
        if array.ndim:
            sizes = [
                array.shape[array.ndim - len(rows.dims) + rows.dims.index(dim)] for dim in inner
            ]
            array = array.reshape((-1, *sizes))
        out.append(np.broadcast_to(array * (counts is None or bool(counts[now])), shape))
    return np.ascontiguousarray(np.stack(out, axis=kept.index(rows.along) + 1))


def _kept(rows: Rows) -> tuple[str, ...]:
    """The dims of what a node in time passes to its slot, as they are stored."""
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


# ---- what is special of the operands of nodes in time ------------------------------------


@read_operand.register(TimeExposure)
def _rest(operand: TimeExposure, program: Program) -> Labelled:
    return time_exposure(program, program.network.nodes[operand.name], operand.slot,
                         operand.phase, operand.lag)  # fmt: skip


@read_operand.register(FirstRow)
def _first(operand: FirstRow, program: Program) -> Labelled:
    first = (np.arange(program.sizes[operand.dims[0]]) < operand.lag).astype(np.float64)[None]
    return Labelled(lambda: first, operand.dims, 1)


@read_operand.register(LaterRows)
def _later(operand: LaterRows, program: Program) -> Labelled:
    later = (np.arange(program.sizes[operand.dims[0]]) >= operand.lag).astype(np.float64)[None]
    return Labelled(lambda: later, operand.dims, 1)


@read_operand.register(PreviousRow)
def _previous(operand: PreviousRow, program: Program) -> Labelled:
    """The value its lag before; zero in the first rows."""
    name, lag = operand.name, operand.lag
    along = program.wiring.connections.time_dim(name)
    assert along is not None
    axis = program.storage[name].index(along) + 1

    def get() -> NDArray[np.float64]:
        value = np.roll(program.values[name], lag, axis=axis)
        value[(slice(None),) * axis + (slice(lag),)] = 0.0
        return value

    return Labelled(get, dims_here(operand, program), program.replicates)
