"""Kernels that do several rules at once, used in place of the composed rules where they fit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from pgbn.nodes.base import Node
from pgbn.nodes.gamma import tables_of_gamma
from pgbn.samplers.tables import share_tables
from pgbn.samplers.threads import run_calls
from pgbn.splitting import blocks_of
from pgbn.sumproduct import operand_of

if TYPE_CHECKING:
    from pgbn.program import Program

__all__ = ["fused_tables"]


def fused_tables(program: Program, node: Node, slot: str) -> Callable[[int], None] | None:
    """CRT and split of a gamma whose shape is φ·θ, or None if the slot has another form.

    φ must have the dims (last dim of the node, topic) and θ (the other dims, topic), in memory.
    """
    rule = program.wiring.rules[node.name, slot]
    polynomial = program.wiring.polynomials[node.name, slot]
    if rule.count is not tables_of_gamma or len(polynomial.terms) != 1:
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
    heard = program.heard_count(node.name).get
    replicates = program.replicates
    documents = prod(program.sizes[dim] for dim in dims[:-1])
    rows, columns, topics = replicates * documents, program.sizes[dims[-1]], program.sizes[topic]
    values, counts = program.values, program.counts

    def run(key: int) -> None:
        m = heard().reshape(rows, columns)
        scores = values[theta].reshape(rows, topics)
        n_theta = np.zeros((rows, topics), np.int64)
        blocks = blocks_of(rows, program.threads if m.size > 20_000 else 1)
        shares = [np.zeros(program.shape[phi], np.int64) for _ in blocks]
        run_calls(program.threads, [
            partial(share_tables, np.uint64(key), start, stop, documents, term.coefficient, m,
                    scores, values[phi], share, n_theta)
            for (start, stop), share in zip(blocks, shares, strict=True)
        ])  # fmt: skip
        for share in shares[1:]:
            shares[0] += share
        counts[node.name, phi] = shares[0]
        counts[node.name, theta] = n_theta.reshape(program.shape[theta])

    return run
