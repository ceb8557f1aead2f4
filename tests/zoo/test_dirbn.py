"""The Dirichlet belief network: its nodes, and mistakes of released programs."""

from __future__ import annotations

import pytest

from pgbn import NetworkError, zoo
from pgbn.testing import geweke, mutants

MILD = (8.0, 8.0)
NETWORK = zoo.dirbn([2, 2], 1.0, MILD, MILD, MILD, MILD, (6.0, 4.0))
SIZES = {"doc": 2, "term": 3}
COUNTS = ["counts(x)", "counts(theta)", "counts(phi1)", "counts(beta2)", "counts(g2)"]
BELOW = ["r", "p", "theta"]
RELEASED = [*COUNTS, "phi2", "g2", "gamma0_2", "c0_2", "c2", "beta2", "phi1", *BELOW]


def test_the_network() -> None:
    network = zoo.dirbn([5, 4, 3])
    assert network["phi1"].axes == ("topic1", "term")
    assert network["beta3"].axes == ("topic3", "topic2")
    assert str(network["phi1"].concentration) == "beta2 @ phi2"
    assert set(zoo.dirbn([3]).nodes) == {"x", "phi1", "theta", "r", "p"}
    with pytest.raises(NetworkError, match="eta=-1"):
        zoo.dirbn([3], -1)


def test_released_tables_are_seen() -> None:
    mutant = mutants(NETWORK)["CRT off by one"]
    off = geweke(NETWORK, SIZES, 1500, 6, seed=1, layer1=mutant.layer1, broken=mutant)
    assert off.worst > 6, off


@pytest.mark.long
def test_the_released_order_is_seen() -> None:
    wrong = geweke(NETWORK, {"doc": 4, "term": 3}, 60_000, 10, 1, order=RELEASED, unchecked=True)
    assert wrong.worst > 6, wrong
