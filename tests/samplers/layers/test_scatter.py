"""Scatter-add against numpy's, for one place for all replicates and for each its own."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn.samplers.thinning import scatter_add


@pytest.mark.parametrize("copies", [1, 3])
def test_rows_are_added_to_their_entries(copies: int) -> None:
    rng = np.random.default_rng(copies)
    place = rng.integers(0, 4, (copies, 10))
    value = rng.random((3, 10, 2))
    out, expected = np.zeros((3, 4, 2)), np.zeros((3, 4, 2))
    scatter_add(place, value, out)
    for r in range(3):
        np.add.at(expected[r], place[r % copies], value[r])
    assert np.array_equal(out, expected)
