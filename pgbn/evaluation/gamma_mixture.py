"""A Poisson count whose rate is a known part and a weighted sum of gammas: a sum of one Poisson
count and of negative binomials.

    x ~ Pois(μ + Σ_k w_k θ_k),  θ_k ~ Gam(A_k, rate B_k)   ⇒   x = x_0 + Σ_k x_k,  x_0 ~ Pois(μ),
    x_k ~ NB(A_k, p_k),  p_k = w_k / (w_k + B_k),     P(0) = e^{−μ} Π_k (1 − p_k)^{A_k}

and, from the logarithm of the generating function,

    n P(n) = Σ_{i=1…n} (Σ_k A_k p_k^i + [i = 1] μ) P(n − i)        (Panjer's recursion).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from pgbn.engine.compile.composed import splitter_of
from pgbn.engine.compile.program import Program
from pgbn.engine.data.cells import Cells
from pgbn.errors import DataError
from pgbn.nodes.base import Observed

__all__ = ["log_negative_binomials", "term_weights"]

MOST = 10_000  # the largest count for which the recursion is run


def log_negative_binomials(
    weights: NDArray[np.float64],
    shapes: NDArray[np.float64],
    rates: NDArray[np.float64],
    known: NDArray[np.float64],
    most: int,
) -> NDArray[np.float64]:
    """log P(x) for x = 0 … ``most``, a row for each row of ``weights`` (cells, K) and entry of
    ``known``, which is μ."""
    if most > MOST:
        raise DataError(f"HeldOut: a held-out count of {most}; means=True is for up to {MOST}")
    p = weights / (weights + rates)
    out = np.empty((weights.shape[0], most + 1))
    out[:, 0] = (shapes * np.log1p(-p)).sum(axis=1) - known
    with np.errstate(divide="ignore"):
        log_shapes, log_p = np.log(shapes), np.log(p)
        steps = np.stack([logsumexp(log_shapes + i * log_p, axis=1) for i in range(1, most + 1)],
                         axis=1) if most else np.empty((weights.shape[0], 0))  # fmt: skip
        if most:
            steps[:, 0] = np.logaddexp(steps[:, 0], np.log(known))
        for n in range(1, most + 1):
            out[:, n] = logsumexp(steps[:, :n] + out[:, n - 1 :: -1][:, :n], axis=1) - np.log(n)
    return out


def term_weights(
    program: Program,
    node: Observed,
    slot: str,
    gamma: str,
    cells: Cells,
    shape: NDArray[np.float64],
    rate: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """w_k, A_k and B_k of every summand at every cell, three arrays (cells, K), and μ, (cells,).

    ``shape`` and ``rate`` are A and B as the values of the gamma node are stored.
    """
    rows, columns = cells.cell_rows(), cells.indices.astype(np.int64)
    parts: list[list[NDArray[np.float64]]] = [[], [], []]
    known = np.zeros(rows.size)
    for part in splitter_of(program, node, slot).parts:
        factors = part.factors()
        leading = (rows.max(initial=0) // factors.lengths.prod() + 1, *factors.lengths)
        place = np.stack([*np.unravel_index(rows, leading), columns])
        weight = np.full((rows.size, factors.offsets.shape[1]), part.term.coefficient)
        for number, factor in enumerate(part.term.factors):
            at = (factors.strides[number] @ place)[:, None] + factors.offsets[number][None, :]
            if factor.name == gamma:
                parts[1].append(shape.reshape(-1)[at])
                parts[2].append(rate.reshape(-1)[at])
            else:
                weight = weight * factors.array[number][at]
        if any(factor.name == gamma for factor in part.term.factors):
            parts[0].append(weight)
        else:
            known += weight.sum(axis=1)
    weights, shapes, rates = (np.concatenate(each, axis=1) for each in parts)
    return weights, shapes, rates, known
