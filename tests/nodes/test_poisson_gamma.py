"""Reals from 0: y ~ Gam(n, noise), n ~ Pois(rate)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import i1, ive

import pgbn
from pgbn import PoissonGamma
from tests.helpers.node_laws import density, draws

NODE = PoissonGamma("y", 1.0, 1.0)


@pytest.mark.parametrize(
    ("value", "rate", "noise", "expected"),
    [
        (0.0, 2.0, 3.0, -2.0),
        (1e-9, 1e-9, 1.0, math.log(1e-9) - 2e-9),
        (1e7, 1e7, 1.0, math.log(ive(1, 2e7))),
    ],
    ids=["no number", "a small number", "a large number"],
)
def test_density(value: float, rate: float, noise: float, expected: float) -> None:
    assert density(NODE, value, rate=rate, noise=noise) == pytest.approx(expected, rel=1e-10)


def test_draws() -> None:
    """P(y = 0) = e^{−λ} and E y = λ / noise."""
    found = draws(NODE, rate=1.5, noise=3.0)
    assert (found == 0).mean() == pytest.approx(math.exp(-1.5), abs=0.02)
    assert found.mean() == pytest.approx(1.5 / 3.0, abs=0.02)


@pytest.mark.parametrize(
    ("values", "words"), [([0.0, 1.5], None), ([0.5, -0.5], "negative values (least: -0.5)")]
)
def test_data(values: list[float], words: str | None) -> None:
    complaint = NODE.check(np.array(values))
    assert complaint is None if words is None else words in str(complaint)


def test_densities_of_extreme_data() -> None:
    """ln p(y) of the gamma link, where √(aλ/y), I₁ or e^{−λ−ay} alone would over- or underflow."""
    node = pgbn.PoissonGamma("y", 1.0, 1.0)
    for y in (5e-324, 1e-310, 1e-8, 1.0, 1e8, 1e300):
        for rate in (1e-300, 1e-8, 1.0, 1e8):
            value = node.log_density(np.array(y), rate=np.array(rate), noise=np.array(1.0))
            assert np.isfinite(value)
    for y, rate, noise in ((2.0, 3.0, 1.5), (1e-7, 1e-7, 1.0), (40.0, 30.0, 2.0)):
        arrays = {"rate": np.array(rate), "noise": np.array(noise)}
        direct = np.sqrt(noise * rate / y) * i1(2 * np.sqrt(noise * rate * y))
        expected = np.log(direct) - rate - noise * y
        assert node.log_density(np.array(y), **arrays) == pytest.approx(expected, rel=1e-9)
