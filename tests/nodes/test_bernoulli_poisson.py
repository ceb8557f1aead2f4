"""Binary data: b = 1(n ≥ 1), n ~ Pois(λ)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pgbn import BernoulliPoisson
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


@pytest.mark.parametrize(
    ("values", "complaint"),
    [([0, 1, 1], None), ([0, 2], "the value 2; BernoulliPoisson takes 0 and 1 (try data > 0)")],
)
def test_data(values: list[int], complaint: str | None) -> None:
    assert NODE.check(np.array(values)) == complaint
