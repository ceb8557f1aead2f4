"""Proportions φ ~ Dir(a_1, …, a_V) along a dim."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pgbn import Dirichlet, Evidence, Gamma
from pgbn.nodes.rules.draws import find_draw
from pgbn.nodes.rules.registry import find_evidence
from pgbn.samplers.stream import Stream
from tests.helpers.node_laws import posterior

NODE = Dirichlet("phi", 1, over="term", dims="topic")


def test_axes() -> None:
    assert NODE.axes == ("topic", "term")
    assert NODE.simplex == "term"


def test_density() -> None:
    value, concentration = np.array([0.2, 0.3, 0.5]), np.array([0.5, 1.0, 2.0])
    found = NODE.log_density(value, concentration=concentration, axis=0).sum()
    assert found == pytest.approx(stats.dirichlet(concentration).logpdf(value), rel=1e-12)


def test_an_entry_that_underflowed_has_a_finite_density() -> None:
    found = NODE.log_density(np.array([0.0, 1.0]), concentration=np.array(0.1), axis=0)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("axis", [2, 3])
def test_draws_sum_to_one_along_their_axis(axis: int) -> None:
    shape = (1, 1, 20_000, 3) if axis == 3 else (1, 20_000, 3, 1)
    concentration = np.array([0.5, 1.0, 2.0]).reshape([3 if a == axis else 1 for a in range(4)])
    found = NODE.generate(Stream(7, shape, simplex=axis), concentration=concentration)
    np.testing.assert_allclose(found.sum(axis=axis), 1.0)
    mean = np.moveaxis(found, axis, 0).reshape(3, -1).mean(axis=1)
    np.testing.assert_allclose(mean, np.array([0.5, 1.0, 2.0]) / 3.5, atol=0.01)


def test_posterior() -> None:
    found = posterior(NODE, count=np.array([3, 0]), concentration=0.5)
    assert found["concentration"].tolist() == [3.5, 0.5]
    assert find_draw(NODE).constant_over_simplex


def test_the_concentration_hears_tables_and_a_random_exposure() -> None:
    """ℓ ~ CRT(n, a) and q = −ln s, s ~ Beta(a_·, n_·): E ℓ = Σ_i a/(a + i − 1), one q a vector."""
    rule = find_evidence(NODE, "concentration", Gamma("g", 1, 1))
    assert rule.drawn is not None
    assert rule.drawn(NODE) == ("topic",)
    assert callable(rule.count)
    stream = Stream(3, (1, 1, 20_000, 2))
    count = np.broadcast_to(np.array([3, 0]), stream.shape).copy()
    evidence = rule.count(stream, count, np.array([0.5, 0.7]).reshape(1, 1, 1, 2))
    assert isinstance(evidence, Evidence)
    assert evidence.exposure.shape == (1, 1, 20_000, 1)
    mean = evidence.count.mean(axis=2).reshape(-1)
    assert mean == pytest.approx([0.5 / 0.5 + 0.5 / 1.5 + 0.5 / 2.5, 0.0], abs=0.02)
    s = np.exp(-evidence.exposure.reshape(-1))
    assert stats.kstest(s, stats.beta(1.2, 3).cdf).pvalue > 1e-4
