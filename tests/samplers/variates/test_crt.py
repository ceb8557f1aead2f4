"""Tables of a Chinese restaurant against exact probabilities and moments."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from pgbn.samplers.variates.crt import draw_crt, seat_many
from tests.helpers.laws import assert_counts_follow, assert_moments, sampler_of

sample_crt = sampler_of(draw_crt, np.int64)
sample_many = sampler_of(seat_many, np.int64)


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


@pytest.mark.parametrize("first", [1, 16, 150])
@pytest.mark.parametrize("concentration", [0.3, 12.0, 90.0, 4e3, 1e300])
def test_the_tables_of_many_customers(first: int, concentration: float) -> None:
    """Slices of customers, of which there are one to ten here, against exact probabilities."""
    last = 4 * first + 30
    probability = np.ones(1)
    for i in range(first, last):
        opens = concentration / (concentration + i)
        probability = np.convolve(probability, [1.0 - opens, opens])
    assert_counts_follow(sample_many(first, last, concentration), probability)


@pytest.mark.parametrize("concentration", [3e6, 1e10, 1e13])
def test_crt_of_ten_billions(concentration: float) -> None:
    """Counts and shapes for which no loop over customers would ever end."""
    customers = 10**10
    high, low = concentration + customers, concentration
    mean = concentration * (special.digamma(high) - special.digamma(low))
    variance = mean - concentration**2 * (special.polygamma(1, low) - special.polygamma(1, high))
    if concentration > 1e12:  # the difference cancels: r / (r + i) = 1 - i / r + i^2 / r^2 …
        ratio = customers / concentration
        mean = customers * (1.0 - ratio / 2 + ratio**2 / 3 - ratio**3 / 4)
        variance = customers * (ratio / 2 - 2 * ratio**2 / 3 + 3 * ratio**3 / 4)
    draws = sample_crt(customers, concentration, size=100)
    assert_moments(draws, mean, variance, kurtosis=3.0)
