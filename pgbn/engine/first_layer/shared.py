"""Rows that share scores: what they count together.

    x_jv ~ Pois(s_j Σ_k φ_vk θ_{g(j)k})   ⇒   Σ_{j : g(j) = a} x_jv ~ Pois(q_a Σ_k φ_vk θ_ak)

with q_a = Σ_{j : g(j) = a} s_j. Labels depend on a row through its scores alone, so that the
samplers of a first layer see these sums, a row for each row of θ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pgbn.engine.compile.program import Program
from pgbn.engine.data.nonzero import Cells
from pgbn.engine.first_layer.pattern import Pattern

__all__ = ["SharedRows"]


class SharedRows:
    """The counts of data added up over the rows that read the same scores. They are found anew
    where the program has other data."""

    _of: Cells | None = None
    _cells: Cells

    def __init__(self, program: Program, pattern: Pattern) -> None:
        self.program, self.observed = program, pattern.observed
        self.entries, _ = program.storage[pattern.scores]
        lookups = pattern.factor(program.wiring).lookups
        self.view = program.view(lookups, program.storage[pattern.scores])

    @property
    def cells(self) -> Cells:
        """Σ_{j : g(j) = a} x_jv."""
        own = self.program.cells[self.observed]
        if self._of is not own:
            self._cells, self._of = self._added(own), own
        return self._cells

    def _added(self, own: Cells) -> Cells:
        copies, entries = own.replicates, self.program.sizes[self.entries]
        place = np.broadcast_to(self.view.place, (copies, own.rows // copies))
        first = np.arange(copies)[:, None] * entries
        edges = np.arange(own.rows + 1)
        reads = sparse.csr_array((np.ones(own.rows, np.int64), (place + first).reshape(-1), edges),
                                 shape=(own.rows, copies * entries))  # fmt: skip
        counts = sparse.csr_array((own.values, own.indices, own.indptr),
                                  shape=(own.rows, own.columns))  # fmt: skip
        added = sparse.csr_array(reads.T.tocsr() @ counts)
        added.sort_indices()
        return Cells((self.entries, own.dims[-1]), (entries, own.columns), copies,
                     added.indptr.astype(np.int64), added.indices.astype(np.int32),
                     added.data.astype(np.int64))  # fmt: skip

    @property
    def row_counts(self) -> NDArray[Any]:
        """Σ_v x_jv of every row of the data, (rows, 1)."""
        own = self.program.cells[self.observed]
        return own.total(own.values, own.dims[:-1]).reshape(-1, 1)
