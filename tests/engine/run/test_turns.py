"""The turns of a sweep: each step with the key of its streams."""

from __future__ import annotations

import numpy as np

from tests.helpers.models import algorithm1, pgbn


def test_a_step_may_come_twice_and_draws_anew():
    order = algorithm1(2)
    order.insert(order.index("c0"), "c3")
    chain = pgbn(2).with_order(order).chain({"x": np.eye(3, dtype=int)}, layer1="blocked")
    keys = [turn.base for turn in chain._turns]
    assert len(keys) == len(order)
    assert len(set(keys)) == len(keys)
