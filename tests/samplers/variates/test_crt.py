"""Tables of a Chinese restaurant against exact probabilities and moments."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from pgbn.samplers.variates.crt import draw_crt
from tests.helpers.laws import assert_counts_follow, assert_moments, sampler_of

sample_crt = sampler_of(draw_crt, np.int64)


def tables_probability(customers: int, concentration: float) -> NDArray:
    """P(l tables) by the recursion of the unsigned Stirling numbers, one customer at a time."""
    probability = np.zeros(customers + 1)
    probability[0] = 1.0
    for i in range(customers):
        opens = 1.0 if i == 0 else concentration / (concentration + i)
        probability[1:] = probability[1:] * (1.0 - opens) + probability[:-1] * opens
        probability[0] = 0.0
    return probability


@pytest.mark.parametrize("customers", [1, 2, 3, 10, 16, 17, 18, 30, 33, 64, 200])
@pytest.mark.parametrize("concentration", [1e-300, 1e-3, 0.3, 1.0, 3.0, 12.0, 90.0, 400.0, 1e5])
def test_crt(customers: int, concentration: float) -> None:
    draws = sample_crt(customers, concentration)
    assert_counts_follow(draws, tables_probability(customers, concentration))


@pytest.mark.parametrize("customers", [1_000, 65_536, 1_000_000])
@pytest.mark.parametrize("concentration", [1e-300, 1e-3, 0.5, 40.0, 3e3, 1e6, 1e9, 1e12])
def test_crt_moments(customers: int, concentration: float) -> None:
    i = np.arange(1, customers)
    opens = concentration / (concentration + i)
    joins = i / (concentration + i)
    mean, variance = 1.0 + opens.sum(), (opens * joins).sum()
    by_digamma = concentration * (
        special.digamma(customers + concentration) - special.digamma(concentration)
    )
    if 1e-3 <= concentration <= 1e6:
        assert mean == pytest.approx(by_digamma, rel=1e-6)
    size = 200 if min(customers, concentration) > 1e4 else 4000
    draws = sample_crt(customers, concentration, size=size)
    assert ((draws >= 1) & (draws <= customers)).all()
    if variance * size > 1.0:
        assert_moments(draws, mean, variance, kurtosis=3.0 + 1.0 / variance)
    else:  # hardly ever anything but the nearest count
        assert abs(draws.mean() - mean) * size < 20.0


def test_crt_edges() -> None:
    assert (sample_crt(0, 0.0, size=10) == 0).all()
    assert (sample_crt(0, 3.0, size=10) == 0).all()
    assert (sample_crt(5, 0.0, size=10) == 1).all()
    assert (sample_crt(1000, 0.0, size=10) == 1).all()
    assert (sample_crt(1000, 5e-324, size=10) == 1).all()
    assert (sample_crt(1000, np.inf, size=10) == 1000).all()
    assert (sample_crt(1000, 1e300, size=10) == 1000).all()
    assert (sample_crt(100, np.nan, size=2) == 1).all()
