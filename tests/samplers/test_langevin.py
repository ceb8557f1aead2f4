"""The step of proportions leaves Dir(a) as it is, whatever its length, and moves as far as it says."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream
from pgbn.training.minibatch import learner
from pgbn.training.minibatch.learner import step_proportions

A = np.array([0.05, 0.5, 3.0, 20.0])  # a zero count with a small η among them
LINES = 40_000
SHAPE = (1, 1, LINES, A.size)


def moved(time: float, steps: int = 1, start: np.ndarray | None = None, key: int = 0) -> np.ndarray:
    goal = np.broadcast_to(A, SHAPE).copy()
    value = vectorised.dirichlet(Stream(90 + key, SHAPE), goal, 3) if start is None else start
    for step in range(steps):
        times = np.full((1, 1, LINES, 1), time)
        value = step_proportions(Stream(100 * key + step, SHAPE), value, goal, times)
    return value[0, 0]


def scores(value: np.ndarray) -> np.ndarray:
    """z of the means of φ, φ² and, near 0, of 1(φ_1 < 0.001), against the exact ones."""
    total = A.sum()
    mean = A / total
    square = A * (A + 1) / (total * (total + 1))
    fourth = square * (A + 2) * (A + 3) / ((total + 2) * (total + 3))
    exact = np.concatenate((mean, square))
    spread = np.concatenate((square - mean**2, fourth - square**2))
    found = np.concatenate((value.mean(axis=0), (value**2).mean(axis=0)))
    return (found - exact) / np.sqrt(spread / len(value))


@pytest.mark.parametrize("time", [0.01, 0.3, 5.0])
def test_the_law_stays(time) -> None:
    value = moved(time, key=1)
    assert np.abs(scores(value)).max() < 4
    np.testing.assert_allclose(value.sum(axis=1), 1.0)


def test_a_wrong_step_is_seen(monkeypatch) -> None:
    draw = vectorised.dirichlet
    wrong = lambda stream, shape, axis: draw(stream, shape + 0.2, axis)  # noqa: E731
    monkeypatch.setattr(learner.vectorised, "dirichlet", wrong)
    goal = np.broadcast_to(A, SHAPE).copy()
    start = draw(Stream(5, SHAPE), goal, 3)
    assert np.abs(scores(moved(0.3, start=start, key=2))).max() > 10


def test_how_far_a_step_goes() -> None:
    """E[ω(h) | ω] = a + (ω − a) e⁻ʰ; of proportions of a large total nearly so."""
    goal = np.broadcast_to(1000.0 * A, SHAPE).copy()
    start = np.broadcast_to([0.25, 0.25, 0.25, 0.25], SHAPE).copy()
    times = np.full((1, 1, LINES, 1), 0.4)
    found = step_proportions(Stream(7, SHAPE), start, goal, times)[0, 0].mean(axis=0)
    mean = A / A.sum()
    np.testing.assert_allclose(found, mean + (0.25 - mean) * np.exp(-0.4), rtol=2e-3)
