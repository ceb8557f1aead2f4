"""Generalised inverse Gaussian draws against the exact law."""

import numpy as np
import pytest
from scipy import stats

from pgbn.samplers import Stream, vectorised

SHAPE = (1, 1, 50, 80)


def distribution(x: np.ndarray, order: float, a: float, b: float) -> np.ndarray:
    """P(X <= x), by the density of ln X summed over a fine grid."""
    grid = np.linspace(-40.0, 40.0, 400_001)
    logs = order * grid - 0.5 * (a * np.exp(grid) + b * np.exp(-grid))
    sums = np.cumsum(np.exp(logs - logs.max()))
    return np.interp(np.log(x), grid, sums / sums[-1])


@pytest.mark.parametrize("order", [-3.0, -0.5, 0.0, 0.2, 1.0, 40.0])
@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (1e-3, 1e-2), (200.0, 3.0), (0.5, 400.0)])
def test_law(order: float, a: float, b: float) -> None:
    draws = vectorised.gig(Stream(3, SHAPE), order, a, b).ravel()
    assert stats.kstest(draws, lambda x: distribution(x, order, a, b)).pvalue > 1e-4


def test_edges() -> None:
    gamma = vectorised.gig(Stream(3, SHAPE), 2.0, 3.0, 0.0).ravel()
    assert stats.kstest(gamma, stats.gamma(2.0, scale=2 / 3).cdf).pvalue > 1e-4
    inverse = vectorised.gig(Stream(3, SHAPE), -2.0, 0.0, 3.0).ravel()
    assert stats.kstest(inverse, stats.invgamma(2.0, scale=1.5).cdf).pvalue > 1e-4
    assert np.isnan(vectorised.gig(Stream(3, SHAPE), 1.0, -1.0, 1.0)).all()
