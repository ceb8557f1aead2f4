"""Counts of data whose rows share scores, by the kernel of the first layer.

    x_jv ~ Pois(Σ_k φ_vk S_jk),   S_jk = s_j θ_{g(j) k} ⋯   or   Σ_a w_ja θ_ak

The scores are read through categories, or summed by a sparse constant.

Given φ and the product S of all factors that vary over rows, cells are split as in Poisson factor
analysis. Every factor of S receives the counts of its own entries.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pgbn.engine.compile.products import Splitter, shape4, splitter_of
from pgbn.engine.data.cells import Cells, CoordinateCells
from pgbn.engine.plan import DataCounts, LatentCounts, Run, maker
from pgbn.network.terms import Factor, Term
from pgbn.nodes.rules import find_link
from pgbn.samplers.first_layer.given_topics import split_all_cells
from pgbn.samplers.first_layer.loadings import loadings_of
from pgbn.samplers.random import ContentKeyed, stream_key
from pgbn.samplers.thinning import SparseCounts

if TYPE_CHECKING:
    from pgbn.engine.compile.program import Program
    from pgbn.engine.first_layer.choice import Pattern


_MOST = 2**31  # counts that the kernel can add up


@maker("fused", DataCounts, by_rows=True)
def shared_rows(program: Program, task: DataCounts) -> Run | None:
    """The function that draws the counts behind data, if they have this form."""
    node, link = task.node, find_link(task.node)
    if link is None or isinstance(program.executor, ContentKeyed) or len(node.axes) < 2:
        return None
    polynomial = program.wiring.polynomials[node.name, link.slot]
    rule = program.wiring.rules.get((node.name, link.slot))
    if len(polynomial.terms) != 1 or rule is None or rule.count != "count":
        return None
    term = polynomial.terms[0]
    loadings = _loadings(program, term, node.axes)
    cells = program.cells.get(node.name)
    if loadings is None or cells is None or isinstance(cells, CoordinateCells):
        return None
    split = _Split(program, node.name, term, loadings)
    usual = splitter_of(program, node, link.slot)
    return LatentCounts(program, node.name, usual.rates, split)


def _loadings(program: Program, term: Term, axes: tuple[str, ...]) -> Factor | None:
    """The factor φ, if it alone varies over the last dim and others are read through categories or
    summed by a sparse constant."""
    by_term = [factor for factor in term.factors if axes[-1] in factor.dims]
    others = [factor for factor in term.factors if factor not in by_term]
    sparse = {dim for factor in others if factor.is_sparse for dim in factor.dims}
    topics = [dim for dim in term.contracted if dim not in sparse]
    if any(factor.through for factor in term.factors):
        return None
    if len(topics) != 1 or len(by_term) != 1 or not (sparse or any(f.lookups for f in others)):
        return None
    (found,), dims = by_term, (axes[-1], topics[0])
    if not found.is_node or found.lookups or program.factor(found).dims != dims:
        return None
    return found if program.shape[found.name][0] == program.replicates else None


class _Split:
    """Shares counts of cells out among the factors of a term."""

    def __init__(self, program: Program, name: str, term: Term, loadings: Factor) -> None:
        self.program, self.name, self.loadings = program, name, loadings
        axes, sizes = program.network.nodes[name].axes, program.sizes
        topic = next(dim for dim in term.contracted if dim in loadings.dims)
        dims, summed = (*axes[:-1], topic), tuple(dim for dim in term.contracted if dim != topic)
        self.rows = Term(1.0, tuple(f for f in term.factors if f is not loadings), summed)
        self.shape = shape4(dims, sizes, program.replicates)
        self.lines = (prod(self.shape[:-1]), self.shape[-1])
        self._scores = Splitter(program, (self.rows,), dims, self.shape)

    def __call__(self, key: int, cells: Cells, counts: NDArray[Any]) -> None:
        program, phi = self.program, self.program.values[self.loadings.name]
        theta = np.broadcast_to(self._scores.values[0](), self.shape).reshape(self.lines)
        kind = np.int32 if counts.sum() < _MOST else np.int64
        n, m = np.zeros(phi.shape, kind), np.zeros(self.lines, kind)
        sparse = SparseCounts(cells.indptr, cells.indices, counts)
        split_all_cells(stream_key(key, 3), sparse, loadings_of(phi.copy(), program.executor),
                        np.ascontiguousarray(theta), n, m, program.executor)  # fmt: skip
        received: set[str] = set()
        if self.loadings.name in program.wiring.sources:
            program.keep_counts(self.name, self.loadings, n.astype(np.int64), received)
        (shares,) = self._scores.dense(key, m.astype(np.int64).reshape(self.shape))
        for factor, share in zip(self.rows.factors, shares, strict=True):
            if share is not None:
                program.keep_counts(self.name, factor, share, received)


# ---- the same for a first layer, whose labels depend on a row through its scores alone -----------


class SharedRows:
    """The counts of data added up over the rows that read the same scores.

        x_jv ~ Pois(s_j Σ_k φ_vk θ_{g(j)k})   ⇒   Σ_{j : g(j) = a} x_jv ~ Pois(q_a Σ_k φ_vk θ_ak)

    with q_a = Σ_{j : g(j) = a} s_j. Labels depend on a row through its scores alone. The samplers
    therefore see these sums, a row for each row of θ. The sums are computed again if the program
    has other data.
    """

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
