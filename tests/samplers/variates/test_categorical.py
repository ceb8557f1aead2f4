"""One of finitely many, from logarithms of weights of any size."""

import numpy as np
import pytest
from scipy import stats

from pgbn.samplers import Stream, vectorised


@pytest.mark.parametrize("axis", [1, 2, 3])
@pytest.mark.parametrize("level", [0.0, -2000.0, 2000.0])
def test_probabilities(axis: int, level: float) -> None:
    weights = np.array([0.1, 0.0, 0.6, 0.3])
    shape = [1, 40, 40, 40]
    shape[axis] = 4
    sizes = [1, 1, 1, 1]
    sizes[axis] = 4
    with np.errstate(divide="ignore"):
        logs = np.log(weights).reshape(sizes) + level
    draws = vectorised.categorical(Stream(5, tuple(shape)), logs, axis)  # type: ignore[arg-type]
    assert set(np.unique(draws)) == {0, 1}
    assert (draws.sum(axis) == 1).all()
    found = np.moveaxis(draws, axis, 0).reshape(4, -1).sum(axis=1)
    assert found[1] == 0
    assert stats.chisquare(found[[0, 2, 3]], found.sum() * weights[[0, 2, 3]]).pvalue > 1e-4


def test_weights_that_are_all_zero_say_nothing() -> None:
    draws = vectorised.categorical(Stream(5, (1, 1, 900, 3)), -np.inf, 3)
    assert stats.chisquare(draws.reshape(-1, 3).sum(axis=0)).pvalue > 1e-4
