"""The count behind a datum: every law, and functions that are called by their address."""

import numpy as np
import pytest
from numba import njit
from scipy import special, stats

from pgbn.errors import DataError
from pgbn.samplers.documents.first_layer import DATUM, count_law, draw_count
from pgbn.samplers.random import uniform

DRAWS = 40_000


@njit
def _draw(law, value, rate, out):
    rng = np.array([3, 0x9E3779B97F4A7C15], np.uint64)
    for i in range(out.size):
        out[i] = draw_count(rng, law, value, rate)


def draw(latent, value, rate, noise=1.0):
    out = np.zeros(DRAWS, np.int64)
    _draw(count_law(latent, noise), value, rate, out)
    return out


def check(found, n, weight):
    """Every probability of a law on n, by its weights."""
    p = weight / weight.sum()
    seen = (found[:, None] == n).mean(axis=0)
    assert (np.abs(seen - p) < 4.5 * np.sqrt(p * (1 - p) / DRAWS) + 3 / DRAWS).all()


def test_data_that_are_counts_are_passed_on():
    assert count_law(None, 2.0) == (DATUM, 2.0, 0)
    assert set(draw(None, 7.0, 0.1)) == {7}


@pytest.mark.parametrize("rate", [0.2, 3.0])
def test_a_positive_count(rate):
    n = np.arange(1, 20)
    check(draw("truncated_poisson", 1.0, rate), n, stats.poisson.pmf(n, rate))


@pytest.mark.parametrize(("value", "rate", "noise"), [(0.4, 2.0, 1.5), (5.0, 3.0, 0.5)])
def test_the_shape_behind_a_real(value, rate, noise):
    """P(n | y) ∝ Pois(n; λ) Gam(y; n, noise) ∝ (noise y λ)^n / n! (n − 1)!."""
    n = np.arange(1, 40)
    weight = (noise * value * rate) ** n / special.factorial(n) / special.factorial(n - 1)
    check(draw("bessel", value, rate, noise), n, weight)


def test_a_function_gets_the_stream_and_all_numbers():
    def latent(rng, value, rate, noise):
        return int(value) + 10 * (uniform(rng) < rate) + 100 * int(noise)

    found = draw(latent, 2.0, 0.3, 4.0)
    check(found, np.array([402, 412]), np.array([0.7, 0.3]))
    assert abs(np.corrcoef(found[1:], found[:-1])[0, 1]) < 0.03  # the stream goes on
    compiled = njit(latent)
    np.testing.assert_array_equal(draw(compiled, 2.0, 0.3, 4.0), found)
    assert count_law(latent, 1.0) == count_law(latent, 1.0)  # compiled once


def test_functions_that_do_not_fit():
    with pytest.raises(DataError, match="latent='x': give a function"):
        count_law("x", 1.0)
    with pytest.raises(DataError, match="latent=<lambda>: numba cannot compile"):
        count_law(lambda rng: 1, 1.0)
    with pytest.raises(ValueError, match="negative count"):
        draw(lambda rng, value, rate, noise: -1, 1.0, 1.0)
