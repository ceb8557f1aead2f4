"""Right beside wrong."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn import zoo
from pgbn.errors import DataError, NetworkError
from pgbn.samplers.random import Stream
from pgbn.testing import mutant_table
from pgbn.testing.edges import z_counts
from pgbn.testing.mutants import _off_by_one

EVERY = ["CRT off by one", "rate for scale", "stale order", "tokens in topic order"]
MILD = (4, 4)


@pytest.mark.parametrize(
    "network",
    [
        pytest.param(zoo.pgbn([2, 2], p_prior=(2, 4)), id="vague", marks=pytest.mark.long),
        pytest.param(zoo.pgbn([2, 2], 0.5, (2, 4), MILD, MILD, MILD), id="mild"),
    ],
)
def test_every_mistake_is_seen_and_the_right_sampler_passes(network) -> None:
    """Most data of a vague prior are empty, and some huge: neither hides a mistake."""
    table = mutant_table(network, {"doc": 3, "term": 4}, threads=2)
    assert list(table.rows) == EVERY
    for name, (_, right, wrong) in table.rows.items():
        assert right.worst < 4, (name, right)
        assert wrong.worst > 6, (name, wrong)
    assert "gamma0 is drawn with scale c + q" in str(table)
    assert table._repr_markdown_().count("\n") == 6


def test_off_by_one_is_the_sum_of_its_coins() -> None:
    a, m, n = 1.5, 5, 20_000
    law = np.array([1.0])
    for i in range(1, m + 1):  # the sum of Bern(a/(a + i))
        p = a / (a + i)
        law = np.append(law * (1 - p), 0.0) + np.append(0.0, law * p)
    drawn = _off_by_one(Stream(1, (1, 1, 1, n)), np.full(n, m), a)
    assert z_counts(drawn, lambda x: np.append(law, np.zeros(60))[x]) < 4
    assert (_off_by_one(Stream(2, (1, 1, 1, 3)), 0, a) == 0).all()


def test_arguments_are_checked_first() -> None:
    with pytest.raises(NetworkError, match="mutant_table: network=3"):
        mutant_table(3)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="mutant_table: sizes="):
        mutant_table(zoo.pgbn([2]), 3)  # type: ignore[arg-type]
