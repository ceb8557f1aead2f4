"""Reals from 0: y ~ Gam(n, noise), n ~ Pois(rate)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import i1, ive

import pgbn
from pgbn import Gamma, PoissonGamma
from pgbn.nodes import log_pmf
from pgbn.nodes.rules.registry import find_evidence, find_link
from pgbn.samplers.random import Stream
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


def test_the_counts_behind_a_number() -> None:
    """n | y > 0 is Bessel: P(n) of (2√(noise · y · λ))."""
    link = find_link(NODE)
    assert link is not None
    assert callable(link.counts)
    y, rate, noise = (np.full((1, 1, 1, 1), number) for number in (2.0, 1.5, 3.0))
    counts = link.counts(Stream(1, (1, 1, 1, 20_000)), y, rate, noise).reshape(-1)
    share = np.bincount(counts, minlength=9)[1:9] / counts.size
    exact = np.exp(log_pmf.bessel_log_pmf(np.arange(1, 9), 2 * math.sqrt(2.0 * 1.5 * 3.0)))
    np.testing.assert_allclose(share, exact, atol=0.015)


def test_rate_and_noise_hear_the_same_counts() -> None:
    rate, noise = (find_evidence(NODE, slot, Gamma("g", 1, 1)) for slot in ("rate", "noise"))
    assert (rate.count, rate.exposure) == ("count", 1.0)
    assert (noise.count, noise.exposure) == ("count", "value")


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
