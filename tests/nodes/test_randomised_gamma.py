"""Gammas with a hidden Poisson count in their shape."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pgbn.nodes.base import Array
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream
from pgbn.testing import geweke
from tests.helpers.language import randomised

SIZES = {"i": 2, "k": 2}


def test_a_zero_is_left_again() -> None:
    """Had the count been held, a θ of 0 would keep h at 0, and so itself."""
    chain = randomised(0.0).chain({"x": np.zeros((2, 2), int)}, seed=1)
    zero = np.array([(chain.sweep().values["theta"] == 0).ravel() for _ in range(60)])
    assert zero.any(axis=0).all()
    assert (~zero).any(axis=0).all()


def without_the_gamma_below(
    stream: Stream, count: Array, exposure: Array, rate: Array, noise: Any, offset: Any
) -> Array:
    h = vectorised.poisson(stream.child("count"), rate)  # not what its children say of it
    return vectorised.gamma(stream, offset + h + count, noise + exposure)


def test_a_count_from_its_prior_fails() -> None:
    net = randomised(0.7)
    rule = net.wiring.draws["theta"]
    net.wiring.draws["theta"] = replace(rule, posterior=without_the_gamma_below)
    assert geweke(net, SIZES, 2000, 6).worst > 4
