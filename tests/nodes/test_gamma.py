"""Positive values θ ~ Gam(shape a, rate c)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pgbn import Gamma
from tests.helpers.node_laws import density, draws

NODE = Gamma("g", 1, 1)


@pytest.mark.parametrize(
    ("value", "shape", "expected"),
    [
        (0.7, 2.0, stats.gamma(2, scale=1 / 3).logpdf(0.7)),
        (0.7, 0.0, -np.inf),
        (0.0, 0.0, 0.0),
        (2.2250738585072014e-308, 0.0, 0.0),
        (1e-300, 0.0, -np.inf),
    ],
    ids=[
        "a rate, not a scale",
        "of shape 0",
        "at 0, where shape 0 has its mass",
        "at what kernels draw there",
        "above it",
    ],
)
def test_density(value: float, shape: float, expected: float) -> None:
    assert density(NODE, value, shape=shape, rate=3.0) == pytest.approx(expected, rel=1e-10)


def test_the_density_of_the_smallest_shapes_is_finite() -> None:
    assert np.isfinite(density(NODE, 1e-300, shape=5e-324, rate=1.0))


def test_draws() -> None:
    found = draws(NODE, shape=2.0, rate=4.0)
    assert stats.kstest(found, stats.gamma(2, scale=1 / 4).cdf).pvalue > 1e-4
    assert not draws(NODE, 10, shape=0.0, rate=4.0).any()


def test_chains_begin_within_bounds_and_what_is_switched_off_stays() -> None:
    found = NODE.begin(np.array([0.0, 1e-200, 3.0, 1e9]))
    assert found.tolist() == [0.0, 0.01, 3.0, 100.0]
