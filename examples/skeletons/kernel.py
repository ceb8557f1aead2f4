"""A kernel of your own: copy this file, rename, and draw in one pass what rules draw in several.

The example draws the tables that a column of a gamma layer passes up to its shape,

    ℓ_k = Σ_j ℓ_jk,   ℓ_jk ~ CRT(m_jk, r_k):

customer n of a restaurant opens a table with probability r/(r + n − 1). The composed rules seat
the customers of every restaurant j and then add up. But the restaurants of a column share r, so
those that have an n-th customer open Binomial(#{j: m_jk ≥ n}, r/(r + n − 1)) tables at once: a
column costs the length of the longest restaurant, not the number of customers.

A kernel has four parts: the numba function that draws some rows, each from a stream of its own;
the function that runs it on the threads of an executor; the maker, which says by the pattern of a
step where the kernel stands in for the rules; and a check against exact probabilities. The test of
the whole is `pgbn.testing.geweke` with the kernel in place, and with ``sampler="composed"``, which
leaves kernels out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn import Threads
from pgbn.engine.compile.program import Program
from pgbn.engine.plan import Run
from pgbn.extend import Executor, SlotCounts, njit, register_kernel, restart
from pgbn.nodes.gamma import tables_of_gamma
from pgbn.samplers.variates.multinomial import draw_binomial

__all__ = ["column_tables", "draw_tables", "exact_law", "shared_shape", "tables_by_column"]


# 1. The row kernel. `nogil` lets threads run side by side; `cache` keeps the machine code, where
#    there is room for it (numba's own `njit` fails where there is none).
#    Row i is drawn from the stream of (key, i) alone and written where no other row writes: this
#    is all it takes for bit-identical draws on any number of threads.
@njit(cache=True, nogil=True)
def draw_tables(key, start, stop, counts, shape, out):
    """Rows start…stop of ``out`` (replicate, column), of counts (replicate, restaurant, column)
    and shapes (replicate, column)."""
    restaurants, columns = counts.shape[1:]
    rng = np.empty(2, np.uint64)
    for row in range(start, stop):
        restart(rng, key, row)
        i, k = row // columns, row % columns
        closing = np.zeros(counts[i, :, k].max() + 1, np.int64)  # by their number of customers
        for j in range(restaurants):
            closing[counts[i, j, k]] += 1
        open_, tables = 0, 0
        for n in range(closing.size - 1, 0, -1):
            open_ += closing[n]
            # The first customer always opens a table, also at shape 0.
            chance = shape[i, k] / (shape[i, k] + (n - 1)) if n > 1 else 1.0
            tables += draw_binomial(rng, open_, chance)
        out[i, k] = tables


# 2. The function that is called in place of the rules. Arrays come as the kernel wants them:
#    contiguous, and always of the same types, or numba compiles the kernel again.
def column_tables(
    key: int, counts: NDArray[Any], shape: NDArray[Any], executor: Executor
) -> NDArray[np.int64]:
    """ℓ (replicate, column), for counts m (replicate, restaurant, column)."""
    counts = np.ascontiguousarray(counts, np.int64)
    shape = np.ascontiguousarray(shape, np.float64)
    out = np.empty(shape.shape, np.int64)
    executor.rows(draw_tables, out.size, key, counts, shape, out)
    return out


# 3. The maker. It is asked for every slot whose counts are drawn, before pgbn's own kernels, and
#    returns a function of a key, or None where the kernel does not fit.
@register_kernel(SlotCounts)
def tables_by_column(program: Program, task: SlotCounts) -> Run | None:
    """Serves a gamma layer of two dims whose rows share their shapes, which are a node."""
    node, parent = task.node, shared_shape(program, task)
    if parent is None:
        return None
    received = program.received_count(node.name)  # m, 4-d: (replicate, 1, restaurant, column)

    def run(key: int) -> None:
        counts, shape = received.get()[:, 0], program.values[parent]
        program.counts[node.name, parent] = column_tables(key, counts, shape, program.executor)

    return run


def shared_shape(program: Program, task: SlotCounts) -> str | None:
    """The latent node that is the shape of every row of a gamma layer, if the slot is just that."""
    wiring, (node, slot) = program.wiring, (task.node, task.slot)
    polynomial = wiring.polynomials[node.name, slot]
    if wiring.rules[node.name, slot].count is not tables_of_gamma or not polynomial.is_plain:
        return None  # other rules, or a sum
    term = polynomial.terms[0]
    if term.coefficient != 1.0 or len(term.factors) != 1 or len(node.axes) != 2:
        return None
    factor = term.factors[0]
    last = program.storage[node.name][-1]
    return factor.name if factor.name in wiring.sources and factor.dims == (last,) else None


# 4. What it must agree with: the law itself, from the definition and by other means.
def exact_law(counts: NDArray[Any], shape: float) -> NDArray[np.float64]:
    """P(ℓ = 0, 1, …) of one column: the coefficients of Π_j Π_n (n − 1 + r z) / (n − 1 + r)."""
    law = np.ones(1)
    for customers in counts:
        for n in range(1, customers + 1):
            law = np.convolve(law, np.array([n - 1, shape]) / (n - 1 + shape))
    return law


if __name__ == "__main__":
    column, r, replicates = np.array([3, 0, 1, 5]), 0.7, 200_000
    counts = np.broadcast_to(column[:, None], (replicates, column.size, 1))
    shape = np.full((replicates, 1), r)
    drawn = column_tables(7, counts, shape, Threads(2))
    law = exact_law(column, r)
    share = np.bincount(drawn[:, 0], minlength=law.size) / replicates
    error = np.sqrt(law * (1 - law) / replicates)
    print("tables     exact     drawn")
    for tables, row in enumerate(zip(law, share, strict=True)):
        print(f"{tables:6d} {row[0]:9.5f} {row[1]:9.5f}")
    if not np.array_equal(drawn, column_tables(7, counts, shape, Threads(1))):
        raise SystemExit("the draws depend on the number of threads")
    if np.any(np.abs(share - law) > 5 * error):
        raise SystemExit("the kernel draws from another law")
