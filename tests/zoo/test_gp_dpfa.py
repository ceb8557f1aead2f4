"""Gamma process dynamic Poisson factor analysis, of counts and of binary data."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn import BernoulliPoisson, StaleReadError, zoo
from pgbn.testing import geweke

MILD = (4.0, 4.0)
BINARY = zoo.gp_dpfa(2, 0.5, MILD, MILD, MILD, MILD, link="bernoulli")
SIZES = {"time": 3, "term": 3}


def test_counts_are_those_of_the_gamma_markov_chain() -> None:
    counts = np.random.default_rng(0).poisson(1.0, (5, 4))
    one, other = (
        make(3).chain({"x": counts}, seed=1).sweep(3).values
        for make in (zoo.gp_dpfa, zoo.gamma_markov_chain)
    )
    assert all(np.array_equal(one[name], other[name]) for name in other)
    assert isinstance(BINARY["x"], BernoulliPoisson)


def test_joint_distribution_of_binary_data() -> None:
    result = geweke(BINARY, SIZES, 1500, 8, seed=3)
    assert result.worst < 4, result


def test_theta_before_its_beginning_is_refused() -> None:
    names = [name for name in BINARY.schedule.names if name != "theta"]
    names.insert(names.index("a1"), "theta")
    with pytest.raises(StaleReadError, match="a1 was drawn with theta integrated out"):
        BINARY.with_order(names)
    wrong = geweke(BINARY, SIZES, 6000, 8, seed=1, order=names, unchecked=True)
    assert wrong.worst > 5, wrong


@pytest.mark.long
def test_joint_distribution_at_length() -> None:
    result = geweke(BINARY, SIZES, 30_000, 8, seed=3)
    assert result.worst < 4, result
