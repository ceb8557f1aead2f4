"""What the nodes of a program heard in the last sweep."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.program import Program
from pgbn.engine.run.generate import to_axes

__all__ = ["heard_counts"]


def heard_counts(program: Program, names: Iterable[str]) -> dict[str, NDArray[np.int64]]:
    """The counts of each node, added over those that told it, with its dims in their order; of
    nodes that were told none, nothing."""
    out = {}
    for name in names:
        pairs = [pair for pair in program.counts if pair[1] == name]
        if pairs:
            total = sum(program.counts[pair] for pair in pairs)
            out[name] = to_axes(program, name, np.asarray(total))[0]
    return out
