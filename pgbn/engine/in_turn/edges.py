"""Entries that meet by arrays of categories, ``phi[source] * phi[target]``: the edges of a graph.

An edge from an entry to itself would be the square of that entry: it is refused.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pgbn.errors import DataError
from pgbn.network.terms import Factor
from pgbn.samplers.in_turn import Edges

if TYPE_CHECKING:
    from pgbn.engine.compile.program import Program
    from pgbn.network.apart import InTurn
    from pgbn.network.connections import Source

__all__ = ["ALL_PAIRS", "check_loops", "edges_of"]

_EMPTY = np.zeros(0, np.int64)
ALL_PAIRS = Edges(_EMPTY, _EMPTY, _EMPTY, _EMPTY)


def check_loops(program: Program, in_turn: InTurn) -> None:
    """Refuse categories that name one entry twice in a row."""
    for source in program.wiring.sources[in_turn.node]:
        own = [factor for factor in source.term.factors if factor.name == in_turn.node]
        for one, other in combinations(own, 2):
            for first in one.lookups:
                for second in other.lookups:
                    if first.dim == second.dim == in_turn.dim and first.dims == second.dims:
                        _check_pair(program, source, in_turn.node, first.name, second.name)


def _check_pair(program: Program, source: Source, node: str, first: str, second: str) -> None:
    one, other = np.broadcast_arrays(program.indexes[first], program.indexes[second])
    loops = np.argwhere(one == other)
    if len(loops):
        at = tuple(loops[0])
        where = ", ".join(str(index) for index in at[1:])
        raise DataError(
            f"{source.child.name}: {first} and {second} both name {one[at]} at {where}: a self "
            f"loop, where {node} would be multiplied by itself, has no conjugate update; leave "
            f"such rows out (there are {len(loops)} of them)"
        )


def edges_of(program: Program, in_turn: InTurn, first: Factor, second: Factor) -> Edges | None:
    """The edges between entries that two factors of a product read, as lists for every entry."""
    arrays = [_entries(program, in_turn, factor) for factor in (first, second)]
    if arrays[0] is None or arrays[1] is None:
        return None
    size = program.sizes[in_turn.dim]
    return Edges(*_lists(arrays[1], arrays[0], size), *_lists(arrays[0], arrays[1], size))


def _entries(program: Program, in_turn: InTurn, factor: Factor) -> NDArray[np.int64] | None:
    """The entry that each row reads, if only that dim is read through categories."""
    if [lookup.dim for lookup in factor.lookups] != [in_turn.dim]:
        return None
    place = program.view(factor.lookups, program.storage[factor.name]).place
    return place[0] if len(place) == 1 else None


def _lists(
    own: NDArray[np.int64], others: NDArray[np.int64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For every entry, where its others begin; and the others, one entry after another."""
    starts = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(own, minlength=size), out=starts[1:])
    return starts, np.ascontiguousarray(others[np.argsort(own, kind="stable")])
