"""Sums of rows in a fixed order."""

import numpy as np
import pytest

from pgbn.samplers.lanes import sum_rows

KEY = np.uint64(11)


@pytest.mark.parametrize("columns", [1, 15, 16, 33])
def test_rows_have_one_sum_wherever_it_is_computed(columns):
    a = np.random.default_rng(columns).gamma(0.1, size=(50, columns))
    out, again = np.empty(50), np.empty(50)
    sum_rows(KEY, 0, 50, a, out)
    np.testing.assert_allclose(out, a.sum(axis=1), rtol=1e-14)
    for i in range(50):
        sum_rows(KEY, 0, 1, a[i : i + 1].copy(), again[i : i + 1])
    assert np.array_equal(out, again)
