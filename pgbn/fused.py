"""Kernels that do several rules at once, used in place of the composed rules where they fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgbn.nodes.base import Node
from pgbn.nodes.gamma import Gamma, tables_of_gamma
from pgbn.samplers.gamma_layer import BLOCK, draw_layer, draw_top
from pgbn.samplers.tables import LANES, share_tables
from pgbn.samplers.threads import run_calls, run_rows
from pgbn.splitting import blocks_of
from pgbn.sumproduct import operand_of

if TYPE_CHECKING:
    from pgbn.program import Program

__all__ = ["fused_draw", "fused_tables"]

_PARALLEL = 20_000  # entries; below it, threads cost more than they save


@dataclass(frozen=True, slots=True)
class _Mix:
    """coefficient · φ·θ: the names of the two nodes, and the size of the dim summed over."""

    coefficient: float
    phi: str
    theta: str
    topics: int


def _find_mix(program: Program, node: Node, slot: str) -> _Mix | None:
    """The mix in a slot, if that is its form and if φ has the dims (last dim of the node, topic)
    and θ (the other dims, topic), in memory."""
    polynomial = program.wiring.polynomials[node.name, slot]
    if len(polynomial.terms) != 1 or polynomial.along is not None:
        return None
    term = polynomial.terms[0]
    if len(term.contracted) != 1 or len(term.factors) != 2:
        return None
    topic, dims = term.contracted[0], program.storage[node.name]
    factors = {
        program.read(operand_of(f)).dims: f.name
        for f in term.factors
        if f.name in program.wiring.sources
    }
    phi, theta = factors.get((dims[-1], topic)), factors.get((*dims[:-1], topic))
    if phi is None or theta is None:
        return None
    return _Mix(term.coefficient, phi, theta, program.sizes[topic])


def _rows_of(program: Program, node: Node) -> int:
    return prod(program.sizes[dim] for dim in program.storage[node.name][:-1])


def fused_tables(program: Program, node: Node, slot: str) -> Callable[[int], None] | None:
    """CRT and split of a gamma whose shape is φ·θ, or None if the slot has another form."""
    if program.wiring.rules[node.name, slot].count is not tables_of_gamma:
        return None
    mix = _find_mix(program, node, slot)
    if mix is None:
        return None
    heard = program.heard_count(node.name).get
    documents = _rows_of(program, node)
    rows = program.replicates * documents
    values, counts = program.values, program.counts

    def run(key: int) -> None:
        m = heard().reshape(rows, -1)
        scores = values[mix.theta].reshape(rows, mix.topics)
        phi = _padded(values[mix.phi])
        n_theta = np.empty((rows, mix.topics), np.int64)
        blocks = blocks_of(rows, program.threads if m.size > _PARALLEL else 1)
        shares = [np.zeros(program.shape[mix.phi], np.int64) for _ in blocks]
        run_calls(program.threads, [
            partial(share_tables, np.uint64(key), start, stop, documents, mix.coefficient, m,
                    scores, phi, share, n_theta)
            for (start, stop), share in zip(blocks, shares, strict=True)
        ])  # fmt: skip
        for share in shares[1:]:
            shares[0] += share
        counts[node.name, mix.phi] = shares[0]
        counts[node.name, mix.theta] = n_theta.reshape(program.shape[mix.theta])

    return run


def _padded(phi: NDArray[np.float64]) -> NDArray[np.float64]:
    """φ with zeros up to whole lanes."""
    missing = -phi.shape[2] % LANES
    return np.pad(phi, ((0, 0), (0, 0), (0, missing))) if missing else phi


def fused_draw(program: Program, node: Node) -> Callable[[int], None] | None:
    """The draw of a layer of gammas whose shape is φ·θ, or the same for all its rows, and whose
    rate and exposure are the same along its last dim; None if it has another form."""
    dims = program.storage[node.name]
    if type(node) is not Gamma or len(dims) < 2:
        return None
    rate, exposure = program.slot(node.name, "rate"), program.exposure(node.name)
    count, shape = program.heard_count(node.name), program.slot(node.name, "shape")
    if dims[-1] in rate.dims | exposure.dims or count.dims != frozenset(dims):
        return None
    mix = _find_mix(program, node, "shape")
    if mix is None and shape.dims - {dims[-1]}:
        return None
    rows, replicates = _rows_of(program, node), program.replicates
    columns, values = program.sizes[dims[-1]], program.values
    blocks = replicates * -(-rows // BLOCK)
    lines = (replicates, *program.shape4[node.name][1:3], 1)

    def run(key: int) -> None:
        rates: Any = np.broadcast_to(rate.get() + exposure.get(), lines).reshape(replicates, rows)
        m = np.ascontiguousarray(count.get().reshape(replicates, rows, columns), np.int64)
        out = np.empty((replicates, rows, columns))
        threads = program.threads if out.size > _PARALLEL else 1
        given = (m, np.ascontiguousarray(rates), out)
        if mix is None:
            prior = np.broadcast_to(shape.get(), (replicates, 1, 1, columns)).reshape(-1, columns)
            run_rows(draw_top, blocks, threads, key, np.ascontiguousarray(prior), *given)
        else:
            theta = values[mix.theta].reshape(replicates, rows, mix.topics)
            run_rows(draw_layer, blocks, threads, key, mix.coefficient, theta, values[mix.phi],
                     *given)  # fmt: skip
        values[node.name] = out.reshape(program.shape[node.name])

    return run
