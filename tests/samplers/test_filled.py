"""Arrays that hold one number."""

import numpy as np
import pytest

from pgbn.samplers.lanes import filled


@pytest.mark.parametrize("kind", [np.float64, np.int32])
def test_every_entry_is_the_number(kind):
    array = np.arange(5).astype(kind)
    assert filled(array, 2).tolist() == [2] * 5
    assert array.tolist() == [2] * 5


def test_an_empty_array_stays_empty():
    assert filled(np.empty(0), 1.0).size == 0
