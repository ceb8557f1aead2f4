"""Counts x ~ Pois(λ)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pgbn import PgbnWarning, Poisson
from pgbn.nodes.poisson import LARGEST_RATE, check_counts
from tests.helpers.node_laws import density, draws

NODE = Poisson("x", 1.0)


@pytest.mark.parametrize(("value", "rate"), [(0, 2.5), (3, 2.5), (0, 0.0), (10**6, 1e6)])
def test_density(value: int, rate: float) -> None:
    expected = stats.poisson(rate).logpmf(value)
    assert density(NODE, value, rate=rate) == pytest.approx(expected, rel=1e-10)


def test_draws() -> None:
    found = draws(NODE, rate=2.5)
    share = np.bincount(found, minlength=20)[:6] / found.size
    np.testing.assert_allclose(share, stats.poisson(2.5).pmf(np.arange(6)), atol=0.015)


def test_rates_too_large_for_counts_are_reported() -> None:
    with pytest.warns(PgbnWarning, match="x: a rate of 1e.16 was drawn"):
        draws(NODE, 2, rate=np.full((1, 1, 1, 1), 10 * LARGEST_RATE))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([0, 1, 2**31 - 1], None),
        ([0.0, 3.0], None),
        ([], None),
        ([0, -2], "negative values (least: -2); counts are 0, 1, 2, …"),
        ([1.0, 1.5], "non-integer values (such as 1.5)"),
        ([2**31], "below 2^31"),
    ],
)
def test_counts(values: list[float], words: str | None) -> None:
    complaint = check_counts(np.array(values))
    assert complaint is None if words is None else words in str(complaint)
    assert NODE.check(np.array(values)) == complaint
