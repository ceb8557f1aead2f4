"""Log-normal draws that heard a count, against their density on a grid."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn.samplers import Stream, vectorised

# mean, precision, count, exposure
CASES = [
    (0.0, 1.0, 0.0, 0.0),
    (0.5, 2.0, 3.0, 0.7),
    (-3.0, 0.1, 0.0, 5.0),
    (2.0, 0.01, 1000.0, 3.0),
    (0.0, 50.0, 2.0, 0.1),
    (-2.0, 1e-3, 1.0, 1e4),
    (5.0, 1.0, 0.0, 1e8),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_against_the_density(number: int) -> None:
    mean, precision, count, exposure = CASES[number]
    stream = Stream(7919 * (number + 11), (1, 1, 100, 400))
    y = np.log(vectorised.log_normal(stream, mean, precision, count, exposure)).ravel()
    grid = np.linspace(y.min() - 3 * y.std(), y.max() + 3 * y.std(), 200_001)
    logs = count * grid - exposure * np.exp(grid) - 0.5 * precision * (grid - mean) ** 2
    weight = np.exp(logs - logs.max())
    below = np.cumsum(weight) / weight.sum()
    for level in (0.01, 0.1, 0.5, 0.9, 0.99):
        found = (y < grid[np.searchsorted(below, level)]).mean()
        assert abs(found - level) < 4.5 * np.sqrt(level * (1 - level) / y.size), level


def test_numbers_stay_finite() -> None:
    far = vectorised.log_normal(Stream(1, (1, 1, 2, 2)), np.array([[-1e4, 1e4]]), 1.0)
    assert (far > 0).all()
    assert np.isfinite(far).all()
