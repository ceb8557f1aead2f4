"""Forecasts: the future that the model says, from the last row of each draw."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import Network, zoo
from pgbn.errors import DataError, NetworkError
from tests.helpers.models import MILD, zoo_models

MODELS = zoo_models()
DRAWS, PAST, STEPS = 40_000, 3, 2
PI = np.array([[0.9, 0.1], [0.3, 0.7]])  # (previous, topic)
PHI = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])


def repeated(value: Any) -> Any:
    """The same draw many times."""
    array = np.asarray(value, float)
    return np.broadcast_to(array, (1, DRAWS, *array.shape))


def z(values: Any, mean: Any) -> Any:
    return np.abs(values.mean(axis=0) - mean) / (values.std(axis=0) / np.sqrt(len(values)))


@pytest.mark.long
def test_the_future_of_a_dynamical_system_has_its_mean() -> None:
    network = zoo.pgds(2, 0.5, 0.5, 2.0, 2.0, MILD, MILD)
    theta = np.array([[1.0, 1.0], [9.0, 9.0], [2.0, 3.0]])
    draws = {"theta": repeated(theta), "pi": repeated(PI), "phi": repeated(PHI)}
    future = network.forecast(draws, STEPS, seed=1)
    assert future["theta"].shape == (1, DRAWS, STEPS, 2)
    assert future["x"].shape == (1, DRAWS, STEPS, 3)
    assert set(future) == {"theta", "delta", "x"}
    first = theta[-1] @ PI
    assert z(future["theta"][0, :, 0], first).max() < 4.5
    assert z(future["theta"][0, :, 1], first @ PI).max() < 4.5
    assert z(future["x"][0, :, 0], first @ PHI).max() < 4.5  # E δ = 1
    spread = future["theta"][0, :, 0].var(axis=0)
    assert np.allclose(spread, first / 2.0, rtol=0.1)  # Gam(τ·mean, τ), τ = 2


def test_each_draw_has_its_own_future_and_the_past_does_not_matter() -> None:
    network = zoo.pgds(2, 0.5, 0.5, 1.0, 2.0, MILD, MILD)
    drawn = network.generate(seed=2, sizes={"time": 4, "term": 3})
    draws = network.sample({"x": drawn["x"]}, 5, 6, chains=2, progress=False)
    future = network.forecast(draws, 3)
    assert isinstance(future, pgbn.Draws)
    assert future["x"].shape == (2, 6, 3, 3)
    assert future.dims["x"] == ("chain", "draw", "time", "term")
    assert np.array_equal(network.forecast(draws, 3)["x"], future["x"])
    assert not np.array_equal(network.forecast(draws, 3, seed=1)["x"], future["x"])
    last = {name: draws[name] for name in ("pi", "phi")} | {"theta": draws["theta"][:, :, -1:]}
    assert np.array_equal(network.forecast(last, 3)["x"], future["x"])


def known_rates() -> Network:
    """Known exposures for three steps."""
    theta = pgbn.Gamma(
        "theta", pgbn.Shift(pgbn.Self(), along="time", initial=1.0), 1.0, dims="time"
    )
    known = pgbn.Constant(value=np.ones(3), dims=("time",))
    return Network(pgbn.Poisson("x", known * theta, dims="time"))


@pytest.mark.parametrize(
    ("network", "draws", "steps", "words"),
    [
        (MODELS["pgds"], {}, 1, "no draws of 'theta'.*keep="),
        (MODELS["pgds"], {}, 0, "steps=0"),
        (MODELS["pgds"], 3, 1, "given=3"),
        (zoo.pfa(2), {}, 1, r"no future.*net\.infer"),
        (known_rates(), {"theta": np.ones((2, 3))}, 1, "constant array along 'time'"),
    ],
)
def test_what_cannot_be_forecast(network: Any, draws: Any, steps: int, words: str) -> None:
    with pytest.raises((DataError, NetworkError), match=words):
        network.forecast(draws, steps)
