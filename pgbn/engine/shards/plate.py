"""The plate: the dim whose rows are spread over workers, and where its shards begin."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.program import Program
from pgbn.engine.data.nonzero import CoordinateCells
from pgbn.network.terms import Factor
from pgbn.samplers.executor import ROW_BLOCK

TABLES = ("values", "counts", "drawn", "latent_counts")  # of a program
Place = tuple[str, Any]  # a table, and the key of an array in it


def plate_of_rows(program: Program) -> str | None:
    """The first dim of the largest data, if rows along it can be separated wherever it stands."""
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
    mixed = any(_mixes(plate, factor) for factor in factors_of(program))
    return plate if seen and plain and not mixed else None


def factors_of(program: Program) -> list[Factor]:
    """All factors of all slots."""
    polynomials = program.wiring.polynomials.values()
    return [factor for each in polynomials for term in each.terms for factor in term.factors]


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


def axis_of(program: Program, plate: str, place: Place) -> int | None:
    """The axis of the plate, from the end, in an array of a table; None where it has none. Numbers
    of cells have one axis, that of the cells of all rows."""
    table, key = place
    name = key if isinstance(key, str) else key[-1] if table == "counts" else key[0]
    dims = program.storage.get(name, ())
    if table == "latent_counts":
        return -1 if plate in dims else None
    if table == "drawn":
        rule = program.wiring.rules[key]
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
