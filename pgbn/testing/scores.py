"""How far a sample is from a claim, in standard errors.

    z_mean     (x̄ − μ) / (s / √n)
    z_counts   Pearson's χ² of counts against exact probabilities, as a normal score

A right claim gives a standard normal number; |z| > 4 refutes it. For lectures, and for the first
test of a random primitive; whole samplers are tested by `geweke`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from pgbn.checks import check_integer, is_finite_number, numbers
from pgbn.errors import DataError

__all__ = ["z_counts", "z_mean"]


def z_mean(sample: ArrayLike, mean: float) -> float:
    """The distance of the mean of independent draws from ``mean``, in standard errors."""
    values = numbers("sample", sample).astype(np.float64).ravel()
    if not is_finite_number(mean):
        raise DataError(f"mean={mean!r:.60}: give a finite number")
    if values.size < 2:
        raise DataError(f"sample has {values.size} values; give at least 2")
    error = values.std(ddof=1) / np.sqrt(values.size)
    if error == 0.0:  # all draws are equal: right or infinitely wrong
        return 0.0 if values[0] == mean else float("inf")
    return float((values.mean() - mean) / error)


def z_counts(
    sample: ArrayLike, pmf: Callable[[NDArray[np.int64]], ArrayLike], top: int = 40
) -> float:
    """How badly counts fit probabilities ``pmf(0), pmf(1), …``; those above ``top`` are one class,
    and classes that expect fewer than five draws are left out. Large positive is bad."""
    if not callable(pmf):
        raise DataError(f"pmf={pmf!r:.60}: give a function from counts to probabilities")
    values, top = numbers("sample", sample).ravel(), check_integer("top", top, 1)
    if values.size < 2 or (values < 0).any() or (values != np.floor(values)).any():
        raise DataError("sample: give at least 2 counts, whole numbers from 0 on")
    capped = np.minimum(values.astype(np.int64), top)
    observed = np.bincount(capped, minlength=top + 1)
    below = np.asarray(pmf(np.arange(top)), np.float64) * values.size
    expected = np.append(below, values.size - below.sum())
    if (observed[expected < 1e-9] > 0).any():
        return float("inf")  # what cannot be was drawn
    kept = expected > 5
    chi2 = float(((observed - expected)[kept] ** 2 / expected[kept]).sum())
    if kept.sum() < 2:
        return 0.0
    return float(stats.norm.isf(max(stats.chi2.sf(chi2, kept.sum() - 1), 1e-300)))
