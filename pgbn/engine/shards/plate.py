"""The plate: the dim whose rows are spread, and where its shards begin.

A step goes to the workers if it is local along the plate (`Step.local`), if what makes it can draw
a part of the rows (`pgbn.engine.plan`), and if no rule of a user has a say in it. All others are
run by the driver, with the rows that they read.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.program import Program
from pgbn.engine.data.nonzero import CoordinateCells
from pgbn.network.steps import Step
from pgbn.network.terms import Factor
from pgbn.nodes.rules.registry import is_own, is_own_rule
from pgbn.samplers.executor import ROW_BLOCK

__all__ = ["axis_of", "is_shared_out", "plate_of_rows", "shard_edges"]


def plate_of_rows(program: Program) -> str | None:
    """The first dim of the largest data, if rows along it can be told apart wherever it stands."""
    cells = program.cells
    if program.replicates != 1 or not cells:
        return None
    largest = max(cells, key=lambda name: cells[name].size)
    plate = next(iter(program.storage[largest]), "")
    seen = [name for name in cells if plate in program.storage[name]]
    plain = all(
        program.storage[name][0] == plate and len(program.storage[name]) > 1
        and not isinstance(cells[name], CoordinateCells)
        for name in seen
    )  # fmt: skip
    factors = [
        factor
        for polynomial in program.wiring.polynomials.values()
        for term in polynomial.terms
        for factor in term.factors
    ]
    return plate if seen and plain and not any(_mixes(plate, f) for f in factors) else None


def _mixes(plate: str, factor: Factor) -> bool:
    """Whether a factor has the plate as a constant, a relation, by another name or by numbers of
    rows."""
    if not factor.is_node:
        return plate in factor.dims
    if factor.previous or any(lookup.dim == plate for lookup in factor.lookups):
        return plate in (*factor.dims, *factor.own_dims, *factor.entries)
    own = factor.own_dims or factor.dims
    return any((here == plate) != (mine == plate)
               for here, mine in zip(factor.dims, own, strict=True))  # fmt: skip


def is_shared_out(program: Program, step: Step, plate: str) -> bool:
    """Whether a step, which has just been made, can be run by the workers."""
    node, wiring = program.network.nodes[step.node], program.wiring
    rules = wiring.connections.rules_of(node).values() if step.upward else ()
    sources = () if step.upward else wiring.sources[node.name]
    return (
        program.by_rows
        and step.local(plate)
        and program.storage[node.name][0] == plate
        and not is_own(type(node))
        and not any(is_own_rule(rule) for rule in (*rules, *(s.rule for s in sources)))
        and all(rule.drawn is None or plate in rule.drawn(node) for rule in rules)
    )


def axis_of(program: Program, plate: str, table: str, key: tuple[str, ...]) -> int | None:
    """The axis of the plate, from the end, in an array of one of the tables of a program; None
    where it has none. Numbers of cells have one axis, that of the cells of all rows."""
    name = key[0] if table != "counts" else key[-1]
    dims = program.storage.get(name, ())
    if table == "latent_counts":
        return -1 if plate in dims else None
    if table == "drawn":
        rule = program.wiring.rules[key[0], key[1]]
        assert rule.drawn is not None
        if plate not in rule.drawn(program.network.nodes[name]):
            return None
    return dims.index(plate) - len(dims) if plate in dims else None


def shard_edges(starts: NDArray[np.int64], rows: int, workers: int) -> list[tuple[int, int]]:
    """``range(rows)`` in at most so many ranges of about as many cells each, which begin with a
    block; ``starts`` says where the cells of each row begin. No range has a single row, whose
    arrays would look like those of nodes without the plate."""
    each = (starts.size - 1) // rows
    blocks = list(range(0, rows, ROW_BLOCK))
    if rows - blocks[-1] < 2 and len(blocks) > 1:
        blocks.pop()
    before = np.array([starts[row * each] + row for row in blocks])  # empty rows cost something too
    total, cuts, workers = int(starts[-1]) + rows, [0], min(workers, len(blocks))
    for worker in range(1, workers):
        wanted = total * worker / workers
        place = int(np.abs(before - wanted).argmin())
        if blocks[place] > cuts[-1]:
            cuts.append(blocks[place])
    return list(pairwise([*cuts, rows]))
