"""A gate: h ~ Bern(π)."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn
from pgbn import Bernoulli, Gamma, Network, Poisson
from pgbn.nodes.rules.registry import find_draw
from tests.helpers.node_laws import density, draws


@pytest.mark.parametrize(
    ("value", "probability", "expected"),
    [(1, 0.3, np.log(0.3)), (0, 0.3, np.log(0.7)), (0, 0.0, 0.0), (1, 1.0, 0.0), (1, 0.0, -np.inf)],
)
def test_density(value: int, probability: float, expected: float) -> None:
    found = density(Bernoulli("h", 0.5), value, probability=probability)
    assert found == pytest.approx(expected)


def test_draws() -> None:
    found = draws(Bernoulli("h", 0.5), probability=0.3)
    assert set(found.tolist()) == {0.0, 1.0}
    assert found.mean() == pytest.approx(0.3, abs=0.02)


def test_values_that_are_no_gate() -> None:
    gate = Bernoulli("h", 0.5)
    assert gate.refuses(np.array([0.0, 1.0])) is None
    assert gate.refuses(np.array([0.0, 0.5])) == "has the value 0.5; a gate is 0 or 1"


def test_a_gate_of_probability_1_stays_open() -> None:
    """At an exposure of 3000, e^{−q} is 0 as a double, and so was the odds of the gate."""
    gate = pgbn.Bernoulli("gate", pgbn.Constant([1.0, 0.0, 0.5], dims="i"), dims="i")
    theta = Gamma("theta", 1000.0 * gate, 1, dims="i")
    net = Network(Poisson("x", 20.0 * theta, dims="i"))
    with np.errstate(all="raise"):
        chain = net.chain({"x": [0, 0, 0]}).sweep(3)
    assert chain.values["gate"].tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("exposure", [0.0, 0.3, 5.0])
def test_the_odds_of_a_gate(exposure: float) -> None:
    """P(h = 1 | no count) = π e^{−q} / (π e^{−q} + 1 − π)."""
    probability = np.array([0.0, 1e-3, 0.4, 0.999, 1.0])
    rule = find_draw(pgbn.Bernoulli("h", 0.5))
    found = rule.posterior(np.zeros(5), exposure, probability)["probability"]
    weight = probability * np.exp(-exposure)
    assert np.allclose(found, weight / (weight + 1 - probability), rtol=1e-12)
