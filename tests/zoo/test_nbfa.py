"""Negative binomial factor analysis: the joint distribution, and simulated data."""

from __future__ import annotations

import pytest

from pgbn import StaleReadError, zoo
from pgbn.testing import geweke

MILD = (4.0, 4.0)
NETWORK = zoo.nbfa(2, 0.5, (2.0, 4.0), MILD, MILD, MILD)
SIZES = {"doc": 2, "term": 3}


def test_joint_distribution() -> None:
    result = geweke(NETWORK, SIZES, 1500, 6, seed=3)
    assert result.worst < 4, result


@pytest.mark.long
def test_joint_distribution_at_length() -> None:
    result = geweke(NETWORK, SIZES, 25_000, 8, seed=4)
    assert result.worst < 4, result


def test_lam_before_its_shape_is_refused() -> None:
    """phi and theta are drawn with lam integrated out; p reads it."""
    names = [name for name in NETWORK.schedule.names if name != "lam"]
    names.insert(names.index("phi"), "lam")
    with pytest.raises(StaleReadError, match="lam"):
        NETWORK.with_order(names)
