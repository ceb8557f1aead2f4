"""Hidden Markov models of counts: the joint distribution, and simulated data."""

from __future__ import annotations

import pytest

from pgbn import zoo
from pgbn.testing import geweke

NETWORK = zoo.hidden_markov(2, 2.0, 2.0, (2.0, 1.0))
SIZES = {"time": 4, "term": 2}


def test_joint_distribution() -> None:
    result = geweke(NETWORK, SIZES, 1500, 6, seed=3)
    assert result.worst < 4, result


@pytest.mark.long
def test_joint_distribution_at_length() -> None:
    result = geweke(NETWORK, SIZES, 25_000, 8, seed=4)
    assert result.worst < 4, result
