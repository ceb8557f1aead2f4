"""Counts of known total: x ~ Mult(N, p)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from pgbn import Constant, Dirichlet, Multinomial, Network, PgbnError, zoo
from pgbn.samplers.random import Stream
from tests.helpers.refusals import Case, check_refused


def multinomial(total: Any) -> Network:
    return Network(Multinomial("x", Dirichlet("p", 1, over="k"), over="k", dims="d", total=total))


REFUSED: dict[str, Case] = {
    "total": (
        lambda: multinomial(2.5),
        PgbnError,
        ["Multinomial('x')", "total", "whole number", "2.5"],
    ),
    "totals": (lambda: multinomial(Constant([1, 1.5], dims="d")), PgbnError, ["total", "got 1.5"]),
    "total, multiplied": (
        lambda: multinomial(Constant(1) * 2.5).generate(sizes={"d": 2, "k": 2}),
        PgbnError,
        ["x: total=", "whole number"],
    ),
    "generate: total": (
        lambda: zoo.lda(2).generate(sizes={"doc": 2, "term": 2}),
        PgbnError,
        ["x", "total="],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    check_refused(*REFUSED[name])


PROBABILITY = np.array([0.2, 0.3, 0.5])


def test_axes() -> None:
    node = Multinomial("x", Dirichlet("p", 1, over="k"), over="k", dims="d", total=5)
    assert (node.axes, node.simplex) == (("d", "k"), "k")
    assert node.slot_axes("total") == ("d",)
    assert node.slot_axes("probability") == ("d", "k")


def test_density() -> None:
    node, value = Multinomial("x", 0.5, over="k"), np.array([2, 0, 5])
    found = node.log_density(value, probability=PROBABILITY, axis=0).sum()
    assert found == pytest.approx(stats.multinomial(7, PROBABILITY).logpmf(value), rel=1e-12)


def test_draws_have_their_total() -> None:
    node, stream = Multinomial("x", 0.5, over="k", total=6), Stream(5, (1, 1, 5000, 3))
    found = node.generate(stream, total=6.0, probability=PROBABILITY.reshape(1, 1, 1, 3))
    assert (found.sum(axis=3) == 6).all()
    np.testing.assert_allclose(found.mean(axis=(0, 1, 2)), 6 * PROBABILITY, atol=0.08)
