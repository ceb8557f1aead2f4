"""Slice sampling: exact laws, the joint-distribution test, and its power."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import pgbn
from pgbn.engine.steps.gamma_layers import layer_draw
from pgbn.nodes.base import Array
from pgbn.nodes.slice_sampling import slice_draw
from pgbn.samplers.random import Stream, stream_key
from pgbn.testing import geweke
from tests.helpers.kernel_networks import SLICED, sizes_of


class Known:
    """A log density that is known, in place of a conditional."""

    def __init__(self, law: Any, support: str = "positive") -> None:
        self.law, self.support, self.coupled = law, support, ()

    def __call__(self, value: Array) -> Array:
        return np.asarray(self.law.logpdf(value))


@pytest.mark.parametrize(
    ("law", "support"),
    [
        (stats.gamma(0.3, scale=4.0), "positive"),
        (stats.lognorm(3.0), "positive"),
        (stats.beta(0.5, 2.0), "unit"),
    ],
)
def test_a_law_is_left_invariant(law: Any, support: str) -> None:
    """Draws of the law are draws of it after three moves; other values come to it."""
    shape = (1, 1, 40, 50)
    for start, moves in ((law.rvs(shape, random_state=1), 3), (np.full(shape, 0.5), 60)):
        value = start
        for number in range(moves):
            value = slice_draw(Stream(stream_key(number), shape), value, Known(law, support))
        assert stats.kstest(value.ravel(), law.cdf).pvalue > 1e-4
        assert (value != start).mean() > 0.99


def test_zero_stays() -> None:
    value = np.array([0.0, 1.0]).reshape(1, 1, 1, 2)
    moved = slice_draw(Stream(1, (1, 1, 1, 2)), value, Known(stats.gamma(2.0)))
    assert moved[0, 0, 0, 0] == 0.0
    assert moved[0, 0, 0, 1] != 1.0


def test_gammas_whose_density_is_read_are_drawn_in_double_precision() -> None:
    """Cut off at 1e-38, small gammas drew their shape towards 0, by |z| = 10."""
    net = SLICED["beside_conjugate"]()
    program = pgbn.Chain._replicated(net, sizes_of(net), 2, 0, "blocked", 1)._program
    assert layer_draw(program, net["theta"]) is None


def without_jacobian(stream: Stream, value: Array, log_conditional: Any) -> Array:
    def wrong(value: Array) -> Array:
        return np.asarray(log_conditional(value) - np.log(value))

    wrong.support, wrong.coupled = log_conditional.support, log_conditional.coupled  # type: ignore[attr-defined]
    return slice_draw(stream, value, wrong)  # type: ignore[arg-type]


def without_children(stream: Stream, value: Array, log_conditional: Any) -> Array:
    log_conditional._children = {}
    return slice_draw(stream, value, log_conditional)


@pytest.mark.parametrize("wrong", [without_jacobian, without_children])
def test_what_is_broken_fails(wrong: Callable[..., Array]) -> None:
    net = SLICED["shape_of_gammas"]()
    rule = net.wiring.draws["a"]
    net.wiring.draws["a"] = replace(rule, posterior=wrong)
    assert geweke(net, sizes_of(net), 2000, 4).worst > 4
