"""Quantities beside a node, and their sum."""

from __future__ import annotations

import numpy as np

from pgbn.engine.compile.layout import Aligned, added

ROW = Aligned(lambda: np.arange(3.0).reshape(1, 1, 1, 3), frozenset({"k"}), 1, False)
COLUMN = Aligned(lambda: np.ones((2, 1, 4, 1)), frozenset({"d"}), 2, False)
NUMBER = Aligned(lambda: 0.5, frozenset(), 1, True)


def test_a_sum_has_the_dims_and_replicates_of_all_its_parts() -> None:
    total = added([ROW, COLUMN, NUMBER])
    assert total.dims == {"d", "k"}
    assert total.replicates == 2
    assert not total.is_number
    assert total.get().shape == (2, 1, 4, 3)
    assert total.get()[0, 0, 0].tolist() == [1.5, 2.5, 3.5]


def test_numbers_stay_numbers() -> None:
    total = added([NUMBER, NUMBER])
    assert total.is_number
    assert total.get() == 1.0


def test_one_part_is_passed_on_and_none_is_zero() -> None:
    assert added([ROW]).get is ROW.get
    nothing = added([])
    assert (nothing.get(), nothing.is_number, nothing.replicates) == (0.0, True, 1)


def test_nothing_is_computed_before_it_is_read() -> None:
    calls: list[int] = []
    part = Aligned(lambda: calls.append(1) or 1.0, frozenset(), 1, True)
    total = added([part, NUMBER])
    assert calls == []
    assert total.get() == 1.5
    assert calls == [1]
