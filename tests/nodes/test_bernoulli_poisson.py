"""Binary data: b = 1(n ≥ 1), n ~ Pois(λ)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pgbn import BernoulliPoisson, Gamma
from pgbn.nodes.rules.registry import find_evidence, find_link
from pgbn.samplers.random import Stream
from tests.helpers.node_laws import density, draws

NODE = BernoulliPoisson("b", 1.0)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, -2.0), (1, math.log(-math.expm1(-2.0)))],
    ids=["no count", "a count"],
)
def test_density(value: int, expected: float) -> None:
    assert density(NODE, value, rate=2.0) == pytest.approx(expected, rel=1e-10)


def test_draws() -> None:
    found = draws(NODE, rate=0.5)
    assert found.dtype == np.int64
    assert found.mean() == pytest.approx(1 - math.exp(-0.5), abs=0.02)


def test_the_counts_behind_a_1_are_positive() -> None:
    """E[n | n ≥ 1] = λ / (1 − e^{−λ})."""
    link = find_link(NODE)
    assert link is not None
    assert link.counts is not None
    counts = link.counts(Stream(1, (1, 1, 1, 20_000)), np.full((1, 1, 1, 1), 0.5))
    assert counts.min() == 1
    assert counts.mean() == pytest.approx(0.5 / (1 - math.exp(-0.5)), abs=0.02)


def test_the_rate_hears_the_counts_and_an_exposure_of_1() -> None:
    rule = find_evidence(NODE, "rate", Gamma("g", 1, 1))
    assert (rule.count, rule.exposure) == ("count", 1.0)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [([0, 1, 1], None), ([0, 2], "the value 2; BernoulliPoisson takes 0 and 1 (try data > 0)")],
)
def test_data(values: list[int], complaint: str | None) -> None:
    assert NODE.check(np.array(values)) == complaint
